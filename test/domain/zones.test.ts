import assert from 'node:assert/strict';
import type { PoolDefaults } from '../../domain/job-file/pool-defaults.js';
import { resolveJob, type ResolveOptions } from '../../domain/job-file/resolve.js';
import { formatProblems } from '../../domain/problem.js';
import { parsePoolFile } from '../../quota/files/pool-file.js';
import { TPU_ZONES } from '../../rehearsal/tpu/zones.js';

const SECTIONS = {
  tpu: { accelerator: 'v5litepod-8' },
  compute_engine: { machine_type: 'n2-standard-8' },
};
type Section = keyof typeof SECTIONS;

/** What is wrong with a job of that zone, and what it is warned of. */
function said(section: Section, zone: string, options: ResolveOptions): { refused: string; warned: string } {
  const resolved = resolveJob({ [section]: { ...SECTIONS[section], zone }, command: { run: 'true' } }, options);
  return resolved.ok
    ? { refused: '', warned: resolved.warnings.join('\n') }
    : { refused: formatProblems(resolved.problems), warned: '' };
}

function poolOf(text: string): PoolDefaults {
  const parsed = parsePoolFile(text, 'pool.toml', 'research');
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return parsed.defaults;
}

const NO_FILE: PoolDefaults = { pool: 'research' };

