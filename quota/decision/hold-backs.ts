import type { EpochMs } from '../../domain/units.js';
import type { PoolRules, QuotaMemory } from '../quota-config.js';
import type { Outcome } from './verdict.js';
import { requestsOf } from './waiting.js';
import type { Kind, Waiting } from './waiting.js';

type Clocks = QuotaMemory['heldBack'];

/** For how long reservations held each in-quota request back (rule 8): a clock that runs only while they do. */
export class HoldBacks {
  readonly #clocks: Clocks;
  readonly #rules: PoolRules;
  readonly #now: EpochMs;
  /** Ids of the requests with reservations, oldest first. */
  readonly #by: () => readonly string[];
  readonly #kinds = new Set<Kind>();

  constructor(clocks: Clocks, rules: PoolRules, now: EpochMs, by: () => readonly string[]) {
    this.#clocks = clocks;
    this.#rules = rules;
    this.#now = now;
    this.#by = by;
  }

  /** In ms, until now. */
  heldBackMs(id: string): number {
    const clock = this.#clocks[id];
    return clock === undefined ? 0 : clock.ms + (clock.since === undefined ? 0 : this.#now - clock.since);
  }

  /** Ids of those whom reservations may not hold back any more. */
  usedUp(): readonly string[] {
    return Object.keys(this.#clocks).filter((id) => this.heldBackMs(id) >= this.#rules.maxGuaranteeDelayMs);
  }

  /** Latest end of its being held back. */
  until(id: string): EpochMs {
    return this.#now + Math.max(0, this.#rules.maxGuaranteeDelayMs - this.heldBackMs(id));
  }

  /** All of the kind's requests that go on waiting are held back from now on. */
  holdBack(kind: Kind, tier: number): Outcome {
    this.#kinds.add(kind);
    const first = requestsOf(kind).find(({ served }) => served === undefined);
    return { kind: 'held-back', tier, by: this.#by(), until: this.until(first?.request.id ?? '') };
  }

  /** Those that this pass held back. */
  *heldBack(): Iterable<Waiting> {
    for (const kind of this.#kinds) {
      if (kind.blocked?.kind === 'held-back') yield* requestsOf(kind).filter(({ served }) => served === undefined);
    }
  }

  /** The clocks after this pass. @param isWaiting whether a request of the memory goes on waiting */
  clocks(isWaiting: (id: string) => boolean): Clocks {
    const running = new Set([...this.heldBack()].map(({ request }) => request.id));
    const ids = [...new Set([...Object.keys(this.#clocks).filter(isWaiting), ...running])].toSorted();
    return Object.fromEntries(
      ids.map((id) => {
        const clock = this.#clocks[id];
        if (!running.has(id)) return [id, { ms: this.heldBackMs(id) }];
        return [id, { ms: clock?.ms ?? 0, since: clock?.since ?? this.#now }];
      }),
    );
  }
}
