import assert from 'node:assert/strict';
import { explain, Explainer, explainWaiting } from '../../quota/explain.js';
import { dueText, ordinal, plainWording, reasonText } from '../../quota/explanation/explain-words.js';
import {
  DEFAULT_RULES,
  NO_MEMORY,
  UNLIMITED,
  type LimitedQuota,
  type Pool,
  type PoolRules,
} from '../../quota/quota-config.js';
import { remedies } from '../../quota/explanation/why-waiting.js';
import { lease, pool, project, request } from './builders.js';

const MINUTE = 60_000;
const NOW = Date.parse('2026-11-21T14:00:00Z');
const ago = (minutes: number): number => NOW - minutes * MINUTE;
const config = pool({ v4: 32 }, project('a', { v4: 16 }), project('b', { v4: 16 }));
const withRules = (rules: Partial<PoolRules>, of = config): LimitedQuota =>
  ({ ...of, rules: { ...DEFAULT_RULES, ...rules } }) as LimitedQuota;
const held = { startedAt: ago(90) };
const mine = request('j', { v4: 16 }, { project: 'a', submittedAt: ago(5) });
const large = { ...mine, units: { v4: 24 } };
const other = request('k', { v4: 8 }, { submittedAt: ago(3) });
const coolDown = { type: 'v4', tier: 0, zone: 'us-central2-b', failures: 1, until: ago(-7) };
const both = [{ v4: 16 }, { v4: 16 }];
const halves = pool([{ v4: 32 }, { v4: 32 }], project('a', both), project('b', both));
const tiers = withRules(
  { tiers: [{ pricing: 'reserved' }, { pricing: 'spot' }] },
  pool([{ v4: 16 }, { v4: 32 }], project('a', [{ v4: 8 }, { v4: 16 }])),
);

/** Reasons, then times by rule, of one job. */
function said(view: Pool, id = 'j'): readonly string[] {
  const why = explain(view, NOW, id);
  assert.ok(why, `${id} waits`);
  const words = { ...plainWording(view.config), timeOf: (at: number) => new Date(at).toISOString().slice(11, 16) };
  return [...why.reasons.map((reason) => reasonText(reason, why, words)), ...why.due.map((due) => dueText(due, words))];
}

