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
  /** Resolves when this worker shuts down or somebody asked for the end, rejects when the activity is cancelled for another reason. */
  readonly handedOver: Promise<void>;

  /** @param asked aborted when the activity is to end before its time, which no heartbeat has to bring */
  constructor(asked?: AbortSignal) {
    heartbeat();
    this.#beat = setInterval(() => heartbeat(), BEAT_MS);
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

/** The SDK thins these out to four fifths of the heartbeat timeout: about 1,800 a day reach the server. */
const BEAT_MS = 5_000;
