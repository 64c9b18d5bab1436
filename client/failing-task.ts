import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import type { EpochMs } from '../domain/units.js';
import type { TemporalAccess } from './job-executions.js';

/** The workflow task of an open workflow that has failed and is tried again: until it succeeds the workflow stands still. */
export interface FailingTask {
  /** That is tried now or next, from 2 on. Temporal waits longer before each, minutes in the end. */
  readonly attempt: number;
  /** Since when the first attempt was due. */
  readonly since?: EpochMs;
  /** Of its first failed attempt: Temporal records no other. Absent where it keeps none. */
  readonly error?: string;
}

/** No further call for a workflow whose task does not fail, one for others. */
export async function failingTaskOf(
  { temporal: client, calls }: Pick<TemporalAccess, 'temporal' | 'calls'>,
  { raw, status, workflowId, runId }: WorkflowExecutionDescription,
): Promise<FailingTask | undefined> {
  const { attempt = 1, originalScheduledTime: at } = raw.pendingWorkflowTask ?? {};
  if (status.name !== 'RUNNING' || !attempt || attempt < 2) return undefined;
  const error = await calls.bounded(() => lastFailure(client, workflowId, runId));
  const since = at?.seconds === undefined || at.seconds === null ? undefined : Number(at.seconds) * 1_000;
  return {
    attempt: Number(attempt),
    ...(since === undefined ? {} : { since }),
    ...(error === undefined ? {} : { error }),
  };
}

/** The failed attempt is the last of few events: signals that came since stand behind it. */
const EVENTS_LOOKED_AT = 50;

async function lastFailure(client: Client, workflowId: string, runId: string): Promise<string | undefined> {
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: EVENTS_LOOKED_AT,
  });
  for (const {
    workflowTaskFailedEventAttributes: failed,
    workflowTaskTimedOutEventAttributes: late,
  } of history?.events ?? []) {
    if (failed) return messageOf(client, failed);
    if (late) return 'no worker finished it in time';
  }
  return undefined;
}

/** Where payloads are encrypted, so is the message. */
async function messageOf(
  client: Client,
  { failure }: temporal.api.history.v1.IWorkflowTaskFailedEventAttributes,
): Promise<string | undefined> {
  const { decodeOptionalFailureToOptionalError } =
    await import('@temporalio/common/lib/internal-non-workflow/index.js');
  const error = await decodeOptionalFailureToOptionalError(client.options.loadedDataConverter, failure);
  return error?.message || undefined;
}
