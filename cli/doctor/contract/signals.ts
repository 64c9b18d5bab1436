import type { EventEmitter } from 'node:events';

/** The first signal ends the wait, the second one also ends the deletion. */
export class Signals {
  readonly #wait = new AbortController();
  readonly #second = new AbortController();
  readonly #onSignal: () => void;
  readonly #source: EventEmitter;
  #isFirst = true;
  #timer: NodeJS.Timeout | undefined;

  /** @param source emitter of the signals */
  constructor(tell: (line: string) => void, source: EventEmitter = process) {
    this.#source = source;
    this.#onSignal = () => {
      if (!this.#isFirst) return this.#second.abort();
      this.#isFirst = false;
      tell(
        'deleting the slice, and looking until it is gone; a second signal ends at once, and it may go on to cost money',
      );
      this.#wait.abort();
    };
    for (const name of SIGNALS) source.on(name, this.#onSignal);
  }

  /**
   * Aborts at the first signal, or after `ms`. One controller serves both, because Node 20 forgets an AbortSignal.timeout that
   * only AbortSignal.any holds.
   */
  firstWithin(ms: number): AbortSignal {
    this.#timer = setTimeout(() => this.#wait.abort(), ms);
    return this.#wait.signal;
  }

  get second(): AbortSignal {
    return this.#second.signal;
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const name of SIGNALS) this.#source.off(name, this.#onSignal);
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
