import assert from 'node:assert/strict';
import type { PoolDefaults } from '../../domain/job-file/pool-defaults.js';
import { parseJobFile } from '../../domain/job-file/parse.js';
import { type ResolveOptions, resolveJob } from '../../domain/job-file/resolve.js';
import { askedMachines } from '../../domain/machines.js';
import { formatProblems } from '../../domain/problem.js';
import { parsePoolFile } from '../../quota/files/pool-file.js';

function poolOf(text: string): PoolDefaults {
  const parsed = parsePoolFile(text, 'pool.toml', 'research');
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return parsed.defaults;
}
const job = (tpu: object) => ({ pool: 'research', tpu: { accelerator: 'v6e-8', ...tpu }, command: { run: 'true' } });
const resolved = (tpu: object, options: ResolveOptions = {}) => resolveJob(job(tpu), options);
const refusal = (tpu: object, options: ResolveOptions = {}): string => {
  const result = resolved(tpu, options);
  return result.ok ? 'taken' : formatProblems(result.problems);
};
function zonesOf(tpu: object, pool: string): readonly string[] {
  const result = resolved(tpu, { pool: poolOf(pool) });
  assert.ok(result.ok, JSON.stringify(result));
  return askedMachines(result.spec).zones;
}

const FIVE = 'zones = ["us-west4-a", "us-east5-a", "us-east1-d", "us-central1-b", "us-central1-a"]\n';

