import { cancellationSignal, Context, heartbeat } from '@temporalio/activity';

/**
 * The ends that every long activity of an attempt has in common: it heartbeats, stops what it began when it is over or
 * cancelled, and hands over when its worker shuts down.
 */
export class ActivityEnd {
  readonly #over = new AbortController();
  readonly #beat: NodeJS.Timeout;
  /** Aborted when the activity is cancelled or `finish`ed. */
  readonly signal: AbortSignal = this.#over.signal;
  /** Resolves when this worker shuts down, rejects when the activity is cancelled for another reason. */
  readonly handedOver: Promise<void>;

  constructor() {
    heartbeat();
    this.#beat = setInterval(() => heartbeat(), BEAT_MS);
    const context = Context.current();
    this.handedOver = context.cancelled.catch((error: unknown) => {
      if (context.cancellationDetails?.workerShutdown) return;
      throw error;
    });
    this.handedOver.catch(() => undefined);
    cancellationSignal().addEventListener('abort', () => this.#over.abort(new Error('the activity was cancelled')), {
      once: true,
    });
  }

  finish(): void {
    clearInterval(this.#beat);
    this.#over.abort(new Error('the activity is over'));
  }
}

/** The SDK thins these out to four fifths of the heartbeat timeout: about 1,800 a day reach the server. */
const BEAT_MS = 5_000;
