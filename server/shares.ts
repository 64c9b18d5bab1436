import { Semaphore } from '../domain/semaphore.js';

interface Share {
  readonly permits: Semaphore;
  /** Works that run or wait for their turn. */
  open: number;
  /** In the window that began at `since`. */
  used: number;
  since: number;
}

export interface ShareLimits {
  /** Works of one subject that run at a time. */
  readonly atOnce: number;
  /** Those that run or wait. Absent: any number. */
  readonly mostOpen?: number;
  /** What is used is counted anew after so long. */
  readonly windowMs: number;
}

/**
 * What each subject has of something that all share: turns, and an amount within a window of time (docs/adr/0095). Kept by this
 * replica alone. A subject that has nothing open is forgotten once its window is over.
 */
export class Shares {
  readonly #limits: ShareLimits;
  readonly #bySubject = new Map<string, Share>();
  #lookedThroughAt = performance.now();

  constructor(limits: ShareLimits) {
    this.#limits = limits;
  }

  /** @param refusal makes what is thrown if `mostOpen` are open already */
  async turn<T>(subject: string, work: () => Promise<T>, refusal: (open: number) => Error): Promise<T> {
    const { open } = this.#of(subject);
    if (open >= (this.#limits.mostOpen ?? Infinity)) throw refusal(open);
    return this.run(subject, work);
  }

  /** Waits for its turn, however many do. */
  async run<T>(subject: string, work: () => Promise<T>): Promise<T> {
    const share = this.#of(subject);
    share.open += 1;
    try {
      return await share.permits.run(work);
    } finally {
      share.open -= 1;
    }
  }

  /** In the present window. */
  used(subject: string): number {
    return this.#of(subject).used;
  }

  /** In ms, of the window that `used` has begun last. */
  left(subject: string): number {
    return this.#limits.windowMs - (performance.now() - this.#of(subject).since);
  }

  /** The amount counts in the window that `used` has begun last, however long it took. */
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
