import assert from 'node:assert/strict';
import type { EpochMs } from '../../../domain/units.js';
import type { Decision, Preemption, QuotaLease, QuotaRequest } from '../../../quota/quota-config.js';
import {
  allTiers,
  borrowedBeside,
  canServe,
  coolsDown,
  drainingIn,
  fitsFree,
  free,
  hasAskedTooLong,
  inQuotaTiers,
  isInQuota,
  isOf,
  isProtected,
  jobOf,
  tierOf,
  totalOf,
  typesOf,
} from './oracle.js';
import type { Facts } from './oracle.js';

/** What must hold of every decision, whatever the pool was in. Each throws what it saw. */
export const CLAIMS: Readonly<Record<string, (facts: Facts, decision: Decision, now: EpochMs) => void>> = {
  'rule 1: no grant makes the leased of a tier more than it has': neverMoreThanThePool,
  'rule 2: a grant is of a waiting job, once, in a tier that may serve it': wholeInOneTier,
  'rule 6: victims are leases that have not let go, each for one who waits in quota': victimsAreLeases,
  'rule 3: what lies on nominal quota is not preempted for anybody': nominalIsSafe,
  'rule 6: what is protected by its minimum runtime is not preempted': theYoungAreSafe,
  'rule 7: what is freed is enough for all for whom it is freed': chipsAreClaimedOnce,
  'rule 10: frozen, nothing is granted and nobody is told to go': frozenIsFrozen,
  'rule 8: one reservation per type and tier, in time, none for who is in quota or cools down': reservationsAreFew,
  'rule 12: who cools down evicts nobody and has no reservation': theColdAreModest,
  'what is remembered is of those who still wait': memoryIsBounded,
  'the next time to look is later than now, and there is none where nobody waits': nextIsLater,
};

export function find<Item extends { readonly id: string }>(all: readonly Item[], id: string): Item {
  const found = all.find((each) => each.id === id);
  assert.ok(found, `${id} is not among ${all.map((each) => each.id).join(', ')}`);
  return found;
}

function neverMoreThanThePool(facts: Facts, { grants }: Decision): void {
  for (const tier of allTiers(facts)) {
    const granted = grants.filter((grant) => grant.tier === tier).map(({ id }) => find(facts.requests, id));
    for (const type of new Set(granted.flatMap(({ units }) => typesOf(units)))) {
      const after = free(facts, tier, type) - totalOf(granted, type);
      assert.ok(after >= 0n, `${-after} ${type} more than tier ${tier} has`);
    }
  }
}

function wholeInOneTier(facts: Facts, { grants }: Decision): void {
  assert.equal(new Set(grants.map(({ id }) => id)).size, grants.length, 'granted twice');
  for (const { id, tier } of grants) {
    assert.ok(facts.config.tiers[tier] !== undefined, `no tier ${tier}`);
    assert.ok(canServe(facts, find(facts.requests, id), tier), `tier ${tier} does not serve ${id}`);
  }
}

function victimsAreLeases(facts: Facts, { grants, preemptions }: Decision, now: EpochMs): void {
  assert.equal(new Set(preemptions.map(({ id }) => id)).size, preemptions.length, 'told to go twice');
  const causes = { held: ['quota'], asking: ['quota', 'asking'], parked: ['parked'], draining: [] as string[] };
  for (const preemption of preemptions) {
    const lease = find(facts.leases, preemption.id);
    const winner = find(facts.requests, preemption.for);
    assert.ok(causes[lease.state ?? 'held'].includes(preemption.cause), `${preemption.cause}: it is ${lease.state}`);
    assert.notEqual(jobOf(lease.id), jobOf(winner.id), 'a job made way for itself');
    if (hasAskedTooLong(facts, lease, now)) continue;
    assert.ok(!grants.some(({ id }) => id === winner.id), `${winner.id} was granted and evicts`);
  }
}

/** The pool as a pass sees it further on: the grants made, those who asked too long gone. */
function later(facts: Facts, { grants, preemptions }: Decision, now: EpochMs): Facts {
  const back = new Set(preemptions.map(({ id }) => id));
  const leases = facts.leases.map((lease): QuotaLease =>
    back.has(lease.id) && hasAskedTooLong(facts, lease, now) ? { ...lease, state: 'draining' } : lease,
  );
  const granted = grants.map(({ id, tier }) => asLease(find(facts.requests, id), tier, now));
  return { ...facts, leases: [...leases, ...granted] };
}

function asLease({ waitingSince: _, ...asked }: QuotaRequest, tier: number, now: EpochMs): QuotaLease {
  return { ...asked, tier, startedAt: now, state: 'asking' };
}

/** With those laid who may have been served before the winner: chips were claimed for them, and no decision says so. */
function withClaims(facts: Facts, winner: QuotaRequest, { project }: QuotaLease, now: EpochMs): Facts {
  const before = facts.requests.filter(
    (one) =>
      one.id !== winner.id &&
      isOf(project, one) &&
      (!isOf(project, winner) || one.priority <= winner.priority) &&
      !facts.leases.some(({ id }) => id === one.id),
  );
  const laid = before.flatMap((one) =>
    inQuotaTiers(facts, one, now)
      .slice(0, 1)
      .map((tier) => asLease(one, tier, now)),
  );
  return { ...facts, leases: [...facts.leases, ...laid] };
}

/** Without what its own project was granted after it in the same pass: chips were claimed for the winner first. */
function withoutLater(after: Facts, winner: QuotaRequest): Facts {
  const isLater = (one: QuotaRequest): boolean =>
    isOf(winner.project, one) &&
    (one.priority - winner.priority || one.submittedAt - winner.submittedAt || (one.id < winner.id ? -1 : 1)) > 0;
  const later = new Set(after.requests.filter(isLater).map(({ id }) => id));
  return { ...after, leases: after.leases.filter(({ id }) => !later.has(id)) };
}

