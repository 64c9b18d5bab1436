import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JobMetrics } from '../../client/job-metrics.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { openDoor } from './door.js';
import { jobFile } from './job-files.js';
import { JobctlUser } from './jobctl-process.js';
import { RehearsalAdmin } from './rehearsal-admin.js';
import { TestStack } from './test-stack.js';

const SECTION = { tpu: { accelerator: 'v5litepod-8' } };

describe('the metrics of a job', function () {
  this.timeout(240_000);
  let stack: TestStack;
  let user: JobctlUser;
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-metrics-'));
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start();
    user = JobctlUser.of(stack);
  });
  after(async () => {
    await user.leave();
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const metricsOf = async (id: string): Promise<JobMetrics | undefined> => {
    const { stdout } = await user.here('plot', id, '-o', 'json');
    return stdout === '' ? undefined : (JSON.parse(stdout) as { jobs: readonly JobMetrics[] }).jobs[0];
  };
  const metric = (found: JobMetrics | undefined, name: string) => found?.metrics.find((each) => each.name === name);
  /** Waits until the last step that is stored is this one. */
  const reached = (id: string, name: string, step: number): Promise<JobMetrics> =>
    until(
      `${name} of step ${step}`,
      async () => {
        const found = await metricsOf(id);
        return metric(found, name)?.last.step === step ? found : undefined;
      },
      60_000,
    );
  const range = (from: number, to: number): readonly number[] =>
    Array.from({ length: to - from + 1 }, (_, index) => from + index);

  it('outlive the death of a worker and a preemption: each step is there once, and the later attempt is right', async () => {
    const [first, second] = [await openDoor(), await openDoor()];
    const say =
      'echo "INFO: JOBCTL_METRIC loss=$JOBCTL_ATTEMPT.$s step=$s"; echo "{\\"step\\": $s, \\"eval/acc\\": $s}" >> "$JOBCTL_METRICS_FILE"';
    const steps = (from: number, to: number): string => `for s in $(seq ${from} ${to}); do ${say}; done`;
    const { id } = await stack.jobs.submit({
      job: jobFile(
        `if [ "$JOBCTL_ATTEMPT" = 1 ]; then ${steps(1, 10)}; ${first.whileOpen}; ${steps(11, 20)}; ${second.whileOpen}; exit 1
else ${steps(16, 30)}; fi`,
        { ...SECTION, retries: { preemption: 2, task: 0 } },
      ),
    });
    await reached(id, 'loss', 10);
    await stack.killWorker();
    first.close();
    await stack.startWorker();
    const whole = await reached(id, 'loss', 20);
    assert.deepEqual(metric(whole, 'loss')?.points.step, range(1, 20));
    assert.deepEqual([metric(whole, 'loss')?.count, metric(whole, 'loss')?.falls], [20, 0], 'nothing twice');
    assert.deepEqual(metric(await reached(id, 'eval/acc', 20), 'eval/acc')?.points.step, range(1, 20));

    const running = await user.here('status', id);
    assert.match(
      running.stdout,
      /\n +metrics +loss 1\.2, eval\/acc 20 \(step 20, \d+s ago\)|metrics +loss 1\.2 \(step 20/,
    );
    const [slice] = (await stack.jobs.describe(id)).slices;
    await new RehearsalAdmin(stack.rehearsal.endpoints.admin).post('preempt', { name: slice?.ref.name, notice: false });
    const { result, attempts } = await stack.jobs.wait(id);
    second.close();
    assert.deepEqual([result, attempts], ['succeeded', 2], stack.tail());

    const found = await metricsOf(id);
    const loss = metric(found, 'loss');
    assert.deepEqual(found?.attempts, [1, 2]);
    assert.deepEqual(loss?.points.step, range(1, 30));
    // 1.5 is step 5 of attempt 1, and 2.17 step 17 of attempt 2.
    assert.deepEqual([loss?.points.value[4], loss?.points.value[16]], [1.5, 2.17]);
    assert.deepEqual(metric(found, 'eval/acc')?.points.step, range(1, 30));

    const drawn = await user.here('plot', id, '--metric', 'loss');
    assert.match(drawn.stdout, /^loss of e2e-\w+\n(?:.*\*.*\n)+/);
    const svg = join(folder, 'loss.svg');
    assert.equal((await user.here('plot', id, '--metric', 'loss', '--svg', svg)).code, 0);
    assert.match(readFileSync(svg, 'utf8'), /^<svg [\s\S]*<path d="M80 [\s\S]*<\/svg>\n$/);
    const near = await user.here('plot', id, '--metric', 'los');
    assert.deepEqual(
      [near.code, near.stderr.split('\n')[0]],
      [3, 'plot --metric los: no job has told it. Did you mean loss?'],
    );
  });

  it('compare the members of a group by its parameter', async () => {
    const run =
      'for s in 1 2 3; do echo "JOBCTL_METRIC loss=$(echo "$JOBCTL_ARRAY_LR $s" | awk \'{print $1 / $2}\') step=$s"; done';
    const submitted = await stack.jobs.submit({
      job: jobFile(run, { ...SECTION, array: { matrix: { LR: [8, 2, 5] } } }),
    });
    const { id } = submitted;
    await stack.jobs.waitGroup(id);
    const best = await user.here('plot', id, '--metric', 'loss', '--best', 'min');
    const legend = best.stdout.split('\n').filter((line) => /^ {2}\S LR=/.test(line));
    assert.deepEqual(
      legend,
      ['  * LR=2  last 0.666667', '  o LR=5  last 1.66667', '  + LR=8  last 2.66667'],
      best.stderr,
    );
    const { stdout } = await user.here('status', id, '--metric', 'loss', '--best', 'max');
    assert.match(stdout, /INDEX +LR +PHASE +LOSS +STEP +MAX +JOB/);
    assert.match(stdout, /\n1 +2 +succeeded +0\.666667 +3 +2 +\S+-1/);
    const none = await user.here('plot', `${id}-0`, '--metric', 'loss', '--host', '7');
    assert.equal(none.code, 3, none.stdout);
    assert.match(none.stderr, /its program has told no metric on host 7/);
  });
});
