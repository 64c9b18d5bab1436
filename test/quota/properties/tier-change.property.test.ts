import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decide } from '../../../quota/decide.js';
import type { QuotaLease, QuotaRequest } from '../../../quota/quota-config.js';
import { holds } from './check.js';
import { canServe, coolsDown, type Facts, free, hasAskedTooLong, typesOf } from './oracle.js';
import { NOW, RULES, scene } from './scenes.js';

const AGED = { ...RULES, agingMs: 1_000_000 };
const SCENES = fc
  .tuple(
    scene({
      requests: 3,
      leases: 5,
      rules: AGED,
      states: ['asking', 'asking', 'held', 'draining'],
      withCoolDowns: true,
    }),
    fc.array(fc.constantFrom('asked' as const, 'refused' as const, undefined), { minLength: 5, maxLength: 5 }),
    fc.boolean(),
  )
  .map(([facts, everywhere, isAlone]): Facts => ({
    ...facts,
    requests: isAlone ? [] : facts.requests,
    leases: facts.leases.map((lease, at): QuotaLease => {
      const asked = everywhere[at];
      return lease.state === 'asking' && asked !== undefined
        ? { ...lease, zones: ['a', 'b'], everywhere: asked }
        : lease;
    }),
  }));

const asRequest = ({ state: _, tier: _tier, ...lease }: QuotaLease): QuotaRequest => lease;

/** Free chips of another tier are enough for it, and not all of its zones cool down there. */
function hasPlaceElsewhere(facts: Facts, lease: QuotaLease): boolean {
  return [...facts.config.tiers.keys()].some(
    (tier) =>
      tier !== Math.min(lease.tier, facts.config.tiers.length - 1) &&
      canServe(facts, asRequest(lease), tier) &&
      !coolsDown(facts, asRequest(lease), tier, NOW) &&
      typesOf(lease.units).every((type) => free(facts, tier, type) >= BigInt(lease.units[type] ?? 0)),
  );
}

const isDue = (facts: Facts, lease: QuotaLease): boolean =>
  lease.state === 'asking' &&
  (lease.everywhere === 'refused' || (lease.everywhere === 'asked' && hasAskedTooLong(facts, lease, NOW)));

describe('quota: rule 11, a lease that is returned for another tier', () => {
  it('was refused or asked too long everywhere, has a place on free chips elsewhere, and is one alone', () => {
    const changes = (facts: Facts): boolean => {
      const { preemptions } = decide(facts, NOW);
      const moved = preemptions.filter(({ cause }) => cause === 'tier');
      const [change] = moved;
      if (change === undefined) return false;
      assert.equal(moved.length, 1);
      assert.ok(!preemptions.some(({ cause }) => cause === 'asking'));
      const lease = facts.leases.find(({ id }) => id === change.id);
      assert.ok(lease && change.for === lease.id && isDue(facts, lease) && hasPlaceElsewhere(facts, lease));
      return true;
    };
    holds(SCENES, changes, { interesting: 0.05 });
  });

  it('comes about where nobody waits, and one is due and has a place', () => {
    const comesAbout = (drawn: Facts): boolean => {
      const facts = { ...drawn, requests: [] };
      const ready = facts.leases.filter((lease) => isDue(facts, lease) && hasPlaceElsewhere(facts, lease));
      const changed = decide(facts, NOW).preemptions.map(({ id }) => id);
      assert.equal(changed.length, Math.min(1, ready.length));
      assert.ok(changed.every((id) => ready.some((lease) => lease.id === id)));
      return changed.length > 0;
    };
    holds(SCENES, comesAbout, { interesting: 0.1 });
  });
});
