import assert from 'node:assert/strict';
import { formatProblems } from '../../domain/problem.js';
import { parsePlanState } from '../../quota/plan.js';

const JOB = {
  id: 'a',
  project: 'p',
  user: 'u',
  priority: 3,
  submittedAt: '2026-11-21T09:30:00Z',
  resources: { v4: 8 },
};
const LEASE = { ...JOB, id: 'b', startedAt: '2026-11-21T09:00:00+01:00', tier: 0 };
const NOW = '2026-11-21T10:00:00Z';

function problems(state: unknown): string {
  const parsed = parsePlanState(typeof state === 'string' ? state : JSON.stringify(state), 's.json');
  return parsed.ok ? 'no problem' : formatProblems(parsed.problems);
}
const asking = (resources: unknown): string => problems({ now: NOW, waiting: [{ ...JOB, resources }], leases: [] });

describe('quota: the state that a plan is made from', () => {
  it('a lease without state and heldMs has been held since it started', () => {
    const parsed = parsePlanState(JSON.stringify({ now: NOW, waiting: [JOB], leases: [LEASE] }), 's.json');
    assert.ok(parsed.ok);
    const [lease] = parsed.state.leases;
    assert.equal(parsed.state.now, Date.parse(NOW));
    assert.deepEqual(
      [lease?.state, lease?.heldMs, lease?.startedAt],
      ['held', 7_200_000, Date.parse('2026-11-21T08:00:00Z')],
    );
    assert.deepEqual(parsed.state.waiting[0]?.units, { v4: 8 });
  });
  it('state, heldMs and what places a job are taken as they are given', () => {
    const more = { state: 'asking', heldMs: 5, zone: 'us-central2-b', pricing: 'spot', zones: ['us-central2-b'] };
    const parsed = parsePlanState(JSON.stringify({ now: NOW, waiting: [], leases: [{ ...LEASE, ...more }] }), 's.json');
    assert.ok(parsed.ok);
    const [lease] = parsed.state.leases;
    assert.deepEqual({ ...lease, ...more }, lease);
  });
  it('a time without an offset is UTC, and v5e is v5litepod', () => {
    const job = { ...JOB, submittedAt: '2026-11-21T09:30:00.5', resources: { v5e: 16 } };
    const parsed = parsePlanState(JSON.stringify({ now: NOW, waiting: [job], leases: [] }), 's.json');
    assert.ok(parsed.ok);
    const [request] = parsed.state.waiting;
    assert.deepEqual(
      [request?.submittedAt, request?.units],
      [Date.parse('2026-11-21T09:30:00.500Z'), { v5litepod: 16 }],
    );
  });

  const refused: Record<string, readonly [unknown, string]> = {
    'a negative demand': [
      { v4: -8 },
      's.json: waiting[0].resources.v4: -8 is not a whole number of units from 1 to 2147483647',
    ],
    'a demand of zero': [
      { v4: 0 },
      's.json: waiting[0].resources.v4: 0 is not a whole number of units from 1 to 2147483647',
    ],
    'a fractional demand': [
      { v4: 1.5 },
      's.json: waiting[0].resources.v4: 1.5 is not a whole number of units from 1 to 2147483647',
    ],
    'a demand too large to count': [
      { v4: 1e300 },
      's.json: waiting[0].resources.v4: 1e+300 is not a whole number of units from 1 to 2147483647',
    ],
    'a demand of nothing': [
      {},
      's.json: waiting[0].resources: asks for nothing: a job needs units of one type at least',
    ],
    'a type given twice': [
      { v5e: 8, v5litepod: 8 },
      's.json: waiting[0].resources.v5litepod: v5litepod is given twice',
    ],
    'a demand that is no table': [
      'v4-8',
      `s.json: waiting[0].resources: 'v4-8' is not units by type, such as {"v4": 8}`,
    ],
  };
  for (const [name, [resources, message]] of Object.entries(refused)) {
    it(`${name} is refused with its place and value`, () => assert.equal(asking(resources), message));
  }
  it('each problem is named: times, missing and unknown keys, ids that stand twice', () => {
    assert.equal(
      problems({
        now: 'yesterday',
        waiting: [JOB, { ...JOB, priority: 9 }],
        leases: [{ ...LEASE, startedat: 1, tier: -1 }],
      }),
      [
        `s.json: now: 'yesterday' is not a time such as 2026-11-21T09:30:00Z`,
        's.json: waiting[1].priority: 9 is not a whole number from 1 (first) to 5',
        's.json: leases[0].tier: -1 is not the number of a tier, 0 for the best',
        's.json: leases[0].startedat: no such key in a state file',
        '  did you mean startedAt?',
        '  known here: id, project, user, priority, submittedAt, resources, pricing, zones, startedAt, tier, state, heldMs, askingSince, everywhere, zone',
      ].join('\n'),
    );
    assert.equal(
      problems({ now: NOW, waiting: [JOB], leases: [{ ...LEASE, id: 'a' }] }),
      `s.json: leases[0].id: 'a' is the id of waiting[0] too`,
    );
    assert.equal(problems({ now: NOW, waiting: [] }), 's.json: leases: is missing');
    assert.match(problems('{"now": }'), /^s\.json: not JSON: /);
    assert.equal(problems([]), 's.json: [] is not an object with now, waiting and leases');
  });
});
