import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decide } from '../../../quota/decide.js';
import { holds } from './check.js';
import { free, hasAskedTooLong, typesOf } from './oracle.js';
import type { Facts } from './oracle.js';
import { afterComingBack, comesBack, promiseTo, suffices, taken } from './one-request.js';
import { NOW, RULES, scene } from './scenes.js';

/** What the decision says of the only request, beside who comes back after asking too long. */
function decidedOn(facts: Facts): { granted?: number; evicted: string[]; back: string[] } {
  const [request] = facts.requests;
  assert.ok(request);
  const { grants, preemptions } = decide(facts, NOW);
  const tooLong = new Set(comesBack(facts, request, NOW).map(({ id }) => id));
  const evicted = preemptions.map(({ id }) => id).filter((id) => !tooLong.has(id));
  const back = preemptions.map(({ id }) => id).filter((id) => tooLong.has(id));
  return { ...(grants[0] && { granted: grants[0].tier }), evicted, back };
}

/** The whole pool is the asker's, and all of it is lent out: whoever has chips is a borrower. */
function allLent(facts: Facts): Facts {
  const { config, leases, requests } = facts;
  const projects = config.projects.map((one) => ({ ...one, nominal: one.name === 'a' ? config.tiers : [] }));
  return {
    ...facts,
    config: { ...config, projects },
    requests: requests.map((one) => ({ ...one, project: 'A', units: { v4: 8 } })),
    leases: leases.map((one) => ({ ...one, project: 'none', startedAt: Math.floor(one.startedAt / 2) })),
  };
}

/** Another project has what does not fit whole on its nominal quota beside what does, and some of it has to go. */
function halfLent(facts: Facts): Facts {
  const { config, leases, requests } = facts;
  const half = config.tiers.map(({ v4 = 0 }) => ({ v4: v4 / 2 }));
  const projects = config.projects.map((one) => ({ ...one, nominal: one.name === 'C' ? [] : half }));
  return {
    ...facts,
    config: { ...config, projects },
    requests: requests.map((one) => ({ ...one, project: 'a', units: { v4: 4 } })),
    leases: leases.map((one) => ({ ...one, project: 'b', startedAt: Math.floor(one.startedAt / 2) })),
  };
}

/** Nobody grows old: reservations have properties of their own. */
const YOUNG = { ...RULES, agingMs: 1_000_000 };
const LENDING = scene({
  requests: 1,
  leases: 10,
  rules: { ...YOUNG, minRuntimeMs: 100 },
  states: ['held', 'parked', 'asking'],
  tiers: 1,
});
const isOneType = ({ requests }: Facts): boolean => requests.every(({ units }) => typesOf(units).length === 1);

