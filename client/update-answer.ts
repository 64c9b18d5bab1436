import { missingKeyOf } from '../cloud/codec/codec-key.js';
import { FailureType } from '../domain/failure-types.js';
import { IS_A_WORKER_UP, NoWorkerAnswers } from './errors.js';
import { isPolled, type TaskQueuePolls } from './task-queue-polls.js';
import type { TemporalCalls } from './temporal-calls.js';

/** Timeout of an update if no worker answers. The update may still be applied later, and the error says so. */
const CALL_TIMEOUT_MS = 30_000;
/** Timeout if no worker has polled recently. A worker that starts just now still answers. */
const AWAY_TIMEOUT_MS = 5_000;

/** Errors of an update that mean something to its caller. */
export interface UpdateErrors {
  /** The recipient, such as `job train-7f3k` or `pool default`. */
  readonly whom: string;
  /** Polls of the workers that should answer. */
  readonly polls: () => Promise<TaskQueuePolls>;
  readonly refused: (why: string) => Error;
  readonly notFound: () => Error;
  /** Error for a file that is invalid in itself; absent: `refused`. */
  readonly invalid?: (why: string) => Error;
}

/** Returns the sentence with which a job or a pool answers an update. Other errors pass unchanged. */
export async function updateAnswer(
  calls: TemporalCalls,
  update: () => Promise<{ readonly message: string }>,
  errors: UpdateErrors,
): Promise<string> {
  // A caller that may not read the polls gets the long timeout.
  const polls = await errors.polls().catch(() => undefined);
  const away = polls !== undefined && !isPolled(polls, Date.now()) ? polls : undefined;
  const timeoutMs = away === undefined ? CALL_TIMEOUT_MS : AWAY_TIMEOUT_MS;
  const answer = await calls.bounded(() => inOurWords(update, errors, { timeoutMs, away }), timeoutMs);
  const keyId = missingKeyOf(answer);
  return keyId === undefined ? answer.message : `done; the answer is encrypted with key '${keyId}'`;
}

async function inOurWords<T>(
  call: () => Promise<T>,
  { whom, refused, notFound, invalid = refused }: UpdateErrors,
  { timeoutMs, away }: { readonly timeoutMs: number; readonly away: TaskQueuePolls | undefined },
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const [{ WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError }, { WorkflowNotFoundError }] =
      await Promise.all([import('@temporalio/client'), import('@temporalio/common')]);
    if (error instanceof WorkflowUpdateFailedError) {
      const { message, type } = innermost(error.cause ?? error);
      throw type === FailureType.InvalidJob ? invalid(message) : refused(message);
    }
    if (error instanceof WorkflowNotFoundError) throw notFound();
    if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
      const queue = away === undefined ? '' : `, and none polls task queue '${away.taskQueue}'`;
      throw new NoWorkerAnswers(
        `no worker answered for ${whom} within ${timeoutMs / 1000} s${queue}; it may still be done when one is up`,
        `${IS_A_WORKER_UP}; repeating is safe`,
      );
    }
    throw error;
  }
}

/** The failure that matters is the cause of one that only says that the activity failed. */
export const innermost = (error: Error & { readonly type?: unknown }): Error & { readonly type?: unknown } =>
  error.cause instanceof Error ? innermost(error.cause) : error;
