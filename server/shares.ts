import { Semaphore } from '../domain/semaphore.js';

interface Share {
  readonly permits: Semaphore;
  /** Number of works that run or wait for their turn. */
  open: number;
  /** Amount used in the window that began at `since`. */
  used: number;
  since: number;
}

export interface ShareLimits {
  /** Works of one subject that may run at the same time. */
  readonly atOnce: number;
  /** Works of one subject that may run or wait. Absent: any number. */
  readonly mostOpen?: number;
  /** Length of the window after which the used amount is counted anew. */
  readonly windowMs: number;
}

/**
 * Each subject's share of a common resource: turns, and an amount within a window of time (docs/adr/0095). Only this replica
 * knows it. A subject without open works is forgotten once its window is over.
 */
export class Shares {
  readonly #limits: ShareLimits;
  readonly #bySubject = new Map<string, Share>();
  #lookedThroughAt = performance.now();

  constructor(limits: ShareLimits) {
    this.#limits = limits;
  }

  /** @param refusal makes the error that is thrown if `mostOpen` works are open already */
  async turn<T>(subject: string, work: () => Promise<T>, refusal: (open: number) => Error): Promise<T> {
    const { open } = this.#of(subject);
    if (open >= (this.#limits.mostOpen ?? Infinity)) throw refusal(open);
    return this.run(subject, work);
  }

  /** Waits for its turn, however many works wait. */
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

  /** Returns the rest, in ms, of the window that `used` began last. */
  left(subject: string): number {
    return this.#limits.windowMs - (performance.now() - this.#of(subject).since);
  }

  /** Counts the amount in the window that `used` began last, however long the work took. */
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
