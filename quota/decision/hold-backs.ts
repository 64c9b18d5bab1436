import type { EpochMs } from '../../domain/units.js';
import type { PassState } from './pass-state.js';
import type { PoolRules, QuotaMemory } from '../quota-config.js';
import type { Outcome } from './verdict.js';
import { isWaiting, requestsOf } from './waiting.js';
import type { Kind, WaitingRequest } from './waiting.js';

type Clocks = QuotaMemory['heldBack'];
type Clock = Clocks[string];

/**
 * Time that each in-quota request has waited for chips since its turn first came (rule 8). The clock also runs while it waits for
 * something other than a reservation. A clock that ran only while it was held back let reservations start one after the other
 * before one request, each protected (docs/adr/0018, test/quota/scenarios/reservations-in-a-row.test.ts).
 */
export class HoldBacks {
  readonly #clocks: Clocks;
  readonly #rules: PoolRules;
  readonly #now: EpochMs;
  /** Ids of the requests with reservations, oldest first. */
  readonly #by: () => readonly string[];
  /** Requests for which chips were claimed in this pass. */
  readonly #claimants: readonly WaitingRequest[];
  readonly #kinds = new Set<Kind>();

  constructor(clocks: Clocks, { rules, now, claimants }: PassState, by: () => readonly string[]) {
    this.#clocks = clocks;
    this.#rules = rules;
    this.#now = now;
    this.#claimants = claimants;
    this.#by = by;
  }

  /** Time waited until now, in ms. */
  #waitedMs(id: string): number {
    const { ms, since = this.#now } = this.#clocks[id] ?? STOPPED;
    return ms + (this.#now - since);
  }

  /** Ids of requests that reservations may no longer hold back. */
  usedUp(): readonly string[] {
    return Object.keys(this.#clocks).filter((id) => this.#waitedMs(id) >= this.#rules.maxGuaranteeDelayMs);
  }

  /** Latest time until which the request is held back. */
  until(id: string): EpochMs {
    return this.#now + Math.max(0, this.#rules.maxGuaranteeDelayMs - this.#waitedMs(id));
  }

  /** Holds the kind back and keeps its clocks running. */
  holdBack(kind: Kind, tier: number): Outcome {
    this.keepWaiting(kind);
    const first = requestsOf(kind).find(({ served }) => served === undefined);
    return { kind: 'held-back', tier, by: this.#by(), until: this.until(first?.request.id ?? '') };
  }

  /** Runs the clocks of all of the kind's requests that this pass does not serve, whatever keeps the chips from them. */
  keepWaiting(kind: Kind): void {
    this.#kinds.add(kind);
  }

  /** Requests whose clocks run from this pass on. */
  *running(): Iterable<WaitingRequest> {
    yield* this.#claimants.filter(isWaiting);
    for (const kind of this.#kinds) yield* requestsOf(kind).filter(({ served }) => served === undefined);
  }

  /** The clocks after this pass. @param isWaiting whether a request of the memory goes on waiting */
  clocks(isWaiting: (id: string) => boolean): Clocks {
    const clocks = new Map<string, Clock>();
    for (const id of Object.keys(this.#clocks)) if (isWaiting(id)) clocks.set(id, { ms: this.#waitedMs(id) });
    for (const { request } of this.running()) clocks.set(request.id, this.#running(request.id));
    return Object.fromEntries([...clocks.keys()].toSorted().map((id) => [id, clocks.get(id) ?? STOPPED]));
  }

  #running(id: string): Clock {
    const { ms, since = this.#now } = this.#clocks[id] ?? STOPPED;
    return { ms, since };
  }
}

const STOPPED: Clock = { ms: 0 };
