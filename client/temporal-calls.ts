import { setTimeout as pause } from 'node:timers/promises';
import type { Client, Connection } from '@temporalio/client';
import { explainGaps, searchAttributeGaps, serverTooOld } from '../domain/temporal-server.js';
import { IS_A_WORKER_UP, NoWorkerAnswers, TemporalRefused, TemporalUnreachable, WaitInterrupted } from './errors.js';
import { missingKeyOf } from '../cloud/codec/codec-key.js';
import { FailureType } from '../domain/errors.js';
import { inItsTurn } from '../contract/early-query.js';
import { ownerOfQueue } from '../cloud/temporal/queue-claim.js';
import type { EpochMs } from '../domain/units.js';
import { toldOnce, toldWait, type Waiter } from './wait-notes.js';
import { largest } from '../domain/extremes.js';

const DEADLINE_MS = 10_000;
/** Time for a server to show that it is there. */
const ALIVE_MS = 2_000;

/** Calls to one Temporal server. Every call has a deadline, and each failure says what to do. */
export class TemporalCalls {
  readonly #temporal: Client;
  readonly #server: string;
  readonly #waiter: Waiter;
  #isNewEnough = false;

  /** @param server `Temporal at A`, for messages @param waiter learns of waits for workers */
  constructor(temporal: Client, server: string, waiter: Waiter = {}) {
    this.#temporal = temporal;
    this.#server = server;
    this.#waiter = toldOnce(waiter);
  }

