import { missingKeyOf } from '../cloud/codec/codec-key.js';
import { FailureType } from '../domain/failure-types.js';
import { NoWorkerAnswers } from './errors.js';
import { isPolled, type TaskQueuePolls } from './task-queue-polls.js';
import type { TemporalCalls } from './temporal-calls.js';

/** What an update ends with where no worker is there: it may still be done later, so it says that. */
const CALL_TIMEOUT_MS = 30_000;
/** The same where none has asked for tasks lately. One that comes up just now still answers. */
const AWAY_TIMEOUT_MS = 5_000;

/** The errors of an update that mean something to its caller. */
export interface UpdateErrors {
  /** `job train-7f3k`, `pool default`. */
  readonly whom: string;
  /** Of the workers that should answer. */
  readonly polls: () => Promise<TaskQueuePolls>;
  readonly refused: (why: string) => Error;
  readonly notFound: () => Error;
  /** Of a file that is wrong in itself; absent: as `refused`. */
  readonly invalid?: (why: string) => Error;
}

/** The sentence that an update of a job or a pool answers with. The other errors are left as they are. */
export async function updateAnswer(
  calls: TemporalCalls,
  update: () => Promise<{ readonly message: string }>,
  errors: UpdateErrors,
): Promise<string> {
  // Who may not ask for it waits as long as ever.
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
        'is a worker up? (`jobctl dev status`, or start one with `jobctl worker`); repeating is safe',
      );
    }
    throw error;
  }
}

/** An activity's failure stands under one that says only that it failed. */
export const innermost = (error: Error & { readonly type?: unknown }): Error & { readonly type?: unknown } =>
  error.cause instanceof Error ? innermost(error.cause) : error;
