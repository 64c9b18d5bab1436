import type { Workload } from './project-quota.js';
import { ServiceOrder } from './order-of-service.js';
import type { PassState } from './pass-state.js';
import type { HoldBacks } from './reservations.js';
import { isInQuota, type Kind, type WaitingRequest, isAnyWaiting } from './waiting.js';

/** The parts of a pass that serve in-quota demand. */
interface PassParts {
  readonly state: PassState;
  readonly holdBacks: HoldBacks;
}

/**
 * Serves in-quota requests in the order of service (rules 4 to 7). A request that is no longer within nominal quota is left
 * to later steps.
 */
export function serveInQuota(waiting: readonly WaitingRequest[], parts: PassParts): void {
  serveInOrder(waiting, (next) => serve(next, parts, false));
}

/**
 * Serves requests for which leases drain. Each first tries the tiers of which its project has nominal quota left. Free places of
 * other tiers are given only after all had their turn, since such a place may have been freed for another of these requests
 * (docs/adr/0018).
 */
export function serveWinners(waiting: readonly WaitingRequest[], parts: PassParts): void {
  serveInOrder(waiting, (next) => serve(next, parts, true));
  serveInQuota(
    waiting.filter(({ served, kind }) => served === undefined && kind.blocked === AFTER_WINNERS),
    parts,
  );
}

/**
 * Serves requests that came within nominal quota during the pass, but only in free places. The next pass, in which they are in
 * quota from its beginning, decides which leases to evict for them.
 */
