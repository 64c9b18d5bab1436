import type { Client } from '@temporalio/client';
import { quotaStateQuery } from '../../contract/quota.js';
import { quotaWorkflowId } from '../../contract/workflow-ids.js';
import type { PoolState } from '../../contract/quota.js';

/** What a pool's quota workflow says it has leased; undefined while no quota workflow of it answers. */
export async function poolState(client: Client, pool: string): Promise<PoolState | undefined> {
  try {
    return await client.workflow.getHandle(quotaWorkflowId(pool)).query(quotaStateQuery);
  } catch {
    return undefined;
  }
}

export const leasedUnits = (state: PoolState): number =>
  state.leases.reduce((sum, { demand }) => sum + Object.values(demand.units).reduce((a, b) => a + b, 0), 0);
