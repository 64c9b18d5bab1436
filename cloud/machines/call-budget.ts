/** The rate at which the API of one Google project may be called. */
export interface CallRate {
  readonly callsPerSecond: number;
  /** Calls that may be made at once after a pause, at least 1. */
  readonly burst: number;
}

/**
 * A token bucket: every call takes one token and waits until there is one, first come first served. Listings go first: one of
 * them serves all watchers of its zone, and there are few of them however many slices there are.
 */
export class CallBudget {
  readonly #intervalMs: number;
  readonly #burstMs: number;
  /** The time at which the bucket is full again, apart from the tokens taken so far; monotonic milliseconds. */
  #emptyAt = -Infinity;
  readonly #listings: (() => void)[] = [];
  readonly #others: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** @throws RangeError if the rate never lets a call through */
  constructor({ callsPerSecond, burst }: CallRate) {
    if (!(callsPerSecond > 0) || !(burst >= 1)) {
      throw new RangeError(
        `call budget: ${callsPerSecond} calls/s with a burst of ${burst}: wanted more than 0 and 1 or more`,
      );
    }
    this.#intervalMs = 1000 / callsPerSecond;
    this.#burstMs = burst * this.#intervalMs;
  }

  /** @param method such as `ListNodes` or `instances.list` */
  take(method: string): Promise<void> {
    return new Promise((resolve) => {
      (isListing(method) ? this.#listings : this.#others).push(resolve);
      if (this.#timer === undefined) this.#serve();
    });
  }

  /** Takes a token at `now` if there is one. @returns 0 if it was taken, else the time to wait for it in milliseconds */
  takeAt(now: number): number {
    const emptyAt = Math.max(this.#emptyAt, now - this.#burstMs) + this.#intervalMs;
    if (emptyAt > now) return emptyAt - now;
    this.#emptyAt = emptyAt;
    return 0;
  }

  #serve(): void {
    this.#timer = undefined;
    while (this.#listings.length + this.#others.length > 0) {
      const waitMs = this.takeAt(performance.now());
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.#serve(), waitMs);
        return;
      }
      (this.#listings.shift() ?? this.#others.shift())?.();
    }
  }
}

const isListing = (method: string): boolean => /^List|\.list$/.test(method);
