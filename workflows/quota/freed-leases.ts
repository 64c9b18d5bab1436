import type { EpochMs } from '../../domain/units.js';

export interface FreedLease {
  readonly key: string;
  readonly at: EpochMs;
  readonly sequences: Readonly<Record<string, number>>;
}

/** Longer than any message of ours stays on its way: an activity's retries included. */
const REMEMBER_MS = 10 * 60_000;
/**
 * In a carried book, of 100 bytes each. One that is forgotten too early and asked for again by a late message is granted to
 * a job that is closed, and taken back.
 */
export const MOST_FREED = 5_000;

/** Freed leases with their highest sequences: a late or doubled message must not bring one back. */
export class FreedLeases {
  readonly #freed: Map<string, FreedLease>;

  constructor(carry: readonly FreedLease[]) {
    this.#freed = new Map(carry.map((freed) => [freed.key, freed]));
  }

  sequences(key: string): FreedLease['sequences'] | undefined {
    return this.#freed.get(key)?.sequences;
  }

  /** Whether a lease of the job was freed lately. */
  hasOf(job: string): boolean {
    return [...this.#freed.keys()].some((key) => key.startsWith(`${job}/`));
  }

  /** Keeps them in the order of their times, so that the old ones are found without a look at the others. */
  add(key: string, now: EpochMs, sequences: FreedLease['sequences']): void {
    this.#freed.delete(key);
    this.#freed.set(key, { key, at: now, sequences });
    for (const [old, { at }] of this.#freed) {
      if (now - at <= REMEMBER_MS) break;
      this.#freed.delete(old);
    }
  }

  /** It is asked for anew: what is known of its senders goes on with its row. */
  take(key: string): FreedLease['sequences'] {
    const sequences = this.sequences(key) ?? {};
    this.#freed.delete(key);
    return sequences;
  }

  carry(): readonly FreedLease[] {
    return [...this.#freed.values()].slice(-MOST_FREED);
  }
}