describe('quota: why a job waits (rule 9)', () => {
  const full = '32 units (16 chips), 32 in use, 0 free';
  const cases: Record<string, { view: Pool; id?: string; want: readonly string[] }> = {
    'a frozen pool': {
      view: { config, requests: [mine], leases: [], isFrozen: true },
      want: ['the pool is frozen: nothing new is granted, nothing that runs is touched'],
    },
    'a demand larger than the pool': {
      view: { config, requests: [{ ...mine, units: { v4: 64 } }], leases: [] },
      want: ['the pool has 32 units (16 chips), 64 asked: it can never start there'],
    },
    'a type that the pool has not': {
      view: { config, requests: [{ ...mine, units: { v6e: 8 } }], leases: [] },
      want: ['the pool has no v6e: it can never start there'],
    },
    'over nominal quota of several tiers together': {
      view: {
        config: halves,
        requests: [{ ...mine, units: { v4: 32 } }],
        leases: [lease('x', { v4: 16 }, { project: 'a', ...held }), lease('y', { v4: 32 }, { ...held, tier: 1 })],
      },
      want: [
        "a's quota in tiers 1 and 2: 32 nominal, 16 in use (x 16), so all 32 units (16 chips) would be borrowed",
        'tier 1 of the pool: 32 units (16 chips), 16 in use, 16 free: 16 short',
        'tier 2 of the pool: 32 units (16 chips), 32 in use, 0 free: 32 short',
        'jobs without a project use 32 borrowed in tier 2; a borrower is not preempted for a borrower',
        'chips that come free are kept for it from 14:55, if not for an older job',
      ],
    },
    'covered by its quota, and crowded out of both tiers': {
      view: {
        config: halves,
        requests: [{ ...mine, units: { v4: 24 } }],
        leases: [
          lease('x', { v4: 16 }, { project: 'b', ...held }),
          lease('y', { v4: 16 }, { project: 'b', ...held, tier: 1 }),
          lease('z', { v4: 16 }, { ...held, tier: 1 }),
        ],
      },
      want: [
        'tier 1 of the pool: 32 units (16 chips), 16 in use, 16 free: 8 short',
        "tier 1 of the pool: a's quota covers it, but jobs within theirs have 16 of 32 units (16 chips) and are not preempted",
        'tier 2 of the pool: 32 units (16 chips), 32 in use, 0 free: 24 short',
        "tier 2 of the pool: a's quota covers it, but jobs within theirs have 16 of 32 units (16 chips) and are not preempted",
        'chips that come free are kept for it from 14:55, if not for an older job',
      ],
    },
    'in quota: a borrower is told to go': {
      view: { config, requests: [mine], leases: [lease('x', { v4: 32 }, { project: 'b', ...held })] },
      want: [`the pool: ${full}: 16 short`, '32 units (16 chips) are coming free for it (x 32)'],
    },
    'in quota: the borrower is young': {
      view: { config, requests: [mine], leases: [lease('x', { v4: 32 }, { project: 'b', startedAt: ago(2) })] },
      want: [
        `the pool: ${full}: 16 short`,
        'x borrows its chips and may run until 14:08 at least (minimum runtime)',
        'job x can be preempted for it from 14:08, and leaves within its grace',
      ],
    },
    'best effort behind in-quota demand': {
      view: { config, requests: [mine, other], leases: [lease('x', { v4: 32 }, { project: 'b', ...held })] },
      id: 'k',
      want: [
        'a job without a project has no nominal quota of v4: all 8 units (4 chips) would be borrowed',
        `the pool: ${full}: 8 short`,
        '16 units (8 chips) wait for jobs that are in their own quota',
        '32 units (16 chips) are coming free (x 32)',
        'chips that come free are kept for it from 14:57, if not for an older job',
      ],
    },
    'a borrowing limit': {
      view: { config: withRules({ borrowingLimits: { a: { v4: 8 } } }), requests: [large], leases: [] },
      want: [
        "a's quota: 16 nominal, less than it asks, so all 24 units (12 chips) would be borrowed",
        'a may borrow 8 units (4 chips) and borrows 0: 24 more are over its limit',
      ],
    },
    'a lending limit': {
      view: { config: withRules({ lendingLimits: { b: { v4: 4 } } }), requests: [large], leases: [] },
      want: [
        "a's quota: 16 nominal, less than it asks, so all 24 units (12 chips) would be borrowed",
        '12 units (6 chips) stay free for projects that do not lend them',
      ],
    },
    'a zone that cools down': {
      view: {
        config,
        requests: [{ ...mine, zones: ['us-central2-b'] }],
        leases: [lease('x', { v4: 32 }, { project: 'b', ...held })],
        memory: { ...NO_MEMORY, coolDowns: [coolDown] },
      },
      want: [
        'us-central2-b had no chips lately: asked again from 14:07',
        `the pool: ${full}: 16 short`,
        'its zones are asked again from 14:07',
      ],
    },
    'its own reservation: what has collected is not short any more': {
      view: {
        config,
        requests: [{ ...large, submittedAt: ago(70) }],
        leases: [lease('x', { v4: 16 }, { project: 'b', ...held })],
      },
      want: [
        "a's quota: 16 nominal, less than it asks, so all 24 units (12 chips) would be borrowed",
        'the pool: 32 units (16 chips), 16 in use, 16 free: 8 short',
        'it has a reservation since 14:00: chips that come free collect for it until 15:00',
      ],
    },
    "another's reservation": {
      view: {
        config,
        requests: [{ ...large, submittedAt: ago(70) }, other],
        leases: [lease('x', { v4: 16 }, { project: 'b', ...held })],
      },
      id: 'k',
      want: [
        'a job without a project has no nominal quota of v4: all 8 units (4 chips) would be borrowed',
        'the pool: 32 units (16 chips), 16 in use, 0 free for it: 8 short',
        '16 units (8 chips) collect for j, which waited long and has a reservation since 14:00',
        'chips that come free are kept for it from 14:57, if not for an older job',
      ],
    },
    'in quota, held back by a reservation': {
      view: {
        config,
        requests: [
          { ...large, submittedAt: ago(70) },
          { ...other, project: 'b', units: { v4: 16 } },
        ],
        leases: [lease('x', { v4: 16 }, { project: 'a', ...held })],
        memory: { ...NO_MEMORY, reservations: [{ id: 'j', tier: 0, madeAt: ago(10) }] },
      },
      id: 'k',
      want: [
        'the pool: 32 units (16 chips), 16 in use, 0 free for it: 16 short',
        '16 units (8 chips) collect for j, which waited long and has a reservation since 13:50',
        'its chips collect for j, which waited long: until 15:00 at most',
        'it is held back until 15:00 at most',
      ],
    },
    'a lease that has no chips yet': {
      view: {
        config,
        requests: [large],
        leases: [lease('x', { v4: 16 }, { startedAt: ago(3), state: 'asking', project: 'b' })],
      },
      want: [
        "a's quota: 16 nominal, less than it asks, so all 24 units (12 chips) would be borrowed",
        'the pool: 32 units (16 chips), 16 in use, 16 free: 8 short',
        'job x has no chips yet and gives its place back at 14:12',
        'chips that come free are kept for it from 14:55, if not for an older job',
      ],
    },
    'tiers of other pricing': {
      view: {
        config: tiers,
        requests: [{ ...large, pricing: 'spot' }],
        leases: [lease('x', { v4: 24 }, { tier: 1, ...held })],
      },
      want: [
        "a's quota in tier 2: 16 nominal, less than it asks, so all 24 units (12 chips) would be borrowed",
        'tier 1 of the pool is bought as reserved, the job wants spot',
        'tier 2 of the pool: 32 units (16 chips), 24 in use, 8 free: 16 short',
        'jobs without a project use 24 borrowed in tier 2; a borrower is not preempted for a borrower',
        'chips that come free are kept for it from 14:55, if not for an older job',
      ],
    },
  };
  for (const [name, { view, id, want }] of Object.entries(cases))
    it(name, () => assert.deepEqual(said(view, id), want));

  it('who is granted has no reason; who does not wait is not explained', () => {
    const view = { config, requests: [mine], leases: [] };
    assert.deepEqual(explain(view, NOW, 'j')?.reasons, []);
    assert.equal(explainWaiting(view, NOW, 'j'), 'it starts now');
    assert.equal(explain(view, NOW, 'nobody'), undefined);
    assert.equal(explainWaiting(view, NOW, 'nobody'), undefined);
    assert.equal(
      explainWaiting(
        { ...view, requests: [large], leases: [lease('x', { v4: 16 }, { project: 'b', ...held })] },
        NOW,
        'j',
      ),
      '8 more units (4 chips): a has 16 nominal, the pool has 16 free',
    );
    assert.deepEqual(explain({ ...view, config: UNLIMITED }, NOW, 'j')?.reasons, []);
    assert.deepEqual(explain({ ...view, config: UNLIMITED, isFrozen: true }, NOW, 'j')?.reasons, [{ code: 'frozen' }]);
  });
});