export function serveFree(waiting: readonly WaitingRequest[], state: PassState): void {
  serveInOrder(waiting, (next) => {
    const free = freePlace(next.kind, state);
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

/** Whether to skip the request. Called for the head of a project: only that project's turns change what its quota has left. */
function isOut({ served, kind }: WaitingRequest): boolean {
  if (served !== undefined || kind.blocked !== undefined) return true;
  for (const tier of kind.inQuota) if (isInQuota(kind, tier)) return false;
  kind.blocked = PASSED_OVER;
  return true;
}

const PASSED_OVER = { kind: 'passed-over' } as const;
/** A place is free for the request, but in a tier that another winner may need. */
const AFTER_WINNERS = { kind: 'passed-over' } as const;

function serve(waiting: WaitingRequest, parts: PassParts, areWinners: boolean): void {
  const { state } = parts;
  const { kind } = waiting;
  const atHome = freeAtHome(kind, state);
  if (atHome !== undefined) return state.grant(waiting, atHome);
  const { home, away } = tiersOnNominal(kind);
  const tiers = away.length === 0 ? home : [...home, ...away];
  const free = firstFree(kind, home, state);
  if (free !== undefined) return state.grant(waiting, free);
  if (areWinners && claimComing(waiting, home, state)) return;
  const elsewhere = firstFree(kind, away, state);
  if (elsewhere !== undefined && !areWinners) return state.grant(waiting, elsewhere);
  if (elsewhere !== undefined) {
    kind.blocked = AFTER_WINNERS;
    return;
  }
  if (claimComing(waiting, tiers, state) || claimWithTargets(waiting, tiers, state)) return;
  if (isHeldBack(waiting, tiers, parts) || waitForProtected(waiting, tiers, state)) return;
  if (tiers.some((tier) => state.room.isBehindReservations(kind.shape, tier))) parts.holdBacks.keepWaiting(kind);
  passOver(kind);
}

function passOver(kind: Kind): void {
  kind.blocked = PASSED_OVER;
}

interface Tiers {
  /** Tiers of which the project has quota left for the request. There it takes no room that another project's quota counts on. */
  readonly home: readonly number[];
  readonly away: readonly number[];
}

/** Tiers in which a request of this kind is still in quota, one or more. If none of them is home, all count as home. */
function tiersOnNominal(kind: Kind): Tiers {
  const { project, shape, priority, inQuota } = kind;
  if (inQuota.length === 1) return { home: inQuota, away: NOWHERE };
  const tiers = inQuota.filter((tier) => isInQuota(kind, tier));
  const home = tiers.filter((tier) => project.isAtHome(shape, priority, tier));
  if (home.length === 0) return { home: tiers, away: NOWHERE };
  return { home, away: tiers.filter((tier) => !home.includes(tier)) };
}

const NOWHERE: readonly number[] = [];

/** The first home tier with a free place, checked before all else because most requests start there. */
function freeAtHome(kind: Kind, { room }: PassState): number | undefined {
  const { project, shape, priority, inQuota } = kind;
  if (inQuota.length === 1) return undefined;
  for (const tier of inQuota) {
    if (room.isFree(shape, tier) && project.isAtHome(shape, priority, tier) && isInQuota(kind, tier)) return tier;
  }
  return undefined;
}

function freePlace(kind: Kind, state: PassState): number | undefined {
  const { home, away } = tiersOnNominal(kind);
  return firstFree(kind, home, state) ?? firstFree(kind, away, state);
}

function firstFree({ shape }: Kind, tiers: readonly number[], { room }: PassState): number | undefined {
  for (const tier of tiers) if (room.isFree(shape, tier)) return tier;
  return undefined;
}

/** Rule 8: whether chips that reservations collected would be enough, alone or with targets. None are taken (docs/adr/0018). */
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
  return state.candidates(tier).targets(shape, priority, project.quota, shortage);
}

/** Rule 6: if protected borrowing leases hold the missing chips, claims the free and coming ones meanwhile. */
function waitForProtected(waiting: WaitingRequest, tiers: readonly number[], state: PassState): boolean {
  const { shape, priority, project } = waiting.kind;
  for (const tier of tiers) {
    const [shortage, candidates] = [state.room.shortage(shape, tier), state.candidates(tier)];
    if (!candidates.isEnoughLater(shape, priority, project.quota, shortage)) continue;
    state.claimPart(waiting, tier, () => candidates.protected(shape, shortage));
    return true;
  }
  return false;
}

/**
 * Best effort (rule 4): starts the remaining requests, in the order of service, in free places of tiers where they do not cool
 * down. It preempts no lease and claims nothing, so that others pass a request that cannot start.
 */
export function serveBestEffort(state: PassState): void {
  const place = (kind: Kind): number | undefined => freeTier(kind, state);
  // Free chips only get fewer in this step, so kinds without a place now are not sorted at all.
  serveWhere(
    state.kinds.filter((kind) => !wasHeldBack(kind) && place(kind) !== undefined),
    place,
    state,
  );
}

function freeTier(kind: Kind, { room, limits }: PassState): number | undefined {
  const { shape } = kind;
  for (const tier of shape.tiers) {
    if (shape.coolingUntil.has(tier) || !room.isFree(shape, tier)) continue;
    if (limits.allow(kind, tier)) return tier;
  }
  return undefined;
}

/**
 * Rule 12: serves requests that cool down last, in-quota ones first. They get only chips of types that no other request waits for
 * in that tier.
 */
export function serveCoolingDown(state: PassState): void {
  const cooling = state.kinds.filter(({ shape }) => shape.coolingUntil.size > 0);
  if (cooling.length === 0) return;
  const wanted = wantedTypes(state);
  const placeWhere = (isAllowed: (kind: Kind, tier: number) => boolean) => (kind: Kind) =>
    [...kind.shape.coolingUntil.keys()].find(
      (tier) =>
        !kind.shape.types.some((type) => wanted.has(`${tier}/${type}`)) &&
        state.room.isFree(kind.shape, tier) &&
        isAllowed(kind, tier),
    );
  serveWhere(cooling, placeWhere(isInQuota), state);
  serveWhere(
    cooling,
    placeWhere((kind, tier) => state.limits.allow(kind, tier)),
    state,
  );
}

/** Each `tier/type` that a request waits for without cooling down there. */
export function wantedTypes(state: PassState): ReadonlySet<string> {
  const wanted = new Set<string>();
  for (const kind of state.kinds) {
    const { shape } = kind;
    if (!isAnyWaiting(kind)) continue;
    for (const tier of shape.tiers) {
      if (!shape.coolingUntil.has(tier)) for (const type of shape.types) wanted.add(`${tier}/${type}`);
    }
  }
  return wanted;
}

function serveWhere(kinds: readonly Kind[], placeOf: (kind: Kind) => number | undefined, state: PassState): void {
  const heldBack = new Map(kinds.filter(wasHeldBack).map((kind) => [kind, kind.blocked]));
  for (const kind of kinds) kind.blocked = undefined;
  const order = new ServiceOrder(unservedOf(kinds), ({ served, kind }) => {
    if (served !== undefined || kind.blocked !== undefined) return true;
    if (placeOf(kind) !== undefined) return false;
    kind.blocked = heldBack.get(kind) ?? PASSED_OVER;
    return true;
  });
  for (let next = order.next(); next !== undefined; next = order.next()) {
    const tier = placeOf(next.kind);
    if (tier === undefined) continue;
    state.grant(next, tier);
    order.served(next);
  }
}

const wasHeldBack = ({ blocked }: Kind): boolean => blocked?.kind === 'held-back';

function unservedOf(kinds: readonly Kind[]): WaitingRequest[] {
  const unserved: WaitingRequest[] = [];
  for (const { last } of kinds) {
    for (let each = last; each !== undefined; each = each.before) if (each.served === undefined) unserved.push(each);
  }
  return unserved;
}
