import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { type Finished, JobctlUser, type Started } from '../end-to-end/jobctl-process.js';
import type { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { until } from '../until.js';

const EXAMPLE = fileURLToPath(new URL('../../examples/train-jax.yaml', import.meta.url));
const STEPS = 120;
const EVERY = 10;
const MINUTE = 60_000;

/**
 * The example as a user runs it: the built command line, real JAX processes, one of two jobs preempted without notice. Both
 * run on the same computer, so that equal means equal to the last bit.
 */
describe('training with JAX over four hosts', function () {
  // JAX is installed on four hosts, three times.
  this.timeout(20 * MINUTE);
  const user = new JobctlUser();
  const admin = (): RehearsalAdmin => user.admin();
  let preempted: Started | undefined;
  after(() => {
    preempted?.kill('SIGKILL');
    return user.leave();
  });

  const submission = (name: string): readonly string[] => [
    ...['submit', '--local', '--wait', '--name', name],
    ...['--set', `env.STEPS=${STEPS}`, '--set', `env.CHECKPOINT_EVERY=${EVERY}`, EXAMPLE],
  ];

  async function log(job: string, attempt: number): Promise<TrainingLog> {
    const { stdout } = await user.run('logs', job, '--host', '0', '--attempt', String(attempt));
    return readTrainingLog(stdout);
  }

  it('goes on from its checkpoint after a preemption, and ends with the loss of an undisturbed run', async () => {
    const up = await user.run('dev', 'up');
    assert.equal(up.code, 0, up.stderr);
    // The first checkpoint arrives, and its answer is lost: a program that took that for a failure would not go on.
    const lostAnswer = { method: 'objects.insert', code: 'UNAVAILABLE', times: 1, afterEffect: true };
    await admin().post('refuse', { ...lostAnswer, nameMatches: 'checkpoints/preempted/' });

    preempted = user.start(...submission('preempted'));
    await stepsAfterACheckpoint(preempted);
    await admin().post('preempt', { name: 'jc-preempted-g1' });
    const disturbed = await preempted.finished;
    const undisturbed = await user.run(...submission('undisturbed'));

    assertSucceeded(disturbed, '2 attempts, 1 preemption');
    assertSucceeded(undisturbed, '1 attempt');
    assert.match(disturbed.stdout, /step-00000010\.npz.*: 503 .*again in 1 s/);
    const [first, second, whole] = await Promise.all([log('preempted', 1), log('preempted', 2), log('undisturbed', 1)]);
    assert.deepEqual([first.resumedAt, first.finalLoss, whole.resumedAt], [undefined, undefined, undefined]);
    assert.deepEqual(stepsOf(whole), range(1, STEPS));
    assert.ok(first.losses.size > EVERY && first.losses.size < STEPS, `attempt 1 printed ${first.losses.size} steps`);
    assert.ok(second.resumedAt && second.resumedAt % EVERY === 0, `attempt 2 resumed at step ${second.resumedAt}`);
    assert.ok(second.resumedAt >= Math.max(...first.storedAt), `${first.storedAt.join()} were stored before that`);
    assert.deepEqual(stepsOf(second), range(second.resumedAt + 1, STEPS));
    for (const [step, loss] of [...first.losses, ...second.losses])
      assert.equal(loss, whole.losses.get(step), `step ${step}`);
    assert.ok(whole.finalLoss);
    assert.equal(second.finalLoss, whole.finalLoss);
    assert.ok(Number(whole.finalLoss) < Number(whole.losses.get(1)) / 10, 'the model learns');
    await until('nothing is left', async () => (await user.run('audit', 'leaks')).code === 0, MINUTE);
  });
});

/** Waits until the job has printed steps that a preemption will cost it. */
async function stepsAfterACheckpoint({ finished, stdout, stderr }: Started): Promise<void> {
  const shown = (): string => `it showed\n${stdout()}\n${stderr()}`;
  const ended = finished.then(({ code }) => assert.fail(`it ended with ${code} before it was preempted; ${shown()}`));
  const hasSteps = (): boolean => new RegExp(`\\bstep ${EVERY + 4} loss`).test(stdout());
  const seen = until('a checkpoint, and steps after it', hasSteps, 10 * MINUTE);
  await Promise.race([seen.catch((error: Error) => assert.fail(`${error.message}; ${shown()}`)), ended]);
}

interface TrainingLog {
  /** As they were printed, by step. */
  readonly losses: ReadonlyMap<number, string>;
  readonly storedAt: readonly number[];
  readonly resumedAt: number | undefined;
  readonly finalLoss: string | undefined;
}

function readTrainingLog(text: string): TrainingLog {
  const steps = text.matchAll(/^step (\d+) loss (\S+)$/gm);
  const stored = text.matchAll(/^stored gs:\/\/\S+\/step-(\d+)\.npz$/gm);
  const resumed = /^resumed at step (\d+) from gs:/m.exec(text)?.[1];
  return {
    losses: new Map([...steps].map(([, step, loss]) => [Number(step), loss as string])),
    storedAt: [...stored].map(([, step]) => Number(step)),
    resumedAt: resumed === undefined ? undefined : Number(resumed),
    finalLoss: /^final loss (\S+)$/m.exec(text)?.[1],
  };
}

const stepsOf = ({ losses }: TrainingLog): readonly number[] => [...losses.keys()];
const range = (first: number, last: number): readonly number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

function assertSucceeded({ code, stdout, stderr }: Finished, attempts: string): void {
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  assert.match(stdout + stderr, new RegExp(`succeeded in .*, ${attempts}, REHEARSAL`));
}
