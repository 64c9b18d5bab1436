import assert from 'node:assert/strict';
import { readArguments } from '../../chaos/arguments.js';
import { Draws } from '../../chaos/random.js';
import { drawFamilies } from '../../chaos/stack/families.js';
import { drawJobs } from '../../chaos/stack/jobs.js';
import { deedKinds, planDeeds } from '../../chaos/stack/plan.js';
import { TIERS } from '../../chaos/stack/tier.js';
import { memberOf } from '../../domain/array/members.js';
import { resolveJob } from '../../domain/job-file/resolve.js';

/** As runSeed draws them. */
const kindsOf = (seed: number): readonly string[] =>
  planDeeds(new Draws(seed).part(2), seed, 1_000).map(({ kind }) => kind);

describe('what a seed of chaos draws', () => {
  it('is the same for the same seed, and another for another', () => {
    assert.deepEqual(kindsOf(7), kindsOf(7));
    assert.notDeepEqual(kindsOf(7), kindsOf(8));
  });

  it('meets every kind of deed in fifteen seeds that follow one another', () => {
    const met = new Set(Array.from({ length: 15 }, (_, index) => kindsOf(index + 1)).flat());
    assert.deepEqual(
      deedKinds().filter((kind) => !met.has(kind)),
      [],
    );
  });

  it('has jobs of one kind, and no deed that wants another, if it is asked for', () => {
    const jobs = drawJobs(new Draws(3), { seed: 3, count: 9, tier: TIERS.stack, port: 1, kind: 'machines' });
    assert.ok(jobs.every(({ file }) => 'machines' in file));
    const kinds = planDeeds(new Draws(3), 3, 1_000, 'machines').map(({ kind }) => kind);
    assert.deepEqual(
      kinds.filter((kind) => !deedKinds('machines').includes(kind)),
      [],
    );
    for (const other of ['a VM is STOPPING', 'a pod is evicted', 'a node is TERMINATED', 'a zone has no capacity'])
      assert.ok(!deedKinds('machines').includes(other) && deedKinds().includes(other), other);
  });

  it('has a machine and a VM in the small seeds that each run of .ci/run plays', () => {
    const drawn = [1, 2].flatMap((seed) =>
      drawJobs(new Draws(seed).part(1), { seed, count: 4, tier: TIERS.stack, port: 1 }),
    );
    for (const section of ['tpu', 'kubernetes', 'compute_engine', 'machines'])
      assert.ok(
        drawn.some(({ file }) => section in file),
        section,
      );
  });

  it('is made of jobs that are valid', () => {
    const jobs = drawJobs(new Draws(3), { seed: 3, count: 50, tier: TIERS.stack, port: 1 });
    for (const { id, file } of jobs) {
      const resolved = resolveJob(file);
      assert.ok(resolved.ok, `${id}: ${JSON.stringify(resolved)}`);
    }
    assert.equal(new Set(jobs.map(({ id }) => id)).size, 50);
  });
});

describe('a chain and a sweep of a seed', () => {
  const of = { tier: TIERS.stack, port: 1, hook: 'http://127.0.0.1:1/jobs' };
  const familiesOf = (seed: number, count: number) =>
    drawFamilies(
      new Draws(seed).part(5),
      { ...of, seed, count },
      drawJobs(new Draws(seed).part(1), { ...of, seed, count: 3 }),
    );

  it('are valid files, whose jobs wait for each other and tell their events', () => {
    const kinds = new Set<string>();
    for (let seed = 1; seed <= 20; seed++) {
      const { jobs, groups } = familiesOf(seed, 20);
      assert.deepEqual(
        groups.map(({ id }) => id),
        [`c${seed}-mid`, `c${seed}-sweep`],
      );
      assert.deepEqual([groups[0]?.after?.of, jobs[0]?.after?.of], [`c${seed}-0`, `c${seed}-mid`]);
      for (const { file, size, maxParallel, isFailFast } of groups) {
        const member = memberOf(file, size - 1);
        assert.ok(member.ok && resolveJob(member.file).ok, JSON.stringify(member));
        kinds.add(`${maxParallel === undefined ? 'all' : 'some'} at once, fail_fast ${isFailFast === true}`);
      }
      for (const { file } of jobs) assert.ok(resolveJob(file).ok, JSON.stringify(resolveJob(file)));
      for (const { file } of [...jobs, ...groups]) assert.ok('notify' in file);
    }
    assert.equal(kinds.size, 4, [...kinds].join('; '));
  });

  it('are a chain with a group of two in a small seed', () => {
    const { jobs, groups } = familiesOf(1, 4);
    assert.deepEqual([jobs.length, groups.map(({ size }) => size)], [1, [2]]);
  });
});

