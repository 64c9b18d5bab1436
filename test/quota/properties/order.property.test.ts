import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decide } from '../../../quota/decide.js';
import { holds } from './check.js';
import { onNominal } from './oracle.js';
import { grantsInOrder, withoutBorrowers } from './order.js';
import { NOW, RULES, scene } from './scenes.js';

const YOUNG = { ...RULES, agingMs: 1_000_000, askingTimeoutMs: 1_000_000 };
const ANY = { requests: 8, leases: 8, withLimits: true, withCoolDowns: true, withReservations: true };

describe('quota SAFETY: the order of service', () => {
  it('rules 4 and 5: in-quota demand, then best effort; smallest dominant share, priority, user, time, id', () => {
    holds(
      scene({ requests: 10, leases: 5, rules: YOUNG, states: ['held', 'asking', 'parked'] }),
      (drawn) => {
        const facts = withoutBorrowers(drawn, (lease, seen) => onNominal(seen, lease.project).has(lease.id));
        const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);
        const want = grantsInOrder(facts, NOW).toSorted(byId);
        const got = decide(facts, NOW);
        assert.deepEqual([...got.grants].sort(byId), want);
        assert.deepEqual(got.preemptions, [], 'nobody could be evicted');
        return want.length > 1 && want.length < facts.requests.length;
      },
      { interesting: 0.3 },
    );
  });

  // The later may go where a tier cools down, and on what its own project's lease gives back that goes for the earlier: this one
  // waits for chips that are sure to come.
  it('of two that differ in nothing but time and id, the later is not granted alone', () => {
    holds(
      fc.tuple(
        scene({ ...ANY, withReservations: false, withCoolDowns: false, rules: YOUNG }),
        fc.integer({ min: 1, max: NOW - 1 }),
      ),
      ([facts, later]) => {
        const [first] = facts.requests;
        assert.ok(first);
        const second = { ...first, id: 'twin/r/1', submittedAt: Math.max(first.submittedAt, later) };
        const { grants, preemptions } = decide({ ...facts, requests: [...facts.requests, second] }, NOW);
        if (preemptions.some((preemption) => preemption.for === first.id)) return false;
        const [isFirst, isSecond] = [first, second].map(({ id }) => grants.some((grant) => grant.id === id));
        if (second.submittedAt > first.submittedAt) assert.ok(isFirst || !isSecond, 'the later went before');
        return isFirst !== isSecond;
      },
      { interesting: 0.02 },
    );
  });

  it('the order in which requests and leases are told does not matter', () => {
    holds(
      fc.tuple(scene(ANY), fc.infiniteStream(fc.nat())),
      ([facts, random]) => {
        const shuffled = decide(
          { ...facts, requests: shuffle(facts.requests, random), leases: shuffle(facts.leases, random) },
          NOW,
        );
        assert.deepEqual(shuffled, decide(facts, NOW));
        return shuffled.grants.length > 0 && shuffled.grants.length < facts.requests.length;
      },
      { interesting: 0.2 },
    );
  });
});

function shuffle<Item>(items: readonly Item[], random: { next(): IteratorResult<number> }): Item[] {
  return items
    .map((item) => ({ item, key: Number(random.next().value) }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}
