import assert from 'node:assert/strict';
import { formatProblems } from '../../domain/problem.js';
import { DEFAULT_RULES } from '../../quota/quota-config.js';
import { checkFiles } from '../../quota/files/pool-files.js';
import type { CheckedFiles } from '../../quota/files/pool-files.js';
import { MEMBERS, SCHEMA } from './quota-files.js';

const QUOTA = `${SCHEMA}[[total_resources]]\nv4 = 64\n[[total_resources]]\nv4 = 32\n${MEMBERS}[project_resources.a]\nv4 = 0.5\n`;

const check = (poolFile: string, quotaFile: string | undefined = QUOTA): CheckedFiles =>
  checkFiles({
    ...(quotaFile !== '' && { quotaFile: { name: 'q.toml', text: quotaFile } }),
    poolFile: { name: 'p.toml', text: poolFile },
  });

function accepted(poolFile: string, quotaFile?: string): Extract<CheckedFiles, { ok: true }> {
  const checked = check(poolFile, quotaFile);
  assert.ok(checked.ok, checked.ok ? '' : formatProblems(checked.problems));
  return checked;
}

function problemsOf(poolFile: string, quotaFile?: string): readonly string[] {
  const checked = check(poolFile, quotaFile);
  return checked.ok ? ['accepted'] : formatProblems(checked.problems).split('\n');
}

function rulesOf(poolFile: string): unknown {
  const { config } = accepted(poolFile);
  return config.kind === 'limited' ? config.rules : undefined;
}

describe('rules of a pool file', () => {
  it('every key is read, over the defaults', () => {
    const text = `
[quota]
min_runtime = "20m"
aging = 1800
max_guarantee_delay = "1.5h"
asking_timeout = "90s"
cool_down = "5m"
cool_down_max = "1h"
require_project = true
admins = ["ann"]
[[tiers]]
pricing = "Reserved"
reservation = "team"
[[tiers]]
pricing = "spot"
[largest_slice.us-east5-a]
v4 = 32
v5e = 16
[borrowing_limits.A]
v4 = 16
[lending_limits.none]
v4 = 0
[tpu]
allocation_mode = "queued-resources"
`;
    assert.deepEqual(rulesOf(text), {
      tiers: [{ pricing: 'reserved', reservation: 'team' }, { pricing: 'spot' }],
      largestSlice: { 'us-east5-a': { v4: 32, v5litepod: 16 } },
      borrowingLimits: { a: { v4: 16 } },
      lendingLimits: { none: { v4: 0 } },
      minRuntimeMs: 1_200_000,
      agingMs: 1_800_000,
      maxGuaranteeDelayMs: 5_400_000,
      askingTimeoutMs: 90_000,
      coolDownMs: 300_000,
      coolDownMaxMs: 3_600_000,
      requireProject: true,
      admins: ['ann'],
    });
  });
  it('one that says nothing of quota leaves the rules to the defaults', () =>
    assert.equal(rulesOf('zones = ["us-east5-a"]\n'), undefined));
  it('a key alone leaves the others as they are', () =>
    assert.deepEqual(rulesOf('[quota]\naging = "2h"\n'), { ...DEFAULT_RULES, agingMs: 7_200_000 }));
  it('a tier with a reservation is one of pricing reserved; any is no rule', () =>
    assert.deepEqual(rulesOf('[[tiers]]\nreservation = "r"\n[[tiers]]\npricing = "any"\n'), {
      ...DEFAULT_RULES,
      tiers: [{ pricing: 'reserved', reservation: 'r' }, {}],
    }));
  it('a first cool-down above the greatest lifts that', () =>
    assert.deepEqual(rulesOf('[quota]\ncool_down = "6h"\n'), {
      ...DEFAULT_RULES,
      coolDownMs: 21_600_000,
      coolDownMaxMs: 21_600_000,
    }));

  const wrong: Record<string, { text: string; want: readonly string[] }> = {
    'a misspelt key': {
      text: '[quota]\nagin = "1h"\n',
      want: [
        'p.toml:2:1: agin: no such key in quota',
        '  did you mean aging?',
        '  known here: min_runtime, aging, max_guarantee_delay, asking_timeout, cool_down, cool_down_max,',
        '    require_project, admins',
      ],
    },
    'times that are none': {
      text: '[quota]\nmin_runtime = "10 minutes"\naging = -1\nasking_timeout = 0\nmax_guarantee_delay = "9999h"\n',
      want: [
        "p.toml:2:15: min_runtime: '10 minutes' is not a number of seconds or a duration such as 90s, 5m or 1h",
        'p.toml:3:9: aging: -1 is not a number of seconds or a duration such as 90s, 5m or 1h',
        'p.toml:4:18: asking_timeout: 0 is too short',
        '  a lease would come back before Google could answer; 15m without it',
        "p.toml:5:23: max_guarantee_delay: '9999h' is longer than a year",
        '  write 8760h or less, such as 24h',
      ],
    },
    'a greatest cool-down below the first': {
      text: '[quota]\ncool_down_max = "5m"\n',
      want: ["p.toml:2:17: cool_down_max: '5m' is less than cool_down, which is 15m"],
    },
    'a pricing that is none': {
      text: '[[tiers]]\npricing = "on-demnd"\n',
      want: [
        "p.toml:2:11: pricing: 'on-demnd' is not one of the allowed words",
        '  did you mean ondemand?',
        '  allowed: spot, ondemand, preemptible, reserved, flex-start, any',
      ],
    },
    'a reservation that is bought as spot': {
      text: '[[tiers]]\npricing = "spot"\nreservation = "r"\n',
      want: [
        'p.toml:3:15: reservation: a reservation is used with pricing reserved only, and pricing is spot',
        '  write pricing: reserved',
      ],
    },
    'a reservation of another zone': {
      text: 'zones = ["us-east5-a"]\n[[tiers]]\nreservation = "projects/owner-1/locations/us-east5-b/reservations/r"\n',
      want: [
        'p.toml:3:15: reservation: is of zone us-east5-b, and the job may run in zone us-east5-a',
        "  write zone: us-east5-b, or the reservation's name alone",
      ],
    },
    'more tiers than the pool has': {
      text: '[[tiers]]\n[[tiers]]\n[[tiers]]\npricing = "spot"\n',
      want: [
        'p.toml:3:3: tiers[2]: the quota file has 2 tiers ([[total_resources]]), and this is one more',
        '  one [[tiers]] for each, in the same order',
      ],
    },
    'a largest slice in a region': {
      text: '[largest_slice.us-east5]\nv4 = 3\n',
      want: [
        "p.toml:1:2: us-east5: 'us-east5' is no zone",
        '  us-east5 is a region: its zones end in a letter, such as us-east5-a',
      ],
    },
    'units that are none': {
      text: '[borrowing_limits.a]\nv4 = -1\n[lending_limits]\na = 3\n',
      want: [
        'p.toml:2:6: v4: -1 is not a whole number from 0 to 2147483647',
        'p.toml:4:5: a: 3 is not a table of units by type, such as v5litepod = 16',
      ],
    },
    'a project twice, a type twice': {
      text: '[borrowing_limits.a]\nv5e = 1\nv5litepod = 1\n[borrowing_limits.A]\nv4 = 1\n',
      want: [
        'p.toml:3:13: v5litepod: v5litepod is given twice',
        '  v5e is another name of v5litepod',
        "p.toml:4:2: A: 'A' and 'a' differ by case only",
        '  keep one',
      ],
    },
  };
  for (const [name, { text, want }] of Object.entries(wrong)) {
    it(`${name}: refused with place, value and what is allowed`, () => assert.deepEqual(problemsOf(text), want));
  }
});

