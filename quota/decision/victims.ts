import type { Laid, Lot } from './laying.js';
import type { EpochMs } from '../../domain/units.js';
import type { PoolRules, QuotaLease } from '../quota-config.js';
import { add } from './room.js';
import type { Shape } from './shapes.js';

/**
 * Until when a borrowed lease may not be preempted (rule 6), undefined if it may. Asking and parked leases have no minimum
 * runtime; one that started from a reservation has its first asking timeout.
 */
export function protectedUntil(lease: QuotaLease, rules: PoolRules, now: EpochMs): EpochMs | undefined {
  const until = protectionEnd(lease, rules, now);
  return until > now ? until : undefined;
}

function protectionEnd(lease: QuotaLease, rules: PoolRules, now: EpochMs): EpochMs {
  switch (lease.state ?? 'held') {
    case 'asking':
      return lease.isFromReservation === true ? lease.startedAt + rules.askingTimeoutMs : now;
    case 'held':
      return now + rules.minRuntimeMs - (lease.heldMs ?? now - lease.startedAt);
    default:
      return now;
  }
}

/** Asking ones first, then parked ones, then held ones; of those the lowest priority, the latest start, the id (rule 6). */
function inVictimOrder(a: Laid, b: Laid): number {
  return (
    rank(a) - rank(b) ||
    b.priority - a.priority ||
    b.startedAt - a.startedAt ||
    (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
  );
}

const rank = ({ lease }: Laid): number => (lease?.state === 'asking' ? 0 : lease?.state === 'parked' ? 1 : 2);

/** Borrowed leases of one tier while a pass is made: those that may go now, and those that may not yet. */
export class Borrowers {
  readonly #rules: PoolRules;
  readonly #now: EpochMs;
  /** Of each lot that was looked at: the leases that are borrowed. */
  readonly #ofLot = new Map<Lot, readonly Laid[]>();
  /** Those of all lots that may go, in the order of victims; undefined: to be put in order. */
  #inOrder: Laid[] | undefined;
  readonly #lotOf = new Map<Laid, Lot>();
  readonly #taken = new Set<Laid>();
  /** Places in `#inOrder` by number of the type: before it, all that hold the type are taken. */
  #from: number[] = [];

  constructor(lots: Iterable<Lot>, rules: PoolRules, now: EpochMs) {
    this.#rules = rules;
    this.#now = now;
    for (const lot of lots) if (lot.hasLeases) this.#read(lot);
  }

  /** The lot changed: something was laid on it, or removed. */
  changed(lot: Lot): void {
    const before = this.#ofLot.get(lot) ?? [];
    const after = this.#read(lot);
    if (this.#inOrder === undefined) return;
    const [had, has] = [new Set(before), new Set(after)];
    const more = after.filter((laid) => !had.has(laid) && this.#mayGo(laid));
    const isFewer = before.some((laid) => !has.has(laid));
    if (isFewer) this.#inOrder = this.#inOrder.filter((laid) => !had.has(laid) || has.has(laid));
    if (more.length > 0) this.#inOrder = [...this.#inOrder, ...more].sort(inVictimOrder);
    if (isFewer || more.length > 0) this.#from = [];
  }

  /** It was told to go. */
  take(victim: Laid): void {
    this.#taken.add(victim);
    this.#lotOf.get(victim)?.drop(victim);
  }

  /**
   * The leases that have to go for a request, minimal by inclusion; undefined where those that may go are not enough.
   * @param lack by type of `shape`; 0 or less: nothing lacks
   * @param own the request's lot: its borrowed leases are those beside it
   */
  victims(shape: Shape, priority: number, own: Lot, lack: readonly number[]): readonly Laid[] | undefined {
    const left = lackByType(shape, lack);
    const taken: Laid[] = [];
    const ownOnes = this.#ownThatMayGo(shape, priority, own);
    const others = this.#ordered();
    let [at, ownAt] = [this.#firstOf(others, left), 0];
    while (at < others.length || ownAt < ownOnes.length) {
      const [other, mine] = [others[at], ownOnes[ownAt]];
      const isMine = other === undefined || (mine !== undefined && inVictimOrder(mine, other) < 0);
      const laid = isMine ? mine : other;
      if (isMine) ownAt += 1;
      else at += 1;
      if (laid === undefined || !hasAny(laid.shape, left)) continue;
      if (!isMine && (this.#taken.has(laid) || this.#lotOf.get(laid) === own)) continue;
      taken.push(laid);
      subtract(left, laid.shape, 1);
      if (isEnough(left)) return withoutSpare(taken, left);
    }
    return undefined;
  }

  /** Whether those that may go, and those that are protected for now, would be enough together. */
  isEnoughLater(shape: Shape, priority: number, own: Lot, lack: readonly number[]): boolean {
    const left = lackByType(shape, lack);
    const isEnoughWith = (borrowed: readonly Laid[]): boolean =>
      borrowed.some((laid) => {
        if (!this.#taken.has(laid)) subtract(left, laid.shape, 1);
        return isEnough(left);
      });
    if (isEnoughWith(existing(own.borrowedBeside(shape, priority)))) return true;
    for (const [lot, borrowed] of this.#ofLot) if (lot !== own && isEnoughWith(borrowed)) return true;
    return false;
  }

  /** Those that may not go yet, of one of the types that lack, once the request is laid. */
  protected(shape: Shape, lack: readonly number[]): readonly Laid[] {
    const left = lackByType(shape, lack);
    return [...this.#ofLot.values()]
      .flat()
      .filter((laid) => !this.#mayGo(laid) && !this.#taken.has(laid) && hasAny(laid.shape, left));
  }

  until(laid: Laid): EpochMs | undefined {
    return laid.lease === undefined ? undefined : protectedUntil(laid.lease, this.#rules, this.#now);
  }

  #ownThatMayGo(shape: Shape, priority: number, own: Lot): readonly Laid[] {
    if (!own.hasLeases) return [];
    return existing(own.borrowedBeside(shape, priority))
      .filter((laid) => this.#mayGo(laid))
      .sort(inVictimOrder);
  }

  #ordered(): readonly Laid[] {
    return (this.#inOrder ??= [...this.#ofLot.values()]
      .flat()
      .filter((laid) => this.#mayGo(laid) && !this.#taken.has(laid))
      .sort(inVictimOrder));
  }

  /** Place of the first that holds a type that lacks and is not taken. */
  #firstOf(inOrder: readonly Laid[], left: readonly number[]): number {
    let first = inOrder.length;
    for (let type = 0; type < left.length; type += 1) {
      if ((left[type] ?? 0) > 0) first = Math.min(first, this.#firstOfType(inOrder, type));
    }
    return first;
  }

  #firstOfType(inOrder: readonly Laid[], type: number): number {
    let at = this.#from[type] ?? 0;
    for (let laid = inOrder[at]; laid !== undefined; laid = inOrder[at]) {
      if (laid.shape.types.includes(type) && !this.#taken.has(laid)) break;
      at += 1;
    }
    this.#from[type] = at;
    return at;
  }

  #mayGo(laid: Laid): boolean {
    return this.until(laid) === undefined;
  }

  #read(lot: Lot): readonly Laid[] {
    const borrowed = existing(lot.laying().borrowed);
    this.#ofLot.set(lot, borrowed);
    for (const laid of borrowed) this.#lotOf.set(laid, lot);
    return borrowed;
  }
}

/** Without what this pass granted or claims. */
const existing = (borrowed: readonly Laid[]): Laid[] => borrowed.filter(({ lease }) => lease !== undefined);

/** From the last taken to the first: whoever is not needed stays. `left` is 0 or less in every type. */
function withoutSpare(taken: readonly Laid[], left: number[]): readonly Laid[] {
  return taken
    .toReversed()
    .filter((laid) => {
      subtract(left, laid.shape, -1);
      if (isEnough(left)) return false;
      subtract(left, laid.shape, 1);
      return true;
    })
    .toReversed();
}

/** By number of the type. What does not lack is 0 and only gets less, so that it never counts. */
function lackByType({ types }: Shape, lack: readonly number[]): number[] {
  const left: number[] = [];
  for (const [index, type] of types.entries()) {
    while (left.length <= type) left.push(0);
    left[type] = Math.max(0, lack[index] ?? 0);
  }
  return left;
}

function hasAny({ types }: Shape, left: readonly number[]): boolean {
  for (const type of types) if ((left[type] ?? 0) > 0) return true;
  return false;
}

function isEnough(left: readonly number[]): boolean {
  for (const units of left) if (units > 0) return false;
  return true;
}

function subtract(left: number[], { types, amounts }: Shape, sign: 1 | -1): void {
  for (let index = 0; index < types.length; index += 1) {
    const type = types[index] ?? 0;
    if (type < left.length) add(left, type, -sign * (amounts[index] ?? 0));
  }
}
