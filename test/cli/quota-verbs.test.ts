import assert from 'node:assert/strict';
import { applyEffect, configDifference, renderApply } from '../../cli/commands/quota/apply-preview.js';
import { gauge, renderPool } from '../../cli/commands/verbs/quota-show.js';
import { lookOf } from '../../cli/terminal/render/look.js';
import { renderHistory, type ToldHistory } from '../../cli/commands/verbs/quota-history.js';
import { textWidth } from '../../cli/terminal/render/columns.js';
import { poolAccounts } from '../../quota/pool-accounts.js';
import type { PoolSnapshot } from '../../quota/published-state.js';
import { DEFAULT_RULES, type LimitedQuota, UNLIMITED } from '../../quota/quota-config.js';
import { busyPool, CONFIG, lease, MINUTE, request, snapshot } from './pools.js';
import { T0 } from './rows.js';

const PIPE = lookOf({}, { LANG: 'C.UTF-8' });
const show = (state: PoolSnapshot, look = PIPE): readonly string[] =>
  renderPool(state, poolAccounts(state.view), T0 + 2_000, look);

describe('jobctl quota show', () => {
  it('in a pipe: tiers, projects, reservations and cool-downs, without bars and colours', () => {
    assert.deepEqual(show(busyPool()), [
      'pool default',
      '  admission  open',
      '  files      applied by alice',
      '  jobs       4 with a lease (2 held, 1 asking, 1 draining), 2 waiting',
      '  as of      2s ago',
      '',
      '  TIER  TYPE       PRICING         UNITS    IN USE   DRAINING  FREE',
      "  1     v4         each job's own  64 (32)  56 (28)  8 (4)     8 (4)",
      "  2     v5litepod  each job's own  16       0        0         16",
      '',
      '  PROJECT  TYPE       NOMINAL  USED     BORROWED  LENT    DRAINING  WAITING',
      '  vision   v4         32 (16)  48 (24)  16 (8)    0       0         64 (32)',
      '  speech   v4         32 (16)  0        0         16 (8)  8 (4)     32 (16)',
      '  speech   v5litepod  16       0        0         0       0         0',
      '  in brackets: chips (v4 counted in cores, two a chip)',
      '  1 project without quota, use or demand: ads',
      '',
      '  RESERVED FOR  PROJECT  ASKS FOR  TIER  SINCE (UTC)       UNTIL (UTC)',
      '  big-6         vision   64 v4     1     2026-11-21 11:58  2026-11-21 12:58',
      '',
      '  COOLING DOWN   TYPE       TIER  NO CHIPS  FOR',
      '  us-central1-a  v5litepod  2     2 times   8m 58s',
    ]);
  });

  it('of a pool that is being rebuilt: the job it waits for stands first, and what the numbers are worth', () => {
    const rebuilding = { since: T0 - MINUTE, until: T0 + MINUTE, waitsFor: ['train-7f3k'], waitsForCount: 1 };
    const first = (more: object): string => show({ ...busyPool(), rebuilding: { ...rebuilding, ...more } })[1] ?? '';
    const [since, until] = ['since 2026-11-21 11:59 UTC: ', 'until 2026-11-21 12:01 UTC at most; nothing is granted'];
    const worth = ', and the numbers below are what it has heard so far';
    assert.equal(first({}), `  REBUILDING  ${since}waits for train-7f3k, ${until}${worth}`);
    assert.equal(first({ waitsForCount: 9 }), `  REBUILDING  ${since}waits for train-7f3k, 8 more, ${until}${worth}`);
    assert.equal(
      first({ waitsFor: [], waitsForCount: 0 }),
      `  REBUILDING  ${since}reads what is open, ${until}${worth}`,
    );
  });

  const terminal = (columns: number, env: Record<string, string>) =>
    show(busyPool(), lookOf({ isTTY: true, columns }, { NO_COLOR: '1', ...env }));
  const rowOf = (lines: readonly string[], start: string): string => lines.find((line) => line.startsWith(start)) ?? '';

  it('on a terminal each row has a bar, a whole one as long as the pool', () => {
    const lines = terminal(120, { LANG: 'C.UTF-8' });
    assert.equal(
      rowOf(lines, '  vision'),
      `  vision   v4         32 (16)  48 (24)  16 (8)    0       0         64 (32)  ${'█'.repeat(20)}${'▒'.repeat(10)}`,
    );
    assert.match(rowOf(lines, '  speech   v4 '), /\) {2}░{20}$/);
    assert.ok(lines.includes('  █ its own quota  ▒ borrowed  ░ nominal, not used; a whole bar is the pool'));
  });

  it('bars are ASCII where the locale is not UTF-8, and no line is wider than the terminal', () => {
    const lines = terminal(96, { LANG: 'C' });
    assert.match(rowOf(lines, '  vision'), /\) {2}#+\++$/);
    assert.deepEqual(
      lines.filter((line) => textWidth(line) > 96),
      [],
    );
  });

  it('where there is no room for bars there are none', () => {
    assert.match(rowOf(terminal(82, { LANG: 'C.UTF-8' }), '  vision'), /64 \(32\)$/);
  });

  it('says that it is frozen and why, and what is wrong with the files', () => {
    const problem = 'quota.toml:3:1: [total_resources] is missing';
    const lines = show(
      snapshot({}, { admission: 'frozen', admissionReason: 'maintenance', source: '/etc/q.toml', problem }),
    );
    assert.deepEqual(lines.slice(1, 4), [
      '  admission  FROZEN, nothing new is granted: maintenance',
      '  files      /etc/q.toml',
      `  problem    ${problem} (the files that were good last are in force)`,
    ]);
  });

  it('an unlimited pool has users and no quota', () => {
    assert.deepEqual(show(snapshot({ config: UNLIMITED, leases: [lease('a')] })).slice(1), [
      '  admission  open',
      '  files      no quota file: the pool is unlimited',
      '  jobs       1 with a lease (1 held), 0 waiting',
      '  as of      2s ago',
      '',
      '  PROJECT  TYPE  USED    DRAINING  WAITING',
      '  vision   v4    16 (8)  0         0',
      '  in brackets: chips (v4 counted in cores, two a chip)',
    ]);
  });
});

