import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { missingKeyOf } from '../cloud/codec/codec-key.js';
import { WorkflowType } from '../contract/workflow-ids.js';
import { JobEncrypted, JobNotFound } from './errors.js';
import type { TemporalCalls } from './temporal-calls.js';

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
  throw new JobNotFound(id, where);
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