describe('quota: why a job waits, in a team like ours', () => {
  const teams = pool({ v5litepod: 128 }, project('vision', { v5litepod: 32 }), project('speech', { v5litepod: 32 }));
  const leases = [
    lease('train-7f3k', { v5litepod: 16 }, { project: 'vision', startedAt: ago(90) }),
    lease('tune-3b', { v5litepod: 16 }, { project: 'vision', startedAt: ago(80) }),
    lease('asr', { v5litepod: 16 }, { project: 'speech', startedAt: ago(100) }),
    lease('eval-11', { v5litepod: 48 }, { project: 'speech', startedAt: ago(70) }),
  ];
  const sweep = request('sweep-0q1d', { v5litepod: 64 }, { project: 'vision', submittedAt: ago(20) });
  const tune = request('tune-9c', { v5litepod: 64 }, { project: 'vision', submittedAt: ago(40), user: 'alice' });
  const view = { config: teams, requests: [sweep, tune], leases };

  it('position, who is before it, every reason, who has the chips, and when a rule helps', () => {
    const why = explain(view, NOW, 'sweep-0q1d');
    assert.deepEqual([why?.position, why?.of, why?.behind, why?.isInQuota], [2, 2, 'tune-9c', false]);
    assert.deepEqual(said(view, 'sweep-0q1d'), [
      "vision's quota: 32 nominal, 32 in use (train-7f3k 16, tune-3b 16), so all 64 chips would be borrowed",
      'the pool: 128 chips, 96 in use, 32 free: 32 short',
      'speech uses 48 borrowed; a borrower is not preempted for a borrower',
      'chips that come free are kept for it from 14:40, if not for an older job',
    ]);
    assert.deepEqual(why?.holders.slice(0, 2), [
      { id: 'eval-11', project: 'speech', units: 48 },
      { id: 'asr', project: 'speech', units: 16 },
    ]);
    assert.equal(
      explainWaiting(view, NOW, 'sweep-0q1d'),
      '32 more chips: vision has its 32 nominal in use, the pool has 32 free',
    );
  });

  it('the first in line is told which end would do, the second with which priority it would be first', () => {
    const remediesOf = (id: string) => {
      const why = explain(view, NOW, id);
      assert.ok(why);
      return remedies(view, NOW, why);
    };
    assert.deepEqual(remediesOf('tune-9c'), [
      { kind: 'one-ends', type: 'v5litepod', of: [{ id: 'eval-11', project: 'speech', units: 48 }] },
    ]);
    assert.deepEqual(remediesOf('sweep-0q1d'), [{ kind: 'priority', priority: 2, position: 1, starts: false }]);
  });

  it('where no single end would do, the fewest together are named, and none that is not needed', () => {
    const whole = { ...view, requests: [{ ...tune, units: { v5litepod: 100 } }] };
    const why = explain(whole, NOW, 'tune-9c');
    assert.ok(why);
    const [remedy] = remedies(whole, NOW, why);
    assert.ok(remedy?.kind === 'all-end');
    assert.deepEqual(
      remedy.of.map(({ id }) => id),
      ['eval-11', 'tune-3b', 'train-7f3k'],
    );
  });

  it('an end that frees exactly what is short would do', () => {
    const exact = { ...view, requests: [{ ...tune, units: { v5litepod: 80 } }] };
    const why = explain(exact, NOW, 'tune-9c');
    assert.ok(why);
    assert.deepEqual(
      why.reasons.flatMap((reason) => (reason.code === 'short' ? [reason.short] : [])),
      [48],
    );
    assert.deepEqual(remedies(exact, NOW, why)[0], {
      kind: 'one-ends',
      type: 'v5litepod',
      of: [{ id: 'eval-11', project: 'speech', units: 48 }],
    });
  });

  it('a time that is over is not told: it aged long ago, and an older one has the reservation', () => {
    const aged = {
      ...view,
      requests: [
        { ...sweep, submittedAt: ago(70) },
        { ...tune, submittedAt: ago(80) },
      ],
    };
    assert.deepEqual(explain(aged, NOW, 'sweep-0q1d')?.due, []);
  });

  it('one explainer explains all of them by one pass', () => {
    const explainer = new Explainer(view, NOW);
    assert.deepEqual(
      explainer.pass.line.map(({ id }) => explainer.sentenceOf(id)?.slice(0, 13)),
      ['32 more chips', '32 more chips'],
    );
  });
});

it('ordinals are English', () => {
  assert.deepEqual([1, 2, 3, 4, 11, 12, 13, 21, 22, 101, 111].map(ordinal), [
    '1st',
    '2nd',
    '3rd',
    '4th',
    '11th',
    '12th',
    '13th',
    '21st',
    '22nd',
    '101st',
    '111th',
  ]);
});