function nominalIsSafe(facts: Facts, decision: Decision, now: EpochMs): void {
  const after = later(facts, decision, now);
  for (const { lease, winner } of evictions(facts, decision, now)) {
    const tier = tierOf(facts, lease);
    const isBorrowed = (seen: Facts): boolean =>
      borrowedBeside(seen, winner, tier, now).some(({ id }) => id === lease.id);
    const claimed = withClaims(after, winner, lease, now);
    assert.ok([facts, after, claimed].some(isBorrowed), `${lease.id} lies on nominal quota beside ${winner.id}`);
    const views = [facts, after, withoutLater(after, winner)];
    assert.ok(
      views.some((seen) => isInQuota(seen, winner, tier, now)),
      `${winner.id} is not in quota in tier ${tier} and evicts ${lease.id}`,
    );
  }
}

function theYoungAreSafe(facts: Facts, decision: Decision, now: EpochMs): void {
  for (const { lease } of evictions(facts, decision, now)) {
    assert.ok(!isProtected(facts, lease, now), `${lease.id} is protected`);
  }
}

function chipsAreClaimedOnce(facts: Facts, decision: Decision, now: EpochMs): void {
  const told = evictions(facts, decision, now);
  const gone = decision.preemptions.map(({ id }) => find(facts.leases, id));
  for (const tier of allTiers(facts)) {
    const winners = new Set(told.filter(({ lease }) => tierOf(facts, lease) === tier).map(({ winner }) => winner));
    const granted = decision.grants.filter((grant) => grant.tier === tier).map(({ id }) => find(facts.requests, id));
    const victims = gone.filter((lease) => tierOf(facts, lease) === tier);
    for (const type of new Set([...winners].flatMap(({ units }) => typesOf(units)))) {
      const coming = free(facts, tier, type) + drainingIn(facts, tier, type) + totalOf(victims, type);
      const asked = totalOf([...winners, ...granted], type);
      assert.ok(asked <= coming, `${asked} ${type} of tier ${tier} are promised, ${coming} come free`);
    }
  }
}

/** Preemptions for in-quota demand: not those that asked too long. */
function evictions(
  facts: Facts,
  { preemptions }: Decision,
  now: EpochMs,
): { readonly lease: QuotaLease; readonly winner: QuotaRequest; readonly preemption: Preemption }[] {
  return preemptions
    .map((preemption) => ({
      preemption,
      lease: find(facts.leases, preemption.id),
      winner: find(facts.requests, preemption.for),
    }))
    .filter(({ lease }) => !hasAskedTooLong(facts, lease, now));
}

function frozenIsFrozen(facts: Facts, { grants, preemptions }: Decision): void {
  if (facts.isFrozen) assert.deepEqual({ grants, preemptions }, { grants: [], preemptions: [] });
}

function reservationsAreFew(facts: Facts, decision: Decision, now: EpochMs): void {
  if (facts.isFrozen) return;
  const taken = decision.memory.reservations.flatMap(({ id, tier }) =>
    typesOf(find(facts.requests, id).units).map((type) => `${type} of tier ${tier}`),
  );
  assert.equal(new Set(taken).size, taken.length, `reserved: ${taken.join(', ')}`);
  for (const { id, tier, madeAt } of decision.memory.reservations) {
    const isOver = madeAt + facts.config.rules.maxGuaranteeDelayMs <= now;
    assert.ok(!isOver || fitsFree(facts, find(facts.requests, id).units, tier), `the reservation of ${id} is over`);
    const request = find(facts.requests, id);
    const after = later(facts, decision, now);
    const isOwn = (seen: Facts): boolean =>
      inQuotaTiers(seen, request, now).some(
        (tier) => !coolsDown({ ...seen, memory: decision.memory }, request, tier, now),
      );
    assert.ok(!isOwn(facts) || !isOwn(after), `${id} is in quota and has a reservation`);
  }
}

function theColdAreModest(facts: Facts, decision: Decision, now: EpochMs): void {
  const after = { ...facts, memory: decision.memory };
  for (const { lease, winner } of evictions(facts, decision, now)) {
    assert.ok(!coolsDown(after, winner, tierOf(facts, lease), now), `${winner.id} cools down and evicts ${lease.id}`);
  }
  if (facts.isFrozen) return;
  for (const { id, tier } of decision.memory.reservations) {
    assert.ok(!coolsDown(after, find(facts.requests, id), tier, now), `${id} cools down and has a reservation`);
  }
}

function memoryIsBounded(facts: Facts, { memory }: Decision): void {
  const waits = new Set(facts.requests.map(({ id }) => id));
  const remembered = [
    ...memory.reservations.map(({ id }) => id),
    ...Object.keys(memory.dissolved),
    ...Object.keys(memory.heldBack),
    ...memory.winners,
  ];
  for (const id of remembered) assert.ok(waits.has(id), `${id} is remembered and does not wait`);
  const places = memory.coolDowns.map(({ type, tier, zone }) => `${type} ${tier} ${zone}`);
  assert.equal(new Set(places).size, places.length, `cool-downs: ${places.join(', ')}`);
}

function nextIsLater(facts: Facts, { grants, nextAt }: Decision, now: EpochMs): void {
  if (nextAt !== undefined) assert.ok(nextAt > now, `nextAt ${nextAt} at ${now}`);
  if (grants.length === facts.requests.length) assert.equal(nextAt, undefined, 'nothing waits');
}