/** vision keeps 16 of 32, speech gets a second share, ads are gone, labs come. */
const CHANGED: LimitedQuota = {
  kind: 'limited',
  tiers: [{ v4: 32 }, { v5litepod: 16 }],
  projects: [
    { name: 'vision', shares: { v4: 0.5 }, nominal: [{ v4: 16 }, {}], members: ['alice', 'bob'] },
    {
      name: 'speech',
      shares: { v4: 0.25, v5litepod: 1 },
      nominal: [{ v4: 8 }, { v5litepod: 16 }],
      members: ['carol', 'c.*'],
    },
    { name: 'labs', shares: { v4: 0.25 }, nominal: [{ v4: 8 }, {}], members: [] },
  ],
  rules: { ...DEFAULT_RULES, minRuntimeMs: 30 * MINUTE, borrowingLimits: { labs: { v4: 8 } }, admins: ['root'] },
};

describe('a gauge', () => {
  const PLAIN = lookOf({}, {});
  const cases: Record<string, readonly [number, number, number, string]> = {
    'is as long as its parts are of the whole': [50, 30, 0, '#####+++'],
    'shows a part that is there with a column, however small': [1, 1, 90, '#+.......'],
    'is nothing where nothing is': [0, 0, 0, ''],
    'ends with the whole, where a pool was shrunk': [80, 80, 0, '########++'],
  };
  for (const [name, [own, borrowed, unused, want]] of Object.entries(cases))
    it(name, () => assert.equal(gauge({ own, borrowed, unused, whole: 100 }, 10, PLAIN), want));
});

