import type { EpochMs } from '../../domain/units.js';

export interface FreedLease {
  readonly key: string;
  readonly at: EpochMs;
  readonly sequences: Readonly<Record<string, number>>;
}

/** Longer than any message of ours is on its way, an activity's retries included. */
const REMEMBER_MS = 10 * 60_000;
/**
 * Most freed leases in a carried book, of 100 bytes each. If one is forgotten too early and a late message asks for it again, it
 * is granted to a closed job, and taken back.
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

  /** Keeps them in the order of their times, so that old ones are found without scanning the others. */
  add(key: string, now: EpochMs, sequences: FreedLease['sequences']): void {
    this.#freed.delete(key);
    this.#freed.set(key, { key, at: now, sequences });
    for (const [old, { at }] of this.#freed) {
      if (now - at <= REMEMBER_MS) break;
      this.#freed.delete(old);
    }
  }

  /** The lease is asked for anew: its senders' sequences go on with its row. */
  take(key: string): FreedLease['sequences'] {
    const sequences = this.sequences(key) ?? {};
    this.#freed.delete(key);
    return sequences;
  }

  carry(): readonly FreedLease[] {
    return [...this.#freed.values()].slice(-MOST_FREED);
  }
}
