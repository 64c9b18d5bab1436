/** How often the API of one Google project may be called. */
export interface CallRate {
  readonly callsPerSecond: number;
  /** Calls that may be made at once after a rest. 1 or more. */
  readonly burst: number;
}

/** A token bucket: every call takes one token and waits, first come first served, until there is one. */
export class CallBudget {
  readonly #intervalMs: number;
  readonly #burstMs: number;
  /** When the bucket will be full but for the tokens taken so far; monotonic milliseconds. */
  #emptyAt = -Infinity;

  /** @throws RangeError for a rate that never lets a call through. */
  constructor({ callsPerSecond, burst }: CallRate) {
    if (!(callsPerSecond > 0) || !(burst >= 1)) {
      throw new RangeError(
        `call budget: ${callsPerSecond} calls/s with a burst of ${burst}: wanted more than 0 and 1 or more`,
      );
    }
    this.#intervalMs = 1000 / callsPerSecond;
    this.#burstMs = burst * this.#intervalMs;
  }

  async take(): Promise<void> {
    const waitMs = this.takeAt(performance.now());
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  }

  /** Takes a token at `now`. @returns how long its owner has to wait for it, in milliseconds; 0 = not at all. */
  takeAt(now: number): number {
    this.#emptyAt = Math.max(this.#emptyAt, now - this.#burstMs) + this.#intervalMs;
    return Math.max(0, this.#emptyAt - now);
  }
}
