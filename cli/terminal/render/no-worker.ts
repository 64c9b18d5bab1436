import type { EpochMs } from '../../../domain/units.js';
import type { TaskQueuePolls } from '../../../client/temporal-calls.js';
import { asTyped } from '../typed-command.js';
import { formatDuration } from './quantities.js';

/** `no worker polls task queue 'jobctl' of namespace 'default'; it was polled last 4m ago`. */
export function noWorkerText({ taskQueue, namespace, lastAt }: TaskQueuePolls, now: EpochMs): string {
  const last = lastAt === undefined ? '' : `; it was polled last ${formatDuration(now - lastAt)} ago`;
  return `no worker polls task queue '${taskQueue}' of namespace '${namespace}'${last}`;
}

export const noWorkerRemedy = (then: 'starts' | 'goes on' = 'goes on'): string =>
  asTyped(
    `the job is kept and ${then} when a worker comes up: \`jobctl worker\` (docs/worker.md), or \`jobctl dev up\` for a local stack`,
  );
