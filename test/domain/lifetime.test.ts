import assert from 'node:assert/strict';
import { DEFAULT_STOP_SECONDS, LEAST_NO_OUTPUT_SECONDS } from '../../domain/job-file/lifetime.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import type { JobSpec } from '../../domain/job-spec.js';

const COMMAND = { run: 'python3 train.py' };

function lifetimeOf(keys: object): Pick<JobSpec, 'keep' | 'loop' | 'timeouts'> & { warnings: readonly string[] } {
  const job = resolveJob({ tpu: { accelerator: 'v5litepod-16', zone: 'us-central1-a' }, command: COMMAND, ...keys });
  assert.ok(job.ok, JSON.stringify(job));
  const { keep, loop, timeouts } = job.spec;
  return { ...(keep && { keep }), ...(loop && { loop }), ...(timeouts && { timeouts }), warnings: job.warnings };
}

describe('what of a job goes on beyond one end of its command', () => {
  const DAY = 8 * 3600;
  const cases: Record<string, { keys: object; want: object }> = {
    'nothing, where nothing is said': { keys: {}, want: {} },
    'nothing, for never, null and false': {
      keys: { keep: 'never', timeouts: null, loop: false, job: { loop: null } },
      want: {},
    },
    'its slices, for a working day where no time is said': {
      keys: { keep: 'on-failure' },
      want: { keep: { when: 'on-failure', seconds: DAY } },
    },
    'its slices, for as long as it says': {
      keys: { keep: { when: 'always', for: '30m' } },
      want: { keep: { when: 'always', seconds: 1800 } },
    },
    'nothing, for a section that says never': { keys: { keep: { when: 'never', for: '30m' } }, want: {} },
    'its command, by either word': { keys: { loop: true }, want: { loop: true } },
    "its command, by JobMan's word": { keys: { job: { loop: true } }, want: { loop: true } },
    'its times, in seconds': {
      keys: {
        timeouts: { stop: '1h', queue: 90, provision: '2h', setup: '10m', device: '5m', run: '1.5m', no_output: '30m' },
      },
      want: { timeouts: { stop: 3600, queue: 90, provision: 7200, setup: 600, device: 300, run: 90, noOutput: 1800 } },
    },
    'no look at its accelerators': { keys: { timeouts: { device: 0 } }, want: { timeouts: { device: 0 } } },
    'its patience with a host that does not answer': {
      keys: { timeouts: { unreachable: '20m' } },
      want: { timeouts: { unreachable: 1200 } },
    },
    'the shortest silence that is found': {
      keys: { timeouts: { no_output: 5 } },
      want: { timeouts: { noOutput: LEAST_NO_OUTPUT_SECONDS } },
    },
    'no limit of silence, by the only value that version 0.1.0 took': {
      keys: { timeouts: { run: 9, no_output: false } },
      want: { timeouts: { run: 9 } },
    },
  };
  for (const [name, { keys, want }] of Object.entries(cases))
    it(name, () => {
      const { warnings: _, ...lifetime } = lifetimeOf(keys);
      assert.deepEqual(lifetime, want);
    });

  it('a stop without a time keeps slices for a working day', () => assert.equal(DEFAULT_STOP_SECONDS, DAY));

  it('says that a loop without a command does nothing', () => {
    assert.deepEqual(lifetimeOf({ loop: true, command: null }).warnings, [
      'loop: there is no command that could run again',
    ]);
  });

  it('says that a silence without a command does nothing', () => {
    assert.deepEqual(lifetimeOf({ timeouts: { no_output: '1h' }, command: null }).warnings, [
      'timeouts.no_output: there is no command that could print',
    ]);
  });
});