describe('jobctl quota apply shows', () => {
  it('totals, projects with shares and members, limits and rules; nothing that stays', () => {
    assert.deepEqual(renderApply('default', configDifference(CONFIG, CHANGED), undefined), [
      'pool default: what changes',
      '  tier 1: v4               64              ->  32',
      '  project vision: v4       0.5 = 32 units  ->  0.5 = 16 units',
      '  project vision: members  alice           ->  alice bob',
      '  project speech: v4       0.5 = 32 units  ->  0.25 = 8 units',
      '  project labs             -               ->  there',
      '  project labs: v4         -               ->  0.25 = 8 units',
      '  project ads              there           ->  -',
      '  borrowing limit of labs  none            ->  8 v4',
      '  minimum runtime          10m             ->  30m',
      '  admins                   everybody       ->  root',
      '  it never ran: this starts it',
    ]);
    assert.deepEqual(configDifference(CONFIG, CONFIG), []);
  });

  it('a file that says what is in force, and a first file', () => {
    assert.deepEqual(renderApply('p', [], applyEffect(snapshot(), CONFIG)), [
      'pool p: the files say what is in force already',
      'nobody is preempted, nobody starts',
    ]);
    assert.equal(configDifference(UNLIMITED, CONFIG)[0]?.after, 'limited');
  });

  it('who would start, who never can, and where more is leased than there is', () => {
    const state = snapshot({
      leases: [lease('a'), lease('b'), lease('c')],
      requests: [request('tpu', { units: { v5litepod: 16 } }), request('big', { units: { v4: 64 } })],
    });
    assert.deepEqual(renderApply('p', [], applyEffect(state, CHANGED)).slice(1), [
      '1 job started at once',
      '  tpu  vision  alice  16 v5litepod',
      '1 job that can never start under it',
      '  big  vision  alice  64 v4',
      'tier 1 has 16 v4 less than are leased: nothing starts there until leases have ended',
    ]);
  });

  it('no more than 20 jobs of a kind, and how many there are', () => {
    const requests = Array.from({ length: 30 }, (_, index) => request(`big-${index}`, { units: { v4: 64 } }));
    const lines = renderApply('p', [], applyEffect(snapshot({ requests, isFrozen: true }), CHANGED));
    assert.deepEqual([lines[2], lines.at(-1)], ['30 jobs that can never start under it', '  .. and 10 more']);
  });
});

describe('jobctl quota history', () => {
  const HOUR = 60 * MINUTE;
  const story = { job: 'train-1', lease: 1, project: 'vision', user: 'alice', tier: 0, units: { v4: 16 } };
  const told: ToldHistory = {
    pool: 'default',
    window: { from: T0 - 24 * HOUR, to: T0 },
    leases: [
      { ...story, heldMs: 90 * MINUTE, freedAt: T0 - HOUR },
      {
        ...story,
        job: 'sweep-3',
        grantedAt: T0 - 2 * HOUR,
        heldMs: HOUR,
        freedAt: T0 - 50 * MINUTE,
        revokedAt: T0 - HOUR,
      },
      { ...story, job: 'tune-5', grantedAt: T0 - HOUR, heldMs: 59 * MINUTE, revokedAt: T0 - MINUTE },
      { ...story, job: 'eval-4', grantedAt: T0 - MINUTE, heldMs: 0 },
    ],
    usage: [
      { project: 'vision', user: 'alice', type: 'v4', leases: 4, preempted: 2, unitHours: 55.7, chipHours: 27.87 },
      { project: 'vision', user: 'alice', type: 'x', leases: 1, preempted: 0, unitHours: 0.5 },
    ],
    calls: [{ at: T0 - HOUR, kind: 'applied', by: 'root', reason: 'quota.toml' }],
    gaps: ['2 leases not ended: counted until now'],
  };

  it('who got what when, chip-hours, what people did, and what it cannot know', () => {
    assert.deepEqual(renderHistory(told, 50), [
      'pool default, 2026-11-20 12:00 to 2026-11-21 12:00 UTC: 4 leases',
      '',
      '  GRANTED (UTC)     JOB      PROJECT  USER   UNITS  TIER  HELD    END (UTC)',
      '  before            train-1  vision   alice  16 v4  1     1h 30m  2026-11-21 11:00',
      '  2026-11-21 10:00  sweep-3  vision   alice  16 v4  1     1h 00m  2026-11-21 11:10, preempted by quota',
      '  2026-11-21 11:00  tune-5   vision   alice  16 v4  1     59m     asked back 1m 00s ago',
      '  2026-11-21 11:59  eval-4   vision   alice  16 v4  1     0s      -',
      '',
      '  PROJECT  USER   TYPE  LEASES  PREEMPTED  UNIT-HOURS  CHIP-HOURS',
      '  vision   alice  v4    4       2          55.7        27.9',
      '  vision   alice  x     1       0          0.500       -',
      '',
      '  AT (UTC)          BY    CALL     WHAT',
      '  2026-11-21 11:00  root  applied  quota.toml',
      '',
      '  2 leases not ended: counted until now',
    ]);
  });

  it('the latest leases where there are more than are wanted', () => {
    const lines = renderHistory(told, 1);
    assert.match(lines[3] ?? '', /eval-4/);
    assert.equal(lines[4], '  .. 3 leases before: --limit shows more');
  });

  it('says that there is nothing', () => {
    assert.deepEqual(renderHistory({ ...told, leases: [], usage: [], calls: [], gaps: [] }, 50), [
      'pool default, 2026-11-20 12:00 to 2026-11-21 12:00 UTC: 0 leases',
    ]);
  });
});
