import type { Laid } from './laying.js';
import type { Limits } from './limits.js';
import { ServiceOrder } from './order-of-service.js';
import type { PassState } from './pass-state.js';
import type { HoldBacks } from './hold-backs.js';
import { isOnNominal } from './waiting.js';
import type { Kind, Waiting } from './waiting.js';

/** What in-quota demand is served with. */
interface Means {
  readonly state: PassState;
  readonly limits: Limits;
  readonly holdBacks: HoldBacks;
}

/**
 * In-quota requests in the order of service (rules 4 to 7). Those that lie on nominal quota no more are left for later.
 * @param areWinners chips drain for them: each waits for those in its own quota, and none borrows a place elsewhere, which may
 *   have been freed for another of them, before all had their turn. Two that took each other's evicted each other for ever
 *   (docs/adr/0018).
 */
export function serveInQuota(waiting: readonly Waiting[], means: Means, areWinners = false): void {
  for (const { kind } of waiting) kind.blocked = undefined;
  const order = new ServiceOrder(waiting, isOut);
  for (let next = order.next(); next !== undefined; next = order.next()) {
    serve(next, means, areWinners);
    if (next.served !== undefined) order.served(next);
  }
}

/** Asked when it is the head of its project, whose nominal quota only its own project's turns change. */
function isOut({ served, kind }: Waiting): boolean {
  if (served !== undefined || kind.blocked !== undefined) return true;
  for (const tier of kind.inQuota) if (isOnNominal(kind, tier)) return false;
  kind.blocked = PASSED_OVER;
  return true;
}

const PASSED_OVER = { kind: 'passed-over' } as const;

function serve(waiting: Waiting, means: Means, areWinners: boolean): void {
  const { state } = means;
  const { kind } = waiting;
  const tiers = tiersOnNominal(kind);
  const free = firstFree(kind, tiers, state);
  if (free !== undefined) return state.grant(waiting, free);
  if (areWinners && claimComing(waiting, tiers, state)) return;
  const elsewhere = freeElsewhere(waiting, tiers, means);
  if (elsewhere !== undefined && !areWinners) return state.grant(waiting, elsewhere);
  if (elsewhere !== undefined) return passOver(kind);
  if (claimComing(waiting, tiers, state) || claimWithVictims(waiting, tiers, state)) return;
  if (isHeldBack(waiting, tiers, means) || waitForProtected(waiting, tiers, state)) return;
  if (tiers.some((tier) => state.room.isBehindReservations(kind.shape, tier))) means.holdBacks.keepWaiting(kind);
  passOver(kind);
}

function passOver(kind: Kind): void {
  kind.blocked = PASSED_OVER;
}

/** Where it is in quota still. One that is served has one at least. */
function tiersOnNominal(kind: Kind): readonly number[] {
  return kind.inQuota.length === 1 ? kind.inQuota : kind.inQuota.filter((tier) => isOnNominal(kind, tier));
}

function firstFree({ shape }: Kind, tiers: readonly number[], { room }: PassState): number | undefined {
  for (const tier of tiers) if (room.isFree(shape, tier)) return tier;
  return undefined;
}

/** A free place in any allowed tier is used before anybody is evicted; there the request is a borrower. */
function freeElsewhere(waiting: Waiting, inQuota: readonly number[], means: Means): number | undefined {
  return waiting.kind.shape.tiers.length === inQuota.length ? undefined : freeOutside(waiting, inQuota, means);
}

function freeOutside({ kind }: Waiting, inQuota: readonly number[], { state, limits }: Means): number | undefined {
  return kind.shape.tiers.find(
    (tier) =>
      !inQuota.includes(tier) &&
      !kind.shape.coolingUntil.has(tier) &&
      state.room.isFree(kind.shape, tier) &&
      limits.allow(kind.project, kind.shape, tier),
  );
}

/** Rule 8: what has collected for reservations would do, alone or with victims; both are left alone (docs/adr/0018). */
function isHeldBack({ kind }: Waiting, tiers: readonly number[], { state, holdBacks }: Means): boolean {
  const tier = tiers.find(
    (each) => state.room.hasReserved(kind.shape, each) && victimsFor(kind, each, state, true) !== undefined,
  );
  if (tier === undefined) return false;
  kind.blocked = holdBacks.holdBack(kind, tier);
  return true;
}

/** Rule 7: chips that come free anyway. */
function claimComing(waiting: Waiting, tiers: readonly number[], state: PassState): boolean {
  const tier = tiers.find((each) => state.room.isComing(waiting.kind.shape, each));
  if (tier === undefined) return false;
  state.claim(waiting, tier, []);
  return true;
}

/** Rules 6 and 7: with those that victims give back. */
function claimWithVictims(waiting: Waiting, tiers: readonly number[], state: PassState): boolean {
  for (const tier of tiers) {
    const victims = victimsFor(waiting.kind, tier, state, false);
    if (victims === undefined) continue;
    state.claim(waiting, tier, victims);
    return true;
  }
  return false;
}

function victimsFor(
  { project, shape, priority }: Waiting['kind'],
  tier: number,
  state: PassState,
  isReservedUsable: boolean,
): readonly Laid[] | undefined {
  const lack = state.room.lack(shape, tier, isReservedUsable);
  if (lack.every((units) => units <= 0)) return [];
  return state.borrowers(tier).victims(shape, priority, project.lot(tier), lack);
}

/** Rule 6: borrowers have its chips, and minimum runtime protects them. What there is, is kept for it meanwhile. */
function waitForProtected(waiting: Waiting, tiers: readonly number[], state: PassState): boolean {
  const { shape, priority, project } = waiting.kind;
  for (const tier of tiers) {
    const [lack, lot, borrowers] = [state.room.lack(shape, tier), project.lot(tier), state.borrowers(tier)];
    if (!borrowers.isEnoughLater(shape, priority, lot, lack)) continue;
    state.claimPart(waiting, tier, () => borrowers.protected(shape, lack));
    return true;
  }
  return false;
}
