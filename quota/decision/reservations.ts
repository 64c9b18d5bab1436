import type { EpochMs } from '../../domain/units.js';
import type { Limits } from './limits.js';
import type { PassState } from './pass-state.js';
import type { Reservation } from '../quota-config.js';
import type { Shape } from './shapes.js';
import { compareIds } from './time-order.js';
import type { Kind, WaitingRequest } from './waiting.js';

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

  /** Time at which a request will have waited its aging time. */
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

  /** An in-quota request needs no reservation, and one that cools down has none. */
  #mayKeep({ kind }: WaitingRequest, { tier }: Reservation): boolean {
    return kind.inQuota.length === 0 && kind.shape.tiers.includes(tier) && !kind.shape.coolingUntil.has(tier);
  }

  /** Returns whether its time is up. It is not over while its chips are all free. */
  #isOver({ reservation, waiting: { kind } }: Reserved): boolean {
    if (this.endOf(reservation) > this.#state.now) return false;
    const isFull = this.#state.room.isFree(kind.shape, reservation.tier);
    return !isFull || !this.#limits.allow(kind, reservation.tier);
  }

  /** Makes reservations, for the longest waiting request first. Each takes the place of its types, so there are few. */
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

  /** The first allowed tier that could ever hold it within limits. Undefined if one of its types is reserved there. */
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