describe('quota SAFETY: what the rules promise the only one who waits', () => {
  it('rules 3, 4, 7: a free place in an allowed tier, its own nominal quota first; else it evicts, or waits', () => {
    holds(
      scene({ requests: 1, leases: 8, rules: YOUNG }),
      (facts) => {
        const [request] = facts.requests;
        assert.ok(request);
        const want = promiseTo(facts, request, NOW);
        const got = decidedOn(facts);
        assert.equal(got.granted, want.kind === 'granted' ? want.tier : undefined, JSON.stringify({ want, got }));
        assert.equal(got.evicted.length > 0, want.kind === 'evicts', JSON.stringify({ want, got }));
        return want.kind === 'evicts' || (want.kind === 'granted' && want.tier > 0);
      },
      { interesting: 0.05 },
    );
  });

  it('rule 6: victims are enough, none of them is spare, and of one type they are the first in order', () => {
    holds(
      fc.oneof(LENDING, LENDING.map(allLent), LENDING.map(halfLent)),
      (facts) => {
        const [request] = facts.requests;
        assert.ok(request);
        const want = promiseTo(facts, request, NOW);
        if (want.kind !== 'evicts') return false;
        const seen = afterComingBack(facts, request, NOW);
        const { evicted } = decidedOn(facts);
        const victims = want.victims.filter(({ id }) => evicted.includes(id));
        assert.equal(victims.length, evicted.length, `not all of ${evicted.join(', ')} may be evicted`);
        assert.ok(suffices(seen, request, want.tier, victims), `${evicted.join(', ')} are not enough`);
        for (const spare of victims) {
          const others = victims.filter((one) => one !== spare);
          assert.ok(!suffices(seen, request, want.tier, others), `${spare.id} is not needed`);
        }
        const first = taken(seen, request, want.tier, want.victims).map(({ id }) => id);
        if (isOneType(facts)) assert.deepEqual(evicted.toSorted(), first.toSorted());
        return true;
      },
      { interesting: 0.08 },
    );
  });

  it('rule 7: while chips come free for in-quota demand, nobody after it gets those that are free', () => {
    holds(
      scene({ requests: 1, leases: 6, rules: YOUNG, states: ['held', 'draining', 'parked'], tiers: 1 }).map(allLent),
      (facts) => {
        const [request] = facts.requests;
        assert.ok(request);
        const isEnough = suffices(facts, request, 0, []);
        if (promiseTo(facts, request, NOW).kind !== 'evicts' && !isEnough) return false;
        const guest = { ...request, id: 'guest/r/1', project: 'none', priority: 1, submittedAt: 0, units: { v4: 1 } };
        const { grants } = decide({ ...facts, requests: [request, guest] }, NOW);
        const isServed = grants.some(({ id }) => id === request.id);
        assert.ok(isServed || grants.length === 0, 'the guest has chips that the owner waits for');
        return !isServed && free(facts, 0, 'v4') > 0n;
      },
      { interesting: 0.1 },
    );
  });

  it('rule 4: a borrower stays within its borrowing limit and leaves what others do not lend', () => {
    let withheld = 0;
    holds(
      scene({ requests: 1, leases: 4, rules: YOUNG, states: ['held'], withLimits: true }),
      (facts) => {
        const [request] = facts.requests;
        assert.ok(request);
        const want = promiseTo(facts, request, NOW);
        const { rules } = facts.config;
        const unbounded = {
          ...facts,
          config: { ...facts.config, rules: { ...rules, borrowingLimits: {}, lendingLimits: {} } },
        };
        const got = decidedOn(facts);
        assert.equal(got.granted, want.kind === 'granted' ? want.tier : undefined, JSON.stringify({ want, got }));
        if (promiseTo(unbounded, request, NOW).kind === want.kind) return false;
        withheld += 1;
        return true;
      },
      { interesting: 0.05 },
    );
    assert.ok(withheld > 0);
  });

  it('a lease that asked too long comes back for one who could use its chips, and its place cools down', () => {
    holds(
      scene({ requests: 1, leases: 6, rules: YOUNG, states: ['asking'], withCoolDowns: true }),
      (facts) => {
        const [request] = facts.requests;
        assert.ok(request);
        const want = comesBack(facts, request, NOW).map(({ id }) => id);
        assert.deepEqual(decidedOn(facts).back.toSorted(), want.toSorted());
        const { coolDowns } = decide(facts, NOW).memory;
        for (const lease of facts.leases.filter(({ id }) => want.includes(id))) {
          for (const type of typesOf(lease.units)) {
            const isCold = coolDowns.some((one) => one.type === type && one.zone === lease.zone && one.until > NOW);
            assert.ok(isCold || lease.zone === undefined, `${lease.zone} gave no ${type} and is not cooling down`);
          }
        }
        return want.length > 0 && want.length < facts.leases.filter((one) => hasAskedTooLong(facts, one, NOW)).length;
      },
      { interesting: 0.02 },
    );
  });

  it('rule 10: frozen, it waits and nobody is told to go', () => {
    holds(
      scene({ requests: 1, leases: 8 }),
      (facts) => {
        const got = decidedOn({ ...facts, isFrozen: true });
        assert.deepEqual(got, { evicted: [], back: [] });
        return decide(facts, NOW).grants.length > 0;
      },
      { interesting: 0.2 },
    );
  });
});
