import { Semaphore } from '../domain/semaphore.js';
import type { Readable } from 'node:stream';
import { ApiError, TooManyRequests } from './problem.js';

interface Share {
  readonly permits: Semaphore;
  /** Number of calls that run or wait for their turn. */
  open: number;
  /** Amount used in the window that began at `since`. */
  used: number;
  since: number;
}

interface ShareLimits {
  /** Calls of one subject that may run at the same time. */
  readonly atOnce: number;
  /** Calls of one subject that may run or wait. Absent: any number. */
  readonly mostOpen?: number;
  /** Length of the window after which the used amount is counted anew. */
  readonly windowMs: number;
}

/**
 * Each subject's share of a common resource: turns, and an amount within a window of time (docs/adr/0095). Replicas do not share
 * the counts. A subject without open calls is forgotten once its window is over.
 */
export class Shares {
  readonly #limits: ShareLimits;
  readonly #bySubject = new Map<string, Share>();
  #lookedThroughAt = performance.now();

  constructor(limits: ShareLimits) {
    this.#limits = limits;
  }

  /** Runs `work` in its turn. @param refusal makes the error that is thrown if `mostOpen` calls are open already */
  async turn<T>(subject: string, work: () => Promise<T>, refusal: (open: number) => Error): Promise<T> {
    const { open } = this.#of(subject);
    if (open >= (this.#limits.mostOpen ?? Infinity)) throw refusal(open);
    return this.run(subject, work);
  }

  /** Runs `work` in its turn, however many calls wait. */
  async run<T>(subject: string, work: () => Promise<T>): Promise<T> {
    const share = this.#of(subject);
    share.open += 1;
    try {
      return await share.permits.run(work);
    } finally {
      share.open -= 1;
    }
  }

  /** Returns the amount used in the present window. */
  used(subject: string): number {
    return this.#of(subject).used;
  }

  /** Returns the rest, in ms, of the present window. */
  left(subject: string): number {
    return this.#limits.windowMs - (performance.now() - this.#of(subject).since);
  }

  /** Adds to the amount in the subject's window. It begins no new window, however long the work took. */
  use(subject: string, amount: number): void {
    const share = this.#bySubject.get(subject) ?? this.#of(subject);
    share.used += amount;
  }

  #of(subject: string): Share {
    const now = performance.now();
    const { atOnce, windowMs } = this.#limits;
    if (now - this.#lookedThroughAt > windowMs) this.#forget(now);
    const share = this.#bySubject.get(subject) ?? { permits: new Semaphore(atOnce), open: 0, used: 0, since: now };
    if (now - share.since > windowMs) Object.assign(share, { used: 0, since: now });
    this.#bySubject.set(subject, share);
    return share;
  }

  #forget(now: number): void {
    this.#lookedThroughAt = now;
    for (const [subject, { open, since }] of this.#bySubject)
      if (open === 0 && now - since > this.#limits.windowMs) this.#bySubject.delete(subject);
  }
}

/** Uploads through the server at the same time, of one subject and of all. Each holds two pieces of 8 MiB in memory. */
const AT_ONCE = 2;
const ALL_AT_ONCE = 8;
/** Uploads of one subject that may run or wait: a client sends a few files at a time, and its connections stay open meanwhile. */
const MOST_WAITING = 16;
const DAY_MS = 86_400_000;
/** Looks of one subject into the store, at the same time and per minute. Each may include making the address for the file. */
const LOOKS_AT_ONCE = 16;
const LOOKS_PER_MINUTE = 4_000;
const MINUTE_MS = 60_000;

/** Each subject's share of a replica's memory, connections and store (docs/adr/0095). */
export class UploadShares {
  readonly #all = new Semaphore(ALL_AT_ONCE);
  readonly #shares = new Shares({ atOnce: AT_ONCE, mostOpen: MOST_WAITING, windowMs: DAY_MS });
  readonly #looks = new Shares({ atOnce: LOOKS_AT_ONCE, windowMs: MINUTE_MS });
  readonly #bytesPerDay: number;

  constructor(bytesPerDay: number) {
    this.#bytesPerDay = bytesPerDay;
  }

  /** Runs at most `LOOKS_AT_ONCE` of a subject's looks at a time, over all of its calls. @throws ApiError `too-many-requests` */
  look<T>(subject: string, works: readonly (() => Promise<T>)[]): Promise<T[]> {
    const looked = this.#looks.used(subject);
    if (looked + works.length > LOOKS_PER_MINUTE)
      throw new TooManyRequests(
        `${subject} has asked for ${looked} files within a minute, and ${LOOKS_PER_MINUTE} are the most`,
        'pack small files into one archive',
        this.#looks.left(subject),
      );
    this.#looks.use(subject, works.length);
    return Promise.all(works.map((work) => this.#looks.run(subject, work)));
  }

  /** Charges the bytes before they are sent, whatever happens to the upload. @throws ApiError `too-many-requests` */
  charge(subject: string, bytes: number): void {
    const brought = this.#shares.used(subject);
    if (brought + bytes > this.#bytesPerDay)
      throw new TooManyRequests(
        `${subject} has brought ${brought} bytes within a day, and ${this.#bytesPerDay} are the most`,
        'bring large data to the hosts by the bucket (gcsfuse); an operator raises limits.uploadBytesPerDay',
        this.#shares.left(subject),
      );
    this.#shares.use(subject, bytes);
  }

  /** Runs an upload in its turn. @throws ApiError `too-many-requests` */
  turn<T>(subject: string, work: () => Promise<T>): Promise<T> {
    return this.#shares.turn(
      subject,
      () => this.#all.run(work),
      (open) => new TooManyRequests(`${subject} sends ${open} files already`, 'wait for one of them'),
    );
  }
}

/** Lowest rate of a sender: a slower one would hold a place that others wait for. */
const LEAST_RATE = { bytes: 64 * 1024, everyMs: 1_000, graceMs: 30_000 };

/**
 * Yields the pieces of a body. Only the time spent waiting for the sender counts, not the store's.
 * @throws ApiError `invalid` if the sender is slower than `rate` after the grace period; then the body is destroyed
 */
export async function* paced(body: Readable, rate = LEAST_RATE): AsyncGenerator<Buffer> {
  let [bytes, waitedMs] = [0, 0];
  const pieces = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const tooSlow = new ApiError(
    'invalid',
    `the file comes at less than ${rate.bytes} bytes in ${rate.everyMs} ms`,
    'send it from a faster place',
  );
  for (;;) {
    const asked = performance.now();
    const allowedMs = rate.graceMs + (bytes / rate.bytes) * rate.everyMs - waitedMs;
    const late = setTimeout(() => body.destroy(tooSlow), Math.max(0, allowedMs));
    const next = await pieces.next().finally(() => clearTimeout(late));
    if (next.done === true) return;
    waitedMs += performance.now() - asked;
    bytes += next.value.length;
    yield next.value;
  }
}
