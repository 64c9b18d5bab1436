import { condition, getExternalWorkflowHandle } from '@temporalio/workflow';
import type { NotifyTarget } from '../../domain/job-spec.js';
import type { JobNotice } from '../messages.js';

/** A server that does not say whether the signal was taken must not keep a job open that has ended. */
const NOTIFY_TIMEOUT = '60s';

/**
 * Tells these workflows how the job ended, each by one signal, and says in one line each what became of it. Never throws. Call
 * it in a nonCancellable scope: the server keeps the signal with the job's history, so no crash repeats or loses it.
 */
export async function tellOfEnd(targets: readonly NotifyTarget[], notice: JobNotice): Promise<readonly string[]> {
  if (targets.length === 0) return [];
  const became: (string | undefined)[] = targets.map(() => undefined);
  targets.forEach(({ workflow: { id, signal } }, index) => {
    getExternalWorkflowHandle(id)
      .signal(signal, notice)
      .then(
        () => (became[index] = 'told'),
        (error: unknown) => (became[index] = `could not be told: ${messageOf(error)}`),
      );
  });
  // No cancel of the signals instead: one that was handed to the server cannot be taken back, and is waited for.
  await condition(() => became.every((end) => end !== undefined), NOTIFY_TIMEOUT);
  return targets.map(({ workflow: { id, signal } }, index) => {
    const end = became[index] ?? `not known to be told: the server did not answer within ${NOTIFY_TIMEOUT}`;
    return `notify: workflow ${id} (signal ${signal}) ${end}`;
  });
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