describe('a zone that does not exist', () => {
  /** What was typed, and what is meant. */
  const typed: Readonly<Record<string, string | undefined>> = {
    'us-centrl1-a': 'us-central1-a',
    'us-central1-z': 'us-central1-a',
    'us-east1-a': 'us-east1-b',
    'us-eats5-a': 'us-east5-a',
    'europe-wes4-a': 'europe-west4-a',
    'mars-tharsis9-q': undefined,
    [`us-${'a'.repeat(5000)}1-a`]: undefined,
  };
  for (const section of Object.keys(SECTIONS) as Section[])
    for (const [zone, meant] of Object.entries(typed)) {
      const shown = zone.slice(0, 20);
      const want = `${section}.zone: zone ${zone} does not exist${meant === undefined ? '' : `. Did you mean ${meant}?`}`;
      it(`${shown} is refused where the pool is known, and names what is near: ${section}`, () => {
        const [first, hint] = said(section, zone, { pool: NO_FILE }).refused.split('\n');
        assert.equal(first, want);
        assert.match(hint ?? '', /^ {2}a zone that Google opened lately has to be in the pool file: zones = \["/);
      });
      it(`${shown} is warned of while nobody knows the pool, and refused by validate: ${section}`, () => {
        assert.deepEqual(said(section, zone, {}), { refused: '', warned: want });
        assert.ok(said(section, zone, { isZoneStrict: true }).refused.startsWith(want));
      });
    }

  it('is refused in each place of a list', () => {
    const job = { tpu: { accelerator: 'v6e-8', zones: ['us-east5-a', 'us-east6-a'] } };
    const resolved = resolveJob(job, { pool: NO_FILE });
    assert.ok(!resolved.ok);
    assert.match(formatProblems(resolved.problems), /^tpu\.zones\[1\]: zone us-east6-a does not exist\. Did you mean/);
  });

  const files: Readonly<Record<string, string>> = {
    'among the zones of the pool': 'zones = ["us-east6-a"]',
    'by the largest slice that it holds': '[largest_slice]\nus-east6-a = { v6e = 64 }',
  };
  for (const [name, text] of Object.entries(files))
    it(`is taken if the pool file lists it ${name}`, () => {
      for (const section of Object.keys(SECTIONS) as Section[])
        assert.deepEqual(said(section, 'us-east6-a', { pool: poolOf(text) }), { refused: '', warned: '' });
    });

  it('is none of those in which Google offers TPUs, nor an AI zone', () => {
    for (const zone of [...TPU_ZONES, 'us-central1-ai1a', 'us-south1-ai1b', 'us-east4-b', 'us-central2-b'])
      assert.doesNotMatch(JSON.stringify(said('tpu', zone, { pool: NO_FILE })), /does not exist|no zone/, zone);
  });
});

describe('keys that have no effect in the zones of the job', () => {
  const A = 'us-central1-a';
  const B = 'us-west4-a';
  const warned = (job: object, options: ResolveOptions = {}): readonly string[] => {
    const resolved = resolveJob({ command: { run: 'true' }, ...job }, options);
    assert.ok(resolved.ok, JSON.stringify(resolved));
    return resolved.warnings;
  };
  const tpu = (keys: object): object => ({ tpu: { ...SECTIONS.tpu, ...keys } });
  const provision = { timeouts: { provision: '5m' } };
  const ONE = `has no effect: the job has one zone, ${A}, and each request is in another zone; name more in tpu.zones, or leave it out`;
  const NEXT = `timeouts.provision: has no effect: after it the next zone is asked too, and the job has one, ${A}; name more in tpu.zones, or leave it out (timeouts.queue ends the whole wait)`;
  const told: Readonly<Record<string, { job: object; pool?: string; want: string }>> = {
    'hedge in one zone': { job: tpu({ zone: A, hedge: 2 }), want: `tpu.hedge: 2 ${ONE}` },
    'hedge in one zone that is named twice': { job: tpu({ zones: [A, A], hedge: 3 }), want: `tpu.hedge: 3 ${ONE}` },
    'hedge in the one zone of the pool': {
      job: tpu({ hedge: 2 }),
      pool: `zones = ["${A}"]`,
      want: `tpu.hedge: 2 ${ONE}`,
    },
    'more requests than zones': {
      job: tpu({ zones: [A, B], hedge: 3 }),
      want: 'tpu.hedge: 3 is no more than 2: the job has 2 zones, and each request is in another zone; name more in tpu.zones, or write hedge: 2',
    },
    'timeouts.provision in one zone': { job: { ...tpu({ zone: A }), ...provision }, want: NEXT },
    'timeouts.provision in the one zone of the pool': {
      job: { ...tpu({}), ...provision },
      pool: `zones = ["${A}"]`,
      want: NEXT,
    },
  };
  it('names a zone that has no turn before timeouts.queue is over', () => {
    const waits = (provision: string, queue: string, zones = [A, B]): readonly string[] =>
      warned({ ...tpu({ zones, allocation_mode: 'queued-resources' }), timeouts: { provision, queue } });
    const C = 'us-south1-a';
    assert.deepEqual(waits('10m', '70s'), [
      `timeouts.provision: 10 min for each zone leaves ${B} without a turn: timeouts.queue ends all waiting after 70 s; leave timeouts.provision out, or give it 35 s at most`,
    ]);
    assert.match(waits('60m', '2h', [A, B, C]).join('\n'), /leaves us-south1-a without a turn/);
    assert.deepEqual([waits('60m', '121m', [A, B, C]), waits('5m', '10m')].flat(), []);
  });

  for (const [name, { job, pool, want }] of Object.entries(told))
    it(`are warned of, with what to do: ${name}`, () =>
      assert.deepEqual(warned(job, pool === undefined ? {} : { pool: poolOf(pool) }), [want]));

  const silent: Readonly<Record<string, { job: object; pool?: string }>> = {
    'as many zones as requests': { job: { ...tpu({ zones: [A, B], hedge: 2 }), ...provision } },
    'one request in one zone': { job: tpu({ zone: A, hedge: 1 }) },
    'zones of a pool that nobody knows here': { job: { ...tpu({ hedge: 2 }), ...provision } },
    'a hedge of the pool': { job: tpu({ zone: A }), pool: '[tpu]\nhedge = 2' },
    'machines that are asked for again in one zone': {
      job: { compute_engine: { ...SECTIONS.compute_engine, zone: A }, ...provision },
    },
  };
  for (const [name, { job, pool }] of Object.entries(silent))
    it(`are not warned of: ${name}`, () =>
      assert.deepEqual(warned(job, pool === undefined ? {} : { pool: poolOf(pool) }), []));

  for (const [section, least] of Object.entries(SECTIONS))
    for (const pool of [undefined, poolOf(`zones = ["${A}"]`)])
      it(`an empty list of zones is refused ${pool === undefined ? 'before' : 'also if'} its pool is known: ${section}`, () => {
        const resolved = resolveJob({ [section]: { ...least, zones: [] } }, pool === undefined ? {} : { pool });
        assert.equal(
          resolved.ok ? 'taken' : formatProblems(resolved.problems),
          `${section}.zones: [] is an empty list\n  name zones, or leave it out for the pool's zones`,
        );
      });
});
