import { ServiceOrder } from './order-of-service.js';
import type { PassState } from './pass-state.js';
import { isAnyWaiting, isInQuota } from './waiting.js';
import type { Kind, WaitingRequest } from './waiting.js';

/**
 * Best effort (rule 4): starts the remaining requests, in the order of service, in free places of tiers where they do not cool
 * down. It preempts no lease and claims nothing, so that others pass a request that cannot start.
 */
export function serveBestEffort(state: PassState): void {
  const place = (kind: Kind): number | undefined => freePlace(kind, state);
  // Free chips only get fewer in this step, so kinds without a place now are not sorted at all.
  serveWhere(
    state.kinds.filter((kind) => !isHeldBack(kind) && place(kind) !== undefined),
    place,
    state,
  );
}

function freePlace(kind: Kind, { room, limits }: PassState): number | undefined {
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
  const heldBack = new Map(kinds.filter(isHeldBack).map((kind) => [kind, kind.blocked]));
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

const PASSED_OVER = { kind: 'passed-over' } as const;
const isHeldBack = ({ blocked }: Kind): boolean => blocked?.kind === 'held-back';

function unservedOf(kinds: readonly Kind[]): WaitingRequest[] {
  const unserved: WaitingRequest[] = [];
  for (const { last } of kinds) {
    for (let each = last; each !== undefined; each = each.before) if (each.served === undefined) unserved.push(each);
  }
  return unserved;
}
