import type { EpochMs } from '../../domain/units.js';
import type { Reservation, PoolRules, QuotaMemory } from '../quota-config.js';
import type { Limits } from './limits.js';
import type { PassState } from './pass-state.js';
import type { Shape } from './shapes.js';
import { compareIds } from './time-order.js';
import { type Kind, type WaitingRequest, isWaiting, requestsOf } from './waiting.js';
import type { Outcome } from './verdict.js';

/** A reservation with the request that it is for. */
interface Reserved {
  readonly reservation: Reservation;
  readonly waiting: WaitingRequest;
}

/**
 * Rule 8: a request that waited its aging time gets a reservation, one per type and tier at a time; chips that come free
 * collect for it. One that is not filled in time is dissolved, and its request's aging starts anew.
 */
export class Reservations {
  readonly #state: PassState;
  readonly #limits: Limits;
  readonly #dissolved: Map<string, EpochMs>;
  #kept: Reserved[];

  /**
   * Keeps reservations that stand, dissolves those that are over, and makes those that are due.
   * @param waitingOf finds a waiting request by id
   */
  constructor(state: PassState, waitingOf: (id: string) => WaitingRequest | undefined) {
    this.#state = state;
    this.#limits = state.limits;
    this.#dissolved = new Map(
      Object.entries(state.memory.dissolved)
        .filter(([id]) => waitingOf(id) !== undefined)
        .toSorted(([a], [b]) => compareIds(a, b)),
    );
    const standing = state.memory.reservations.flatMap((reservation) => {
      const waiting = waitingOf(reservation.id);
      return waiting !== undefined && this.#mayKeep(waiting, reservation) ? [{ reservation, waiting }] : [];
    });
    this.#kept = standing.filter((each) => !this.#isOver(each));
    for (const { reservation } of standing.filter((each) => this.#isOver(each))) {
      this.#dissolved.set(reservation.id, state.now);
    }
    this.#make();
  }

  /** Requests with a reservation, oldest first. */
  ids(): readonly string[] {
    return this.#inOrder().map(({ waiting }) => waiting.request.id);
  }

  of(id: string): Reservation | undefined {
    return this.#kept.find(({ reservation }) => reservation.id === id)?.reservation;
  }

  endOf({ madeAt }: Reservation): EpochMs {
    return madeAt + this.#state.rules.maxGuaranteeDelayMs;
  }

  /** Collects free chips. A request with all of its chips starts, if borrowing and lending limits allow it. */
  collect(): void {
    for (const { reservation, waiting } of this.#inOrder()) {
      const { tier } = reservation;
      const { kind } = waiting;
      const { shape } = kind;
      const isFull = this.#state.room.reserve(shape, tier);
      if (isFull && this.#limits.allow(kind, tier, true)) this.#state.grant(waiting, tier, true);
    }
  }

  /** Reservations for the next pass, without requests that were served. */
  memory(): { readonly reservations: readonly Reservation[]; readonly dissolved: Readonly<Record<string, EpochMs>> } {
    const open = this.#inOrder().filter(({ waiting }) => waiting.served === undefined);
    return { reservations: open.map(({ reservation }) => reservation), dissolved: Object.fromEntries(this.#dissolved) };
  }

  /** Time at which the request has waited its aging time. */
  agedAt({ request }: WaitingRequest): EpochMs {
    const since = request.waitingSince ?? request.submittedAt;
    const dissolvedAt = this.#dissolved.size === 0 ? undefined : this.#dissolved.get(request.id);
    return Math.max(since, dissolvedAt ?? since) + this.#state.rules.agingMs;
  }

  /** Whether a request of this kind would get a reservation if it had waited long enough. */
  hasPlaceFor(kind: Kind): boolean {
    return this.#placeFor(kind) !== undefined;
  }

  #inOrder(): readonly Reserved[] {
    return this.#kept.toSorted(
      ({ reservation: a }, { reservation: b }) => a.madeAt - b.madeAt || a.tier - b.tier || compareIds(a.id, b.id),
    );
  }

  /** Whether a request may keep its reservation: an in-quota request needs none, and one on cool-down may not have one. */
  #mayKeep({ kind }: WaitingRequest, { tier }: Reservation): boolean {
    return kind.inQuota.length === 0 && kind.shape.tiers.includes(tier) && !kind.shape.coolingUntil.has(tier);
  }

  /** Returns whether the reservation's time is up. If all of its chips are free, it stays, unless a limit forbids the start. */
  #isOver({ reservation, waiting: { kind } }: Reserved): boolean {
    if (this.endOf(reservation) > this.#state.now) return false;
    const isFull = this.#state.room.isFree(kind.shape, reservation.tier);
    return !isFull || !this.#limits.allow(kind, reservation.tier);
  }

  /** Makes reservations, for the longest waiting request first. A type has at most one in each tier, so there are few. */
  #make(): void {
    let kinds = this.#state.kinds.filter((kind) => this.hasPlaceFor(kind));
    for (;;) {
      const waiting = this.#longestWaiting(kinds);
      const tier = waiting === undefined ? undefined : this.#placeFor(waiting.kind);
      if (waiting === undefined || tier === undefined) return;
      this.#kept.push({ reservation: { id: waiting.request.id, tier, madeAt: this.#state.now }, waiting });
      kinds = kinds.filter((kind) => this.hasPlaceFor(kind));
    }
  }

  /** The longest waiting request whose aging time is over and that has no reservation. */
  #longestWaiting(kinds: readonly Kind[]): WaitingRequest | undefined {
    let first: WaitingRequest | undefined;
    let firstAt = this.#state.now;
    for (const { last } of kinds) {
      for (let each = last; each !== undefined; each = each.before) {
        const at = this.agedAt(each);
        const isFirst = at < firstAt || (at === firstAt && (first === undefined || each.request.id < first.request.id));
        if (!isFirst || this.of(each.request.id) !== undefined) continue;
        first = each;
        firstAt = at;
      }
    }
    return first;
  }

  /** The first allowed tier that could ever hold the request within limits. Undefined if one of its types is reserved there. */
  #placeFor(kind: Kind): number | undefined {
    const { shape, inQuota } = kind;
    if (inQuota.length > 0 || shape.types.length === 0) return undefined;
    for (const tier of shape.tiers) {
      if (shape.coolingUntil.has(tier) || !this.#limits.potentiallyAllow(kind, tier)) continue;
      return this.#isTaken(shape, tier) ? undefined : tier;
    }
    return undefined;
  }

  #isTaken({ types }: Shape, tier: number): boolean {
    for (const { reservation, waiting } of this.#kept) {
      if (reservation.tier !== tier) continue;
      for (const type of waiting.kind.shape.types) if (types.includes(type)) return true;
    }
    return false;
  }
}

type Clocks = QuotaMemory['heldBack'];
type Clock = Clocks[string];

/**
 * Time that each in-quota request has waited for chips since its turn first came (rule 8). The clock also runs while the request
 * waits for something other than a reservation. Otherwise one protected reservation after the other could start before it
 * (docs/adr/0018, test/quota/scenarios/reservations-in-a-row.test.ts).
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
