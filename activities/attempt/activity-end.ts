import { cancellationSignal, Context, heartbeat, log } from '@temporalio/activity';
import type { SignalDefinition } from '@temporalio/common';
import { messageOf } from '../../domain/errors.js';
import type { AttemptInput } from '../../contract/job-activities.js';

/**
 * The shared end of every long activity of an attempt: it heartbeats, stops what it began when it is over or
 * cancelled, and hands over when its worker shuts down.
 */
export class ActivityEnd {
  readonly #over = new AbortController();
  readonly #beat: NodeJS.Timeout;
  /** Aborted when the activity is cancelled or `finish`ed. */
  readonly signal: AbortSignal = this.#over.signal;
  /** Resolves when this worker shuts down or the end was asked for, rejects when the activity is cancelled for another reason. */
  readonly handedOver: Promise<void>;

  /** @param asked aborted when the activity must end early, which needs no heartbeat */
  constructor(asked?: AbortSignal) {
    this.#beat = beating();
    const context = Context.current();
    const shutDown = context.cancelled.catch((error: unknown) => {
      if (context.cancellationDetails?.workerShutdown) return;
      throw error;
    });
    this.handedOver = asked === undefined ? shutDown : Promise.race([shutDown, whenAborted(asked)]);
    this.handedOver.catch(() => undefined);
    cancellationSignal().addEventListener('abort', () => this.#over.abort(new Error('the activity was cancelled')), {
      once: true,
    });
  }

  /** Ends what the activity began. It heartbeats until `finish`: hosts may take seconds to end a step. */
  windDown(): void {
    this.#over.abort(new Error('the activity is over'));
  }

  finish(): void {
    clearInterval(this.#beat);
    this.#over.abort(new Error('the activity is over'));
  }
}

function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/**
 * Heartbeats until it is cleared, ten times in the activity's timeout, so that one late beat is not the last. The SDK thins them
 * out to four fifths of the timeout: with 90 s, 1,200 a day reach the server.
 */
export function beating(): NodeJS.Timeout {
  heartbeat();
  return setInterval(() => heartbeat(), (Context.current().info.heartbeatTimeoutMs ?? USUAL_TIMEOUT_MS) / 10);
}

const USUAL_TIMEOUT_MS = 60_000;

/** Waits; rejects with the signal's reason as soon as it is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const end = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', end);
      resolve();
    }, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}

/**
 * Signals the job of this activity. Best effort: the news is only for people who look.
 * @param ofWhat for the log if it fails: "the job was not told .."
 */
export function jobTeller<News>(
  { job }: Pick<AttemptInput, 'job'>,
  signal: SignalDefinition<[News]>,
  ofWhat: string,
): (news: News) => void {
  // This activity's context: the caller may be a connection that another activity opened.
  const context = Context.current();
  return (news) => {
    const handle = context.client.workflow.getHandle(job.id, undefined, { firstExecutionRunId: job.run });
    handle.signal(signal, news).catch((error: unknown) => {
      log.warn(`the job was not told ${ofWhat}: ${messageOf(error)}`);
    });
  };
}
