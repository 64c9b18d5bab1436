import type { Client } from '@temporalio/client';
import type { EpochMs } from '../domain/units.js';
import type { TemporalCalls } from './temporal-calls.js';

/** What Temporal knows of the workers of one task queue. */
export interface TaskQueuePolls {
  readonly taskQueue: string;
  readonly namespace: string;
  /** When a worker asked for workflow tasks last. Absent: none did in the last five minutes, as long as Temporal remembers. */
  readonly lastAt?: EpochMs;
}

/** One call; it wakes no worker. A worker that waits for tasks asks anew every minute. */
export async function taskQueuePolls(
  { temporal, calls }: { readonly temporal: Client; readonly calls: TemporalCalls },
  taskQueue: string,
): Promise<TaskQueuePolls> {
  const { namespace } = temporal.options;
  const request = { namespace, taskQueue: { name: taskQueue }, taskQueueType: WORKFLOW_TASKS };
  const { pollers } = await calls.bounded(() => temporal.workflowService.describeTaskQueue(request));
  const times = pollers.map(({ lastAccessTime: at }) => Number(at?.seconds ?? 0) * 1_000);
  return { taskQueue, namespace, ...(times.length === 0 ? {} : { lastAt: Math.max(...times) }) };
}

/** A poll lasts a minute: a worker that asked longer ago than this asks no more. */
const POLL_IS_OLD_MS = 90_000;

export const isPolled = ({ lastAt = 0 }: TaskQueuePolls, now: EpochMs): boolean => now - lastAt <= POLL_IS_OLD_MS;

/** `TaskQueueType` of Temporal's API; its enum would load all of its messages. */
const WORKFLOW_TASKS = 1;
