import type { Workload } from './tier-quota.js';
import type { Limits } from './limits.js';
import { ServiceOrder } from './order-of-service.js';
import type { PassState } from './pass-state.js';
import type { HoldBacks } from './hold-backs.js';
import { isWithinNominal } from './waiting.js';
import type { Kind, WaitingRequest } from './waiting.js';

/** The parts of a pass that serve in-quota demand. */
interface PassParts {
  readonly state: PassState;
  readonly limits: Limits;
  readonly holdBacks: HoldBacks;
}

/**
 * Serves in-quota requests in the order of service (rules 4 to 7). A request that no longer is within nominal quota is left
 * to later steps.
 * @param areWinners chips drain for these requests. Each waits for the chips of its own quota. None borrows a free place
 *   elsewhere before all had their turn, since it may have been freed for another one of them. Two requests that took each
 *   other's chips preempted each other for ever (docs/adr/0018).
 */
export function serveInQuota(waiting: readonly WaitingRequest[], parts: PassParts, areWinners = false): void {
  serveInOrder(waiting, (next) => serve(next, parts, areWinners));
}

/**
 * Serves requests that came within nominal quota during the pass, in free places of that quota alone. Whom they may evict is for the
 * next pass, in which they are in quota from its beginning.
 */
export function serveFree(waiting: readonly WaitingRequest[], state: PassState): void {
  serveInOrder(waiting, (next) => {
    const free = firstFree(next.kind, tiersOnNominal(next.kind), state);
    if (free === undefined) passOver(next.kind);
    else state.grant(next, free);
  });
}

function serveInOrder(waiting: readonly WaitingRequest[], serveOne: (next: WaitingRequest) => void): void {
  for (const { kind } of waiting) kind.blocked = undefined;
  const order = new ServiceOrder(waiting, isOut);
  for (let next = order.next(); next !== undefined; next = order.next()) {
    serveOne(next);
    if (next.served !== undefined) order.served(next);
  }
}

/** Called for the head of a project. Only that project's own turns change its nominal quota. */
function isOut({ served, kind }: WaitingRequest): boolean {
  if (served !== undefined || kind.blocked !== undefined) return true;
  for (const tier of kind.inQuota) if (isWithinNominal(kind, tier)) return false;
  kind.blocked = PASSED_OVER;
  return true;
}

const PASSED_OVER = { kind: 'passed-over' } as const;

function serve(waiting: WaitingRequest, parts: PassParts, areWinners: boolean): void {
  const { state } = parts;
  const { kind } = waiting;
  const tiers = tiersOnNominal(kind);
  const free = firstFree(kind, tiers, state);
  if (free !== undefined) return state.grant(waiting, free);
  if (areWinners && claimComing(waiting, tiers, state)) return;
  const elsewhere = freeElsewhere(waiting, tiers, parts);
  if (elsewhere !== undefined && !areWinners) return state.grant(waiting, elsewhere);
  if (elsewhere !== undefined) return passOver(kind);
  if (claimComing(waiting, tiers, state) || claimWithTargets(waiting, tiers, state)) return;
  if (isHeldBack(waiting, tiers, parts) || waitForProtected(waiting, tiers, state)) return;
  if (tiers.some((tier) => state.room.isBehindReservations(kind.shape, tier))) parts.holdBacks.keepWaiting(kind);
  passOver(kind);
}

function passOver(kind: Kind): void {
  kind.blocked = PASSED_OVER;
}

/** Tiers in which it is still within nominal quota. A request that is served has at least one. */
function tiersOnNominal(kind: Kind): readonly number[] {
  return kind.inQuota.length === 1 ? kind.inQuota : kind.inQuota.filter((tier) => isWithinNominal(kind, tier));
}

function firstFree({ shape }: Kind, tiers: readonly number[], { room }: PassState): number | undefined {
  for (const tier of tiers) if (room.isFree(shape, tier)) return tier;
  return undefined;
}

/** A free place in any allowed tier is used before a lease is preempted. There the request borrows. */
function freeElsewhere(waiting: WaitingRequest, inQuota: readonly number[], parts: PassParts): number | undefined {
  return waiting.kind.shape.tiers.length === inQuota.length ? undefined : freeOutside(waiting, inQuota, parts);
}

function freeOutside(
  { kind }: WaitingRequest,
  inQuota: readonly number[],
  { state, limits }: PassParts,
): number | undefined {
  return kind.shape.tiers.find(
    (tier) =>
      !inQuota.includes(tier) &&
      !kind.shape.coolingUntil.has(tier) &&
      state.room.isFree(kind.shape, tier) &&
      limits.allow(kind.project, kind.shape, tier),
  );
}

/** Rule 8: what reservations collected would be enough, alone or with targets. Neither is touched (docs/adr/0018). */
function isHeldBack({ kind }: WaitingRequest, tiers: readonly number[], { state, holdBacks }: PassParts): boolean {
  const tier = tiers.find(
    (each) => state.room.hasReserved(kind.shape, each) && targetsFor(kind, each, state, true) !== undefined,
  );
  if (tier === undefined) return false;
  kind.blocked = holdBacks.holdBack(kind, tier);
  return true;
}

/** Rule 7: claims chips that come free anyway. */
function claimComing(waiting: WaitingRequest, tiers: readonly number[], state: PassState): boolean {
  const tier = tiers.find((each) => state.room.isComing(waiting.kind.shape, each));
  if (tier === undefined) return false;
  state.claim(waiting, tier, []);
  return true;
}

/** Rules 6 and 7: claims chips that come free, with those of targets. */
function claimWithTargets(waiting: WaitingRequest, tiers: readonly number[], state: PassState): boolean {
  for (const tier of tiers) {
    const targets = targetsFor(waiting.kind, tier, state, false);
    if (targets === undefined) continue;
    state.claim(waiting, tier, targets);
    return true;
  }
  return false;
}

function targetsFor(
  { project, shape, priority }: WaitingRequest['kind'],
  tier: number,
  state: PassState,
  isReservedUsable: boolean,
): readonly Workload[] | undefined {
  const shortage = state.room.shortage(shape, tier, isReservedUsable);
  if (shortage.every((units) => units <= 0)) return [];
  return state.candidates(tier).targets(shape, priority, project.quota(tier), shortage);
}

/** Rule 6: borrowing leases hold its chips and are protected. Free and coming chips are kept for it meanwhile. */
function waitForProtected(waiting: WaitingRequest, tiers: readonly number[], state: PassState): boolean {
  const { shape, priority, project } = waiting.kind;
  for (const tier of tiers) {
    const [shortage, quota, candidates] = [
      state.room.shortage(shape, tier),
      project.quota(tier),
      state.candidates(tier),
    ];
    if (!candidates.isEnoughLater(shape, priority, quota, shortage)) continue;
    state.claimPart(waiting, tier, () => candidates.protected(shape, shortage));
    return true;
  }
  return false;
}