describe('zones: any', () => {
  it('is every zone of the pool that has the type, in the order of its file', () =>
    assert.deepEqual(zonesOf({ zones: 'any' }, FIVE), ['us-east5-a', 'us-east1-d', 'us-central1-b']));

  it('is of the job alone: a list goes on as it is written, and has no mark', () => {
    const result = resolved({ zones: ['us-east5-a', 'us-west4-a'] }, { pool: poolOf(FIVE) });
    assert.ok(result.ok);
    assert.deepEqual(askedMachines(result.spec).zones, ['us-east5-a', 'us-west4-a']);
    assert.doesNotMatch(JSON.stringify(result.spec), /anyZone/);
    const any = resolved({ zones: 'any' }, { pool: poolOf(FIVE) });
    assert.ok(any.ok && askedMachines(any.spec).isAnyZone);
  });

  it('has no zones until its pool is known', () => {
    const result = resolved({ zones: 'any' });
    assert.ok(result.ok);
    assert.deepEqual(askedMachines(result.spec).zones, []);
    assert.deepEqual(result.warnings, []);
  });

  const bounds: Record<string, readonly [string, readonly string[]]> = {
    'a zone of [largest_slice] counts too': [
      `${FIVE}[largest_slice.us-east5-b]\nv6e = 256\n`,
      ['us-east5-a', 'us-east1-d', 'us-central1-b', 'us-east5-b'],
    ],
    'the pool says that a zone has the type': [
      `zones = ["us-west4-a"]\n[largest_slice.us-west4-a]\nv6e = 8\n`,
      ['us-west4-a'],
    ],
    'a zone that holds no slice of this size is none': [
      `${FIVE}[largest_slice.us-east5-a]\nv6e = 4\n`,
      ['us-east1-d', 'us-central1-b'],
    ],
    'a zone of which nothing is known is asked': ['zones = ["us-east6-a"]', ['us-east6-a']],
  };
  for (const [name, [pool, want]] of Object.entries(bounds))
    it(name, () => assert.deepEqual(zonesOf({ zones: 'any' }, pool), want));

  const wrong: Record<string, readonly [object, ResolveOptions, RegExp]> = {
    'in a pool without a pool file': [
      { zones: 'any' },
      { pool: { pool: 'research' } },
      /tpu\.zones: means every zone of the pool, and pool 'research' has no pool file\n {2}list them: zones: \[us-central1-b, us-east1-d, us-east5-a\]; or, for all jobs/,
    ],
    'in a pool whose file names none: what it has, and what to do': [
      { zones: 'any' },
      { pool: poolOf('google_project = "p-of-mine"\n[tpu]\npricing = "spot"\n') },
      /means every zone of the pool, and pool\.toml, the file of pool 'research', names none: it has google_project and \[tpu\] with pricing\n {2}list them/,
    ],
    'where no zone of the pool has the type: which have it': [
      { zones: 'any' },
      { pool: poolOf('zones = ["us-west4-a", "us-central1-a"]') },
      /no zone of pool 'research' has v6e-8: its zones are us-west4-a, us-central1-a\n {2}v6e is in us-central1-b, us-east1-d.*\n {2}take another type, or let pool\.toml have one/,
    ],
    'beside zone': [{ zone: 'us-east5-a', zones: 'any' }, {}, /zone and zones are both given/],
    'as zone': [{ zone: 'any' }, {}, /tpu\.zone: 'any' is no zone\n {2}in a job's tpu any stands alone: zones: any/],
    'in a list': [
      { zones: ['us-east5-a', 'any'] },
      {},
      /tpu\.zones\[1\]: 'any' is no zone\n {2}in a job's tpu any stands alone/,
    ],
    'by another word': [
      { zones: 'all' },
      {},
      /tpu\.zones: 'all' is not one of the allowed words|tpu\.zones: 'all' is not a list of zones, or any/,
    ],
  };
  for (const [name, [tpu, options, want]] of Object.entries(wrong))
    it(`${name} is refused`, () => assert.match(refusal(tpu, options), want));

  it('of other machines says that it is for tpu', () => {
    const result = resolveJob(
      { compute_engine: { machine_type: 'g2-standard-8', zones: 'any' }, command: { run: 'true' } },
      { pool: poolOf(FIVE) },
    );
    assert.match(
      result.ok ? 'taken' : formatProblems(result.problems),
      /compute_engine\.zones: any is for tpu: .*\n {2}list them: zones: \[/,
    );
  });

  it('in a pool file is no list of zones', () => {
    for (const text of ['zones = "any"', 'zones = ["any"]']) {
      const parsed = parsePoolFile(text, 'pool.toml', 'research');
      assert.match(
        parsed.ok ? 'taken' : formatProblems(parsed.problems),
        /pool\.toml:1:\d+: zones.*(no zone|not a list)/,
      );
    }
  });

  it('by --zone takes the place of whatever the file says', () => {
    for (const written of ['zone: us-east5-a', 'zones: [us-east5-a]', 'pricing: spot']) {
      const parsed = parseJobFile(`tpu: {accelerator: v6e-8, ${written}}\ncommand: {run: 'true'}\n`, {
        file: 'job.yaml',
        env: {},
        overrides: { zone: 'any' },
      });
      assert.ok(parsed.ok, JSON.stringify(parsed));
      assert.ok(askedMachines(parsed.spec).isAnyZone, written);
    }
  });
});

describe('a list of zones none of which has the type', () => {
  it('is taken as it stands, with a warning that says which have it', () => {
    for (const tpu of [{ zone: 'us-west4-a' }, { zones: ['us-west4-a', 'us-central1-a'] }]) {
      const result = resolved(tpu, { pool: { pool: 'research' } });
      assert.ok(result.ok);
      assert.match(
        result.warnings.join('\n'),
        /tpu\.zones?: .*not known to have v6e-8; v6e is in us-central1-b, |tpu\.zones: none of us-west4-a, us-central1-a is known to have v6e-8/,
      );
    }
  });

  it('has no warning if one of them has it, or nothing is known of one', () => {
    for (const zones of [
      ['us-west4-a', 'us-east5-a'],
      ['us-west4-a', 'us-central1-f'],
    ]) {
      const result = resolved({ zones }, { pool: { pool: 'research' } });
      assert.deepEqual(result.ok && result.warnings, []);
    }
  });
});