describe('the arguments of chaos', () => {
  it('are a tier and seeds', () => {
    assert.deepEqual(readArguments(['--tier', 'stack', '--seeds', '3..9', '--output', 'json']), {
      ...{ tier: 'stack', seeds: { first: 3, last: 9 }, jobs: 20, isJson: true, isKept: false },
    });
    assert.deepEqual(readArguments(['--tier', 'full', '--seeds', '4', '--jobs', '2', '--at-once', '3']), {
      ...{ tier: 'full', seeds: { first: 4, last: 4 }, jobs: 2, atOnce: 3, isJson: false, isKept: false },
    });
  });

  it('may have one kind of job', () => {
    assert.deepEqual(readArguments(['--tier', 'stack', '--seeds', '3', '--of', 'vms']), {
      ...{ tier: 'stack', seeds: { first: 3, last: 3 }, jobs: 20, kind: 'vms', isJson: false, isKept: false },
    });
  });

  it('or a sweep, and its points', () => {
    assert.deepEqual(readArguments(['--sweep', 'real', '--points', '7..9', '--api-down', '--keep']), {
      ...{ sweep: 'real', points: { first: 7, last: 9 }, isApiDown: true, isJson: false, isKept: true },
    });
  });

  const WRONG: Readonly<Record<string, readonly [argv: readonly string[], said: RegExp]>> = {
    'no tier': [['--seeds', '1..2'], /--tier is missing: wanted model, stack or full/u],
    'another tier': [['--tier', 'x', '--seeds', '1..2'], /--tier x: wanted/u],
    'no seeds': [['--tier', 'model'], /--seeds is missing: wanted A\.\.B/u],
    'seeds that fall': [['--tier', 'model', '--seeds', '3..2'], /--seeds 3\.\.2: wanted/u],
    'a seed too great': [['--tier', 'model', '--seeds', '9999999999'], /--seeds 9999999999: wanted/u],
    'no jobs': [['--tier', 'stack', '--seeds', '1', '--jobs', '0'], /--jobs 0: wanted/u],
    'no stack at once': [['--tier', 'stack', '--seeds', '1', '--at-once', 'x'], /--at-once x: wanted/u],
    'another output': [['--tier', 'stack', '--seeds', '1', '--output', 'xml'], /--output xml: wanted text or json/u],
    'another sweep': [['--sweep', 'x'], /--sweep x: wanted model or real/u],
    'a sweep and a tier': [['--sweep', 'model', '--tier', 'model'], /wanted one of them/u],
    'jobs of a sweep': [['--sweep', 'real', '--jobs', '3'], /--jobs: a sweep has/u],
    'another kind': [['--tier', 'stack', '--seeds', '1', '--of', 'x'], /--of x: wanted tpu, pods, vms, machines/u],
    'a kind of the model': [
      ['--tier', 'model', '--seeds', '1', '--of', 'vms'],
      /--of: only with --tier stack or full/u,
    ],
    'a kind of a sweep': [['--sweep', 'model', '--of', 'vms'], /--of: only with --tier/u],
    'points of a tier': [['--tier', 'stack', '--seeds', '1', '--points', '3'], /--points: only with --sweep/u],
    'an unknown flag': [['--tier', 'stack', '--seeds', '1', '--sedes', '2'], /--sedes/u],
  };
  for (const [what, [argv, said]] of Object.entries(WRONG))
    it(`are refused with ${what}`, () => {
      assert.throws(() => readArguments(argv), said);
    });
});
