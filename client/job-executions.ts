import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { missingKeyOf } from '../cloud/codec/codec-key.js';
import { groupWorkflowId, WorkflowType } from '../contract/workflow-ids.js';
import { JobEncrypted, JobNotFound } from './errors.js';
import type { TemporalCalls } from './temporal-calls.js';
import type { temporal } from '@temporalio/proto';
import type { EpochMs } from '../domain/units.js';

/** Connection to Temporal that every call of a job uses. */
export interface TemporalAccess {
  readonly temporal: Client;
  readonly calls: TemporalCalls;
  /** `in namespace N of Temporal at A`, for messages. */
  readonly where: string;
}

/** Temporal's description of a job, strongly consistent; needs no worker. @throws JobNotFound, also if the workflow is no job */
export async function describeJob(
  { temporal, calls, where }: TemporalAccess,
  id: string,
): Promise<WorkflowExecutionDescription> {
  const { WorkflowNotFoundError } = await import('@temporalio/common');
  try {
    const execution = await calls.bounded(() => temporal.workflow.getHandle(id).describe());
    if (execution.type === WorkflowType.Job) return execution;
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
  throw new JobNotFound(id, where, await isGroup({ temporal, calls }, id));
}

/** Whether a group has this id, open or ended. */
export async function isGroup(
  { temporal, calls }: Pick<TemporalAccess, 'temporal' | 'calls'>,
  id: string,
): Promise<boolean> {
  const { WorkflowNotFoundError } = await import('@temporalio/common');
  try {
    await calls.bounded(() => temporal.workflow.getHandle(groupWorkflowId(id)).describe());
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** Whether a job has this id, open or ended. */
export async function isJob(access: TemporalAccess, id: string): Promise<boolean> {
  try {
    await describeJob(access, id);
    return true;
  } catch (error) {
    if (error instanceof JobNotFound) return false;
    throw error;
  }
}

/** Returns whether a worker runs an activity of this type. A dead worker's activity counts until its heartbeat timeout. */
export function isAttended({ raw }: WorkflowExecutionDescription, type: string): boolean {
  return (raw.pendingActivities ?? []).some(
    ({ activityType, state }) => activityType?.name === type && state === ACTIVITY_STARTED,
  );
}

/** `PendingActivityState` of Temporal's API; its enum would load all of its messages. */
const ACTIVITY_STARTED = 2;

/** Returns a decoded value of a job. @throws JobEncrypted if it stands for a payload that could not be decrypted */
export function readable<T>(id: string, value: T): T {
  const keyId = missingKeyOf(value);
  if (keyId !== undefined) throw new JobEncrypted(id, keyId);
  return value;
}

/** A workflow task that has failed and is being retried. The workflow makes no progress until it succeeds. */
export interface FailingTask {
  /** The attempt that runs now or next, from 2 on. Temporal waits longer before each, up to minutes. */
  readonly attempt: number;
  /** The time when the first attempt was due. */
  readonly since?: EpochMs;
  /** The error of the first failed attempt, the only one that Temporal records. Absent if Temporal does not keep it. */
  readonly error?: string;
}

/** The job's failing workflow task, or undefined. Costs one call if a task fails, otherwise none. */
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

/**
 * Number of events, from the end of the history, among which the failed attempt is sought. Only signals that arrived since come
 * after it.
 */
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

/** The message of a failure, decrypted if the installation encrypts payloads. */
async function messageOf(
  client: Client,
  { failure }: temporal.api.history.v1.IWorkflowTaskFailedEventAttributes,
): Promise<string | undefined> {
  const { decodeOptionalFailureToOptionalError } =
    await import('@temporalio/common/lib/internal-non-workflow/index.js');
  const error = await decodeOptionalFailureToOptionalError(client.options.loadedDataConverter, failure);
  return error?.message || undefined;
}
