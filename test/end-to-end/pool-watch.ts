import type { Client } from '@temporalio/client';
import { quotaStateQuery, quotaWorkflowId } from '../../workflows/messages.js';
import type { PoolState } from '../../workflows/quota/pool-state.js';

/** What a pool's quota workflow says it has leased; undefined while no quota workflow of it answers. */
export async function poolState(client: Client, pool: string): Promise<PoolState | undefined> {
  try {
    return (await client.workflow.getHandle(quotaWorkflowId(pool)).query(quotaStateQuery)) as PoolState;
  } catch {
    return undefined;
  }
}

export const leasedUnits = (state: PoolState): number =>
  state.leases.reduce((sum, { demand }) => sum + Object.values(demand.units).reduce((a, b) => a + b, 0), 0);