describe('a pool file beside its quota file', () => {
  it('problems of both are shown together', () => {
    assert.deepEqual(
      problemsOf('zone = 1\n', 'x = \n').filter((line) => !line.startsWith(' ')),
      [
        'q.toml:1:5: not TOML: a value is missing, or text is not in quotes: key = "value"',
        'p.toml:1:1: zone: no such key in a pool file',
      ],
    );
  });
  it('names that the quota file lacks are warnings, with their place', () => {
    const text =
      '[borrowing_limits.b]\nv9 = 1\n[lending_limits.eval]\nv4 = 1\n[largest_slice.us-east5-a]\nv6e = 16\n[[tiers]]\nreservation = "r"\n';
    assert.deepEqual(accepted(text).warnings, [
      'p.toml:2:1: v9: the pool has no v9 (it has v4)',
      'p.toml:3:2: eval: the quota file has no such project',
      'p.toml:6:1: v6e: the pool has no v6e (it has v4)',
      'p.toml:8:15: reservation: jobs that ask without a queue take any reservation of their project: write [tpu] allocation_mode = "queued-resources"',
    ]);
  });
  it('a misspelt project gets the nearest word', () => {
    const quota = QUOTA.replace('B = ', 'research = ');
    assert.deepEqual(accepted('[borrowing_limits.reserch]\nv4 = 1\n', quota).warnings, [
      'p.toml:1:2: reserch: the quota file has no such project (did you mean research?)',
    ]);
  });
  it('without a quota file its rules have no effect, and it says so', () => {
    const { config, warnings } = accepted('zones = ["us-east5-a"]\n[quota]\naging = "1h"\n', '');
    assert.deepEqual(config, { kind: 'unlimited' });
    assert.deepEqual(warnings, [
      'p.toml:2:2: quota: there is no quota file: the pool is unlimited, and this has no effect',
    ]);
  });
  it('what both come to is plain JSON, with the defaults of jobs', () => {
    const { config, defaults } = accepted('google_project = "my-project"\n[quota]\naging = "1h"\n');
    assert.deepEqual(JSON.parse(JSON.stringify(config)), config);
    assert.deepEqual(defaults, { pool: 'default', file: 'p.toml', googleProject: 'my-project' });
  });
});
