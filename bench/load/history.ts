import type { Client } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import type { temporal } from '@temporalio/proto';

export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

export async function historyOf(client: Client, workflowId: string, runId?: string): Promise<readonly HistoryEvent[]> {
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  return events ?? [];
}

/** Time of an event, epoch ms. */
export const eventTime = ({ eventTime: time }: HistoryEvent): number => tsToMs(time);