  /**
   * Makes a call that only a worker can answer. The person who waits is told at once if no worker polls, otherwise after seconds:
   * up to 70 s after its last poll a worker may still be there.
   * @param moreMs time beyond `mostMs` in which the server itself reports the timeout
   */
  ofWorker<T>(call: () => Promise<T>, { whom, mostMs, away, interrupted }: WorkerWait, moreMs = 0): Promise<T> {
    const known = away && `no worker polls ${queueText(away)}`;
    return toldWait(this.#waiter, () => this.bounded(call, mostMs + moreMs), {
      ...{ whom: `of a worker for ${whom}`, mostMs, known, interrupted },
    });
  }

  /** Makes a call with a deadline, so that an unreachable server does not block the caller. */
  async bounded<T>(call: () => Promise<T>, deadlineMs = DEADLINE_MS): Promise<T> {
    try {
      return await this.#temporal.connection.withDeadline(Date.now() + deadlineMs, call);
    } catch (error) {
      throw (await this.#refusalOf(error)) ?? error;
    }
  }

  /**
   * Makes a call that reads, and that the server answers by asking a worker of its own, as it does for a schedule. It loses
   * such a question now and then for seconds (two of 600 here, 2026-11-30, server 1.31). A server that answers another call is
   * asked again.
   */
  async askedAgain<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await this.bounded(call);
    } catch (error) {
      if (!(error instanceof TemporalUnreachable)) throw error;
      const isThere = await this.bounded(() => this.#temporal.workflowService.getSystemInfo({}), ALIVE_MS).then(
        () => true,
        () => false,
      );
      if (!isThere) throw error;
      return this.bounded(call);
    }
  }

  /**
   * Makes a query, which only a worker can answer. If no worker is there, the server says so or lets the deadline pass. After a
   * deadline, a server that answers another call is up, so the worker is missing.
   * @param whom such as `job train-7f3k`
   * @param polls of the workers that should answer
   */
  async query<T>(call: () => Promise<T>, { whom, polls }: Pick<UpdateErrors, 'whom' | 'polls'>): Promise<T> {
    const asked = (): Promise<T> => this.bounded(() => inItsTurn(call, pause));
    try {
      return await asked();
    } catch (error) {
      if (!(error instanceof TemporalUnreachable)) throw error;
      const known = await polls().catch(() => undefined);
      if (known === undefined) throw error;
      const noAnswer = (why: string): Error =>
        new NoWorkerAnswers(`no worker answered for ${whom}${why}`, IS_A_WORKER_UP);
      if (!isPolled(known, Date.now())) throw noAnswer(`: no worker polls ${queueText(known)}`);
      // A worker that has just come may have dropped it.
      return asked().catch((again: unknown) => {
        throw again instanceof TemporalUnreachable ? noAnswer('') : again;
      });
    }
  }

  async #refusalOf(error: unknown): Promise<Error | undefined> {
    if (isWithoutCodec(error)) {
      const what = `what ${this.#server} keeps of the job is encrypted, and the Client that was given has no codec`;
      return new TemporalRefused(what, "make the Client with jobctl's jobDataConverter (docs/encryption.md)");
    }
    if (isWithoutPoller(error))
      return new NoWorkerAnswers(`${this.#server} answers, and no worker does`, IS_A_WORKER_UP);
    const { explainRefusal } = await import('../cloud/temporal/explain-refusal.js');
    const { namespace } = this.#temporal.options;
    const refusal = explainRefusal(error, namespace);
    switch (refusal?.kind) {
      case undefined:
        return undefined;
      case 'unreachable':
        return new TemporalUnreachable(`${this.#server} does not answer: ${refusal.why}`, refusal.remedy);
      case 'refused':
        return new TemporalRefused(`${this.#server}: ${refusal.why}`, refusal.remedy);
      case 'search-attributes':
        return new TemporalRefused((await this.#attributeGaps()) ?? `${this.#server}: ${refusal.why}`);
    }
  }

  /** The attributes that the server does not accept; undefined if the server does not say. */
  async #attributeGaps(): Promise<string | undefined> {
    const { operatorService } = this.#temporal.connection as Partial<Connection>;
    const { namespace } = this.#temporal.options;
    const known = await operatorService?.listSearchAttributes({ namespace }).catch(() => undefined);
    return known && explainGaps(searchAttributeGaps(known.customAttributes ?? {}), namespace);
  }

  /** Call it before a client's first job: a server without features that the job needs would fail it later, less clearly. */
  async refuseOldServer(): Promise<void> {
    if (this.#isNewEnough) return;
    const { serverVersion } = await this.bounded(() => this.#temporal.workflowService.getSystemInfo({}));
    const tooOld = serverTooOld(serverVersion ?? '');
    if (tooOld !== undefined) throw new TemporalRefused(`${this.#server}: ${tooOld}`);
    this.#isNewEnough = true;
  }
}

/** Whether the error is the server's answer to a query whose task queue no worker has polled lately. The SDK wraps it. */
function isWithoutPoller(error: unknown): boolean {
  const { details = '' } = (error as { readonly cause?: { readonly details?: string } } | undefined)?.cause ?? {};
  return details.startsWith('no poller seen for task queue');
}

/** Whether the error is that of Temporal's own converter for an encrypted payload. */
function isWithoutCodec(error: unknown): boolean {
  return error instanceof Error && error.message === 'Unknown encoding: binary/encrypted';
}

const queueText = ({ taskQueue, namespace }: TaskQueuePolls): string =>
  `task queue '${taskQueue}' of namespace '${namespace}'`;

interface WorkerWait {
  /** Object of the call, such as `job train-7f3k` or `pool default`. */
  readonly whom: string;
  readonly mostMs: number;
  /** The polls, if no worker polls. */
  readonly away?: TaskQueuePolls | undefined;
  /** See `ToldWait`. */
  readonly interrupted: () => Promise<Error>;
}

/** Timeout of an update if no worker answers. The update may still be applied later, and the error says so. */
const CALL_TIMEOUT_MS = 30_000;
/** Timeout if no worker has polled recently. A worker that starts just now still answers. */
export const AWAY_TIMEOUT_MS = 5_000;

/** Errors of an update that mean something to its caller. */
export interface UpdateErrors {
  /** The recipient, such as `job train-7f3k` or `pool default`. */
  readonly whom: string;
  /** The command line that shows whether the update was applied. */
  readonly seenBy: string;
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
  const away = await unpolled(errors.polls);
  const timeoutMs = away === undefined ? CALL_TIMEOUT_MS : AWAY_TIMEOUT_MS;
  const answer = await calls.ofWorker(() => inOurWords(update, errors, { timeoutMs, away }), {
    ...{ whom: errors.whom, mostMs: timeoutMs, away },
    interrupted: async () =>
      new WaitInterrupted(
        `interrupted before a worker answered for ${errors.whom}; ${MAY_BE_DONE}`,
        `\`${errors.seenBy}\` shows whether it was; repeating is safe`,
      ),
  });
  const keyId = missingKeyOf(answer);
  return keyId === undefined ? answer.message : `done; the answer is encrypted with key '${keyId}'`;
}

const MAY_BE_DONE = 'it may still be done when one is up';

/** The polls, if they are known and no worker polls. */
export async function unpolled(read: () => Promise<TaskQueuePolls>): Promise<TaskQueuePolls | undefined> {
  const polls = await read().catch(() => undefined);
  return polls !== undefined && !isPolled(polls, Date.now()) ? polls : undefined;
}

async function inOurWords<T>(
  call: () => Promise<T>,
  { whom, seenBy, refused, notFound, invalid = refused }: UpdateErrors,
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
        `no worker answered for ${whom} within ${timeoutMs / 1000} s${queue}; ${MAY_BE_DONE}`,
        `${IS_A_WORKER_UP}; \`${seenBy}\` shows whether it was done; repeating is safe`,
      );
    }
    throw error;
  }
}

/** The innermost cause. The outer errors only say that the activity failed. */
export const innermost = (error: Error & { readonly type?: unknown }): Error & { readonly type?: unknown } =>
  error.cause instanceof Error ? innermost(error.cause) : error;

/** Temporal's knowledge of the workers of one task queue. */
export interface TaskQueuePolls {
  readonly taskQueue: string;
  readonly namespace: string;
  /** Time of the last poll for workflow tasks. Absent: no poll within five minutes, as far back as Temporal remembers. */
  readonly lastAt?: EpochMs;
  /** The installation that has claimed the queue (docs/adr/0103). Absent: the queue is not claimed, or this client cannot ask. */
  readonly owner?: string;
  /** Identities of other installations' workers that polled the queue recently. Absent: no such workers. */
  readonly strangers?: readonly string[];
}

/** Looks up the polls with two calls, which wake no worker. A worker that waits for tasks polls anew every minute. */
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

/** Age of the last poll from which a worker no longer polls. A poll lasts a minute, and the next one follows at once. */
const POLL_IS_OLD_MS = 70_000;

export const isPolled = ({ lastAt = 0 }: TaskQueuePolls, now: EpochMs): boolean => now - lastAt <= POLL_IS_OLD_MS;

/** `TaskQueueType` of Temporal's API; its enum would load all of its messages. */
const WORKFLOW_TASKS = 1;
