import type { Client } from '@temporalio/client';
import { quotaStateQuery } from '../../contract/quota.js';
import { quotaWorkflowId } from '../../contract/workflow-ids.js';
import { FULL_POOL } from './full-pool.js';

export type QueryAnswer =
  | { readonly kind: 'answered'; readonly bytes: number }
  | { readonly kind: 'refused'; readonly message: string };

/** Queries a full pool for its state. The answer is one payload, whose size Temporal limits. */
export async function stateQuery(temporal: Client): Promise<QueryAnswer> {
  try {
    const state = await temporal.workflow.getHandle(quotaWorkflowId(FULL_POOL)).query(quotaStateQuery);
    return { kind: 'answered', bytes: Buffer.byteLength(JSON.stringify(state)) };
  } catch (error) {
    return { kind: 'refused', message: (error as Error).message };
  }
}
