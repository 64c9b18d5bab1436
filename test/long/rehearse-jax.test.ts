import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import type { Certificate } from '../../cli/local/rehearse/certificate.js';
import { JobctlUser } from '../end-to-end/jobctl-process.js';
import type { Started } from '../end-to-end/jobctl-process.js';

const EXAMPLE = fileURLToPath(new URL('../../examples/train-jax.yaml', import.meta.url));
const MINUTE = 60_000;

/** Needs PyPI. The example stores a checkpoint every ten steps, so a preemption costs it ten of them at most. */
describe('jobctl rehearse examples/train-jax.yaml', function () {
  // JAX is installed on four hosts, three times.
  this.timeout(25 * MINUTE);
  const user = new JobctlUser();
  let run: Started | undefined;
  after(async () => {
    run?.kill('SIGINT');
    await run?.finished;
    await user.leave();
  });

  it('certifies that it resumed twice, lost ten steps or fewer each time, and leaked nothing', async () => {
    const flags = [
      '--preempt',
      '2',
      '--seed',
      '3',
      '--require-resume',
      '--set',
      'env.STEPS=300',
      '--unconfined',
      '--output',
      'json',
    ];
    run = user.start('rehearse', EXAMPLE, ...flags);
    const { code, stdout, stderr } = await run.finished;
    assert.equal(code, 0, `${stdout}\n${stderr}`);
    const { verdict, preemptions, leaks, measure, outcome } = JSON.parse(stdout) as Certificate;
    assert.deepEqual([verdict, outcome.attempts, preemptions.length], ['resumed', 3, 2]);
    assert.deepEqual(measure, { kind: 'counter', name: 'step N', host: 0 });
    assert.deepEqual(leaks, { leaks: [], leases: [] });
    for (const { lost } of preemptions) assert.ok(lost.kind === 'counted' && lost.redone <= 10, JSON.stringify(lost));
    assert.equal(preemptions.filter(({ noticeMs }) => noticeMs !== null).length, 1, 'mixed: one of two with notice');
  });
});
