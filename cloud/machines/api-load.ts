import { CloudUnavailable } from './port.js';

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
  /** The bucket fills from empty since this time: it holds one token for each interval since then. Monotonic milliseconds. */
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

/** Milliseconds from the start of a listing to the start of the next. */
export interface ListingPeriods {
  readonly urgentMs: number;
  readonly quietMs: number;
}
export const DEFAULT_LISTING_PERIODS: ListingPeriods = { urgentMs: 2000, quietMs: 10_000 };

interface Waiting {
  readonly isUrgent: boolean;
  readonly signal: AbortSignal;
}

interface Watcher<Options, Listing> {
  readonly options: Options;
  readonly resolve: (listing: Listing) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Lists one place for all watchers of slices in it. A watcher gets the next listing that begins after its call. One listing runs
 * at a time, and none without watchers. A failed listing fails all its watchers. They wait for the next period again, so a broken
 * API is asked no more often than a working one.
 */
export class SharedLister<Options extends Waiting, Listing> {
  readonly #waiting = new Set<Watcher<Options, Listing>>();
  readonly #list: (watchers: readonly Options[]) => Promise<Listing>;
  readonly #periods: ListingPeriods;
  #lastBeganAt = -Infinity;
  #isListing = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(list: (watchers: readonly Options[]) => Promise<Listing>, periods: ListingPeriods) {
    this.#list = list;
    this.#periods = periods;
  }

  next(options: Options): Promise<Listing> {
    const { signal } = options;
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise<Listing>((resolve, reject) => {
      const watcher: Watcher<Options, Listing> = {
        options,
        resolve: (listing) => settle(() => resolve(listing)),
        reject: (reason) => settle(() => reject(reason)),
      };
      const onAbort = (): void => watcher.reject(signal.reason);
      const settle = (tell: () => void): void => {
        signal.removeEventListener('abort', onAbort);
        this.#waiting.delete(watcher);
        tell();
        this.#schedule();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(watcher);
      this.#schedule();
    });
  }

  /** @param what for the message: `the TPU client` */
  close(what: string): void {
    for (const watcher of [...this.#waiting]) watcher.reject(new CloudUnavailable(`${what} was closed`));
  }

  /** Sets the timer to the time of the next listing for the present watchers. Without watchers it sets none. */
  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#isListing || this.#waiting.size === 0) return;
    const isUrgent = [...this.#waiting].some(({ options }) => options.isUrgent);
    const dueAt = this.#lastBeganAt + (isUrgent ? this.#periods.urgentMs : this.#periods.quietMs);
    this.#timer = setTimeout(() => void this.#run(), Math.max(0, dueAt - performance.now()));
  }

  async #run(): Promise<void> {
    const served = [...this.#waiting];
    this.#isListing = true;
    this.#lastBeganAt = performance.now();
    try {
      const listing = await this.#list(served.map(({ options }) => options));
      this.#isListing = false;
      for (const watcher of served) watcher.resolve(listing);
    } catch (error) {
      this.#isListing = false;
      for (const watcher of served) watcher.reject(error);
    }
    this.#schedule();
  }
}
