import assert from 'node:assert/strict';
import fc from 'fast-check';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { DEFAULT_IDLE_SECONDS } from '../../domain/job-file/workspace-section.js';
import {
  afterLook,
  givenBackText,
  type HostUse,
  MISSES_TOLD,
  UNWATCHED,
  type UseOfHost,
  type UseWatch,
  warningMs,
} from '../../domain/workspace.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = Date.UTC(2026, 10, 30, 16);
const idle = (idleMs: number, last = 'login from 10.0.0.3'): HostUse => ({ kind: 'known', idleMs, last });
const unknown = (why = 'nvidia-smi does not answer'): HostUse => ({ kind: 'unknown', why });
const on = (...uses: readonly HostUse[]): UseOfHost[] => uses.map((use, host) => ({ slice: 0, host, use }));

describe('a workspace section without a word', () => {
  for (const written of [null, {}, { idle: null }])
    it(`is a workspace of the usual time: ${JSON.stringify(written)}`, () => {
      const file = { tpu: { accelerator: 'v5litepod-8', zone: 'us-central1-a' }, workspace: written };
      const resolved = resolveJob(file);
      assert.ok(resolved.ok);
      assert.deepEqual(resolved.spec.workspace, { idleSeconds: 3600 });
    });
});

describe('the idleness of a workspace', () => {
  const look = (before: UseWatch, now: number, ...uses: readonly HostUse[]) =>
    afterLook(before, on(...uses), { limitMs: HOUR, now, slices: 1 });

  it('is that of the host which was used last', () => {
    assert.equal(look(UNWATCHED, NOW, idle(2 * HOUR), idle(HOUR - 1)).end, undefined);
    assert.deepEqual(look(UNWATCHED, NOW, idle(2 * HOUR), idle(HOUR, 'load')).end, {
      ...{ kind: 'idle', since: NOW - HOUR, last: { slice: 0, host: 1, what: 'load' } },
    });
  });

  it('is told when it begins, ten minutes before the end, and no more when somebody comes', () => {
    const begun = look(UNWATCHED, NOW, idle(5 * MINUTE));
    const told =
      'idle since 2026-11-30 15:55:00 UTC; it is given back at 2026-11-30 16:55:00 UTC unless somebody uses it';
    assert.equal(begun.watch.told, told);
    // The reports of hosts are up to a look late.
    const later = look(begun.watch, NOW + 20 * MINUTE, idle(25 * MINUTE - 30_000));
    assert.equal(later.watch.told, told);
    const near = look(later.watch, NOW + 45 * MINUTE, idle(50 * MINUTE));
    assert.equal(
      near.watch.told,
      'idle since 2026-11-30 15:55:00 UTC, and given back at 2026-11-30 16:55:00 UTC unless somebody uses it: log in to keep it',
    );
    assert.equal(look(near.watch, NOW + 46 * MINUTE, idle(0)).watch.told, undefined);
    assert.equal(warningMs(10 * MINUTE), 5 * MINUTE);
  });

  it('is not known while a host cannot tell, which is told after some looks, and once', () => {
    let watch: UseWatch = UNWATCHED;
    const told: (string | undefined)[] = [];
    for (let at = 0; at < 3 * MISSES_TOLD; at++) {
      const after = look(watch, NOW + at * MINUTE, idle(9 * HOUR), unknown(`reason ${at}`));
      assert.equal(after.end, undefined);
      if (after.watch.told !== watch.told) told.push(after.watch.told);
      watch = after.watch;
    }
    assert.deepEqual(told, ['nobody can tell whether it is used, so it is not given back: host 1: reason 4']);
    assert.equal(look(watch, NOW, idle(0), idle(0)).watch.told, undefined);
  });

  it('ends it only if all hosts say so at that look, in every sequence of looks', () => {
    // Of some sequences most looks see nothing.
    const looksOf = (blindness: number) => {
      const known = fc.integer({ min: 0, max: 2 * HOUR }).map((ms) => idle(ms));
      const use = fc.oneof({ weight: 3, arbitrary: known }, { weight: blindness, arbitrary: fc.constant(unknown()) });
      return fc.array(fc.array(use, { minLength: 2, maxLength: 2 }), { minLength: 1, maxLength: 30 });
    };
    const looks = fc.oneof(looksOf(1), looksOf(12));
    const met = { ended: 0, blind: 0, warned: 0 };
    fc.assert(
      fc.property(looks, (sequence) => {
        let watch: UseWatch = UNWATCHED;
        let misses = 0;
        for (const [at, uses] of sequence.entries()) {
          const areIdle = uses.every((each) => each.kind === 'known' && each.idleMs >= HOUR);
          misses = uses.some(({ kind }) => kind === 'unknown') ? misses + 1 : 0;
          const after = look(watch, NOW + at * MINUTE, ...uses);
          // SAFETY: never by a host that cannot tell, or that was used.
          assert.equal(after.end !== undefined, areIdle);
          if (after.end !== undefined) return void (met.ended += 1);
          // LIVENESS: it does not stay untold that it cannot end.
          if (misses >= MISSES_TOLD) {
            assert.match(after.watch.told ?? '', /^nobody can tell/);
            met.blind += 1;
          }
          const least = Math.min(...uses.map((each) => (each.kind === 'known' ? each.idleMs : 0)));
          if (misses === 0 && least >= HOUR - warningMs(HOUR)) {
            assert.match(after.watch.told ?? '', /log in to keep it$/);
            met.warned += 1;
          }
          watch = after.watch;
        }
      }),
      { numRuns: 300 },
    );
    assert.ok(met.ended > 40 && met.blind > 40 && met.warned > 15, JSON.stringify(met));
  });

  it('is the reason of the end, in words', () =>
    assert.equal(
      givenBackText({ by: 'idle', seconds: 3600, last: { host: 0, what: 'its start', until: NOW } }),
      'given back: idle for 1 h; last use: its start on host 0, until 2026-11-30 16:00:00 UTC',
    ));
});

