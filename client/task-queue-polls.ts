import type { Client } from '@temporalio/client';
import { ownerOfQueue } from '../cloud/temporal/queue-claim.js';
import type { EpochMs } from '../domain/units.js';
import type { TemporalCalls } from './temporal-calls.js';
import { largest } from '../domain/extremes.js';

/** Temporal's knowledge of the workers of one task queue. */
export interface TaskQueuePolls {
  readonly taskQueue: string;
  readonly namespace: string;
  /** Time of the last poll for workflow tasks. Absent: no poll in the last five minutes; Temporal remembers no longer. */
  readonly lastAt?: EpochMs;
  /** The installation that has claimed the queue (docs/adr/0103). Absent: the queue is not claimed, or this client cannot ask. */
  readonly owner?: string;
  /** Identities of other installations' workers that polled the queue recently. Absent: no such workers. */
  readonly strangers?: readonly string[];
}

/** Makes two calls, which wake no worker. A worker that waits for tasks polls anew every minute. */
export async function taskQueuePolls(
  { temporal, calls }: { readonly temporal: Client; readonly calls: TemporalCalls },
  taskQueue: string,
): Promise<TaskQueuePolls> {
  const { namespace } = temporal.options;
  const request = { namespace, taskQueue: { name: taskQueue }, taskQueueType: WORKFLOW_TASKS };
  const { pollers } = await calls.bounded(() => temporal.workflowService.describeTaskQueue(request));
  const connection = { workflowService: temporal.workflowService };
  const owner = await calls.bounded(() => ownerOfQueue({ connection, namespace, taskQueue })).catch(() => undefined);
  const times = pollers.map(({ lastAccessTime: at }) => Number(at?.seconds ?? 0) * 1_000);
  const identities = pollers.flatMap(({ identity }) => identity ?? []);
  const strangers = identities.filter((identity) => owner !== undefined && (ownerIn(identity) ?? owner) !== owner);
  return {
    ...{ taskQueue, namespace },
    ...(times.length === 0 ? {} : { lastAt: largest(times) }),
    ...(owner === undefined ? {} : { owner }),
    ...(strangers.length === 0 ? {} : { strangers }),
  };
}

/** The owner id at the end of a worker's identity; undefined if the worker's version does not add it. */
const ownerIn = (identity: string): string | undefined => /\/([0-9a-f]{12})$/.exec(identity)?.[1];

/** A poll lasts a minute: a worker whose last poll is older than this no longer polls. */
const POLL_IS_OLD_MS = 90_000;

export const isPolled = ({ lastAt = 0 }: TaskQueuePolls, now: EpochMs): boolean => now - lastAt <= POLL_IS_OLD_MS;

/** `TaskQueueType` of Temporal's API; its enum would load all of its messages. */
const WORKFLOW_TASKS = 1;
