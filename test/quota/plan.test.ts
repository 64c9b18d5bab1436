import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { parsePlanState, planOf } from '../../quota/plan.js';
import type { Plan } from '../../quota/plan.js';
import { checkFiles } from '../../quota/files/pool-files.js';

const QUOTA = `[toml-schema]
version = "1"
[total_resources]
v4 = 32
[project_membership]
vision = ["alice", "ana"]
speech = ["bob"]
[project_resources.vision]
v4 = 0.5
[project_resources.speech]
v4 = 0.5
`;
const WAITING = [
  job('eval-1', 'speech', 'bob', '2026-11-21T13:55:00Z', 16),
  job('sweep-2', 'vision', 'alice', '2026-11-21T13:40:00Z', 8),
];
const LEASES = [
  {
    ...job('train-1', 'vision', 'alice', '2026-11-21T12:00:00Z', 16),
    priority: 2,
    startedAt: '2026-11-21T12:00:05Z',
    tier: 0,
  },
  { ...job('sweep-1', 'vision', 'ana', '2026-11-21T12:30:00Z', 8), startedAt: '2026-11-21T12:30:05Z', tier: 0 },
];

function job(id: string, project: string, user: string, submittedAt: string, v4: number) {
  return { id, project, user, priority: 3, submittedAt, resources: { v4 } };
}

/** As `quota plan --quota --state --pool --output json` makes it. */
function plan(waiting: readonly object[], leases: readonly object[], poolFile?: string): Plan {
  const parsed = parsePlanState(JSON.stringify({ now: '2026-11-21T14:00:00Z', waiting, leases }), 'state.json');
  assert.ok(parsed.ok);
  const files = checkFiles({
    quotaFile: { name: 'quota.toml', text: QUOTA },
    ...(poolFile === undefined ? {} : { poolFile: { name: 'pool.toml', text: poolFile } }),
  });
  assert.ok(files.ok);
  const { now, waiting: requests, leases: held } = parsed.state;
  return planOf({ config: files.config, requests, leases: held }, now);
}

/** The contract alone, without what is for programs beside it. */
const contract = ({ grants, preemptions, waiting }: Plan) => ({
  grants,
  preemptions,
  waiting: waiting.map(({ id, position, reasons }) => ({ id, position, reasons })),
});

describe('quota plan --state', () => {
  it('grants, preemptions with whom they are for, and who waits with every reason', () => {
    assert.deepEqual(contract(plan(WAITING, LEASES)), {
      grants: [],
      preemptions: [{ id: 'sweep-1', for: 'eval-1' }],
      waiting: [
        {
          id: 'eval-1',
          position: 1,
          reasons: [
            'the pool: 32 units (16 chips), 24 in use, 8 free: 8 short',
            '8 units (4 chips) are coming free for it (sweep-1 8)',
          ],
        },
        {
          id: 'sweep-2',
          position: 2,
          reasons: [
            "vision's quota: 16 nominal, 16 in use (train-1 16), so all 8 units (4 chips) would be borrowed",
            'the pool: 32 units (16 chips), 24 in use, 0 free for it: 8 short',
            '16 units (8 chips) wait for jobs that are in their own quota',
            '8 units (4 chips) are coming free (sweep-1 8)',
          ],
        },
      ],
    });
  });
  it('in an empty pool all that fits is granted, in tier 0', () => {
    assert.deepEqual(
      plan(WAITING, []).grants.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      [
        { id: 'eval-1', tier: 0 },
        { id: 'sweep-2', tier: 0 },
      ],
    );
  });
  it('the pool file counts: a minimum runtime protects the borrower until its end', () => {
    const { preemptions, waiting } = plan(WAITING, LEASES, '[quota]\nmin_runtime = "2h"\n');
    assert.deepEqual(preemptions, []);
    assert.equal(
      waiting[0]?.reasons.at(-1),
      'sweep-1 borrows its chips and may run until 2026-11-21T14:30:05.000Z at least (minimum runtime)',
    );
  });
  it('what can never fit waits with its reason, and does not stop the others', () => {
    const { grants, waiting } = plan([job('huge', 'vision', 'alice', '2026-11-21T13:00:00Z', 64), ...WAITING], []);
    assert.equal(grants.length, 2);
    assert.deepEqual(
      waiting.map(({ id, reasons }) => [id, ...reasons]),
      [['huge', 'the pool has 32 units (16 chips), 64 asked: it can never start there']],
    );
  });
  it('each reason stands as a code with its numbers too, in the same order', () => {
    for (const { reasons, details } of plan(WAITING, LEASES).waiting) assert.equal(reasons.length, details.length);
    assert.deepEqual(
      plan(WAITING, LEASES).waiting.map(({ details }) => details.map(({ code }) => code)),
      [
        ['short', 'draining'],
        ['over-nominal', 'short', 'claimed', 'draining'],
      ],
    );
  });
  it('does not depend on the order of its input', () => {
    assert.deepEqual(plan(WAITING.toReversed(), LEASES.toReversed()), plan(WAITING, LEASES));
  });
});

describe('docs/quota.md, "What if"', () => {
  const text = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

  it('its example is what quota plan prints', () => {
    const [, section = ''] = text('docs/quota.md').split('## What if: `quota plan`');
    const [, state = '', printed = ''] = section.split(/^```.*$/m).filter((_, index) => index !== 2);
    const parsed = parsePlanState(state, 'docs');
    assert.ok(parsed.ok);
    const files = checkFiles({ quotaFile: { name: 'examples/quota.toml', text: text('examples/quota.toml') } });
    assert.ok(files.ok);
    const { now, waiting: requests, leases } = parsed.state;
    const json = printed.slice(printed.indexOf('\n{'));
    assert.deepEqual(
      JSON.parse(json),
      JSON.parse(JSON.stringify(planOf({ config: files.config, requests, leases }, now))),
    );
  });
});