describe('the section workspace', () => {
  const TPU = { accelerator: 'v5litepod-8', zone: 'us-central1-a' };
  const resolved = (file: object) => resolveJob({ tpu: TPU, ...file });
  const problems = (file: object): readonly string[] => {
    const job = resolved(file);
    return job.ok ? [] : job.problems.map(({ path, message, hint }) => `${path.join('.')}: ${message}; ${hint}`);
  };

  it('is a job with the watcher as its command on all hosts, in no container, that starts again', () => {
    const job = resolved({ workspace: {}, docker: { image: 'python:3.12' } });
    assert.ok(job.ok, JSON.stringify(job));
    const { workspace, command, retries } = job.spec;
    assert.deepEqual(workspace, { idleSeconds: DEFAULT_IDLE_SECONDS });
    assert.deepEqual([command?.hosts, retries.task], ['all', 20]);
    const never = resolved({ workspace: { idle: 'never' }, timeouts: { run: '8h' } });
    assert.deepEqual(never.ok && never.spec.workspace, {});
  });

  const wrong: Readonly<Record<string, readonly [object, RegExp]>> = {
    'no number, which counts minutes elsewhere': [
      { workspace: { idle: 30 } },
      /not a duration with its unit, such as 30m/,
    ],
    'no other unit': [{ workspace: { idle: '1d' } }, /not a duration with its unit/],
    'no moment': [{ workspace: { idle: '0s' } }, /out of range; from 10s to 168h/],
    'no month': [{ workspace: { idle: '700h' } }, /out of range/],
    'never, without an end': [
      { workspace: { idle: 'never' } },
      /would never be given back; name its end too: timeouts: \{run: 8h\}/,
    ],
    'a command too': [{ workspace: {}, command: { run: 'sleep 1' } }, /^command: is not for a workspace/],
    'a loop': [{ workspace: {}, loop: true }, /^loop: is not for a workspace/],
    'a limit of silence': [{ workspace: {}, timeouts: { no_output: '30m' } }, /^timeouts.no_output: is not for/],
    'slices that are kept all the same': [{ workspace: {}, keep: 'always' }, /^keep: is not for a workspace/],
    Ray: [{ workspace: {}, ray: { version: '2.60.0' } }, /^ray: runs only as long as a command/],
    'a RayCluster, which is never idle': [
      {
        workspace: {},
        tpu: undefined,
        ray_cluster: { image: 'r/ray:2.60.0', ray_version: '2.60.0', workers: { max: 1 } },
      },
      /^ray_cluster: is not for a workspace/,
    ],
    'another key': [{ workspace: { idel: '1h' } }, /idel/],
  };
  for (const [name, [file, want]] of Object.entries(wrong))
    it(`refuses ${name}`, () => {
      const [first = '', ...more] = problems(file);
      assert.match(first, want);
      assert.deepEqual(more, []);
    });

  it('takes what does not harm it', () =>
    assert.deepEqual(
      problems({
        workspace: { idle: '90m' },
        loop: false,
        keep: 'on-failure',
        outputs: ['work/**'],
        timeouts: { run: '8h' },
      }),
      [],
    ));
});
