import type { JobClient } from '../../client/job-client.js';
import type { JobRow } from '../../client/job-rows.js';
import type { TaskQueuePolls } from '../../client/temporal-calls.js';
import { noWorkerText } from '../terminal/render/job-phrases.js';

/** The polls of an open job's task queue if no worker polls it. Never rejects: a user who may see jobs may lack the right to ask. */
export function unattended(client: Pick<JobClient, 'unattended'>, row: JobRow): Promise<TaskQueuePolls | undefined> {
  return client.unattended(row).catch(() => undefined);
}

/** Like `unattended`, for many jobs, with one call per task queue. */
export function unattendedOnce(): typeof unattended {
  const known = new Map<string, Promise<TaskQueuePolls | undefined>>();
  return (client, row) => {
    if (row.endedAt !== undefined) return Promise.resolve(undefined);
    const queue = row.taskQueue ?? '';
    const polls = known.get(queue) ?? unattended(client, row);
    known.set(queue, polls);
    return polls;
  };
}

/** Text after the answer to a request that is recorded, and that only a worker can carry out. */
export const recordedText = (polls: TaskQueuePolls): string =>
  `${noWorkerText(polls, Date.now())}: nothing of that happens until one is up`;
