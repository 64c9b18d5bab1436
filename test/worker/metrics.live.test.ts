import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Metric } from '../../domain/metric-names.js';
import { quotaWorkflowId, WorkflowType } from '../../contract/workflow-ids.js';
import { jobFile } from '../end-to-end/job-files.js';
import { plant } from '../end-to-end/planted.js';
import { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { TestStack } from '../end-to-end/test-stack.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';

describe("a worker's metrics", function () {
  this.timeout(60_000);
  let stack: TestStack;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start({ pool: 'metered' });
  });
  after(() => stack.stop());

  it('count what a worker did, each under the name of the list, and are all there', async () => {
    const leftBehind = await plant(stack, 'left-behind');
    const refusal = { method: 'CreateQueuedResource', code: 8, message: 'There is no more capacity', times: 1 };
    await new RehearsalAdmin(stack.rehearsal.endpoints.admin).post('refuse', refusal);
    const broken = '[ $JOBCTL_ATTEMPT = 2 ] || { echo "GPU has fallen off the bus"; exit 1; }';
    const [good, bad, moved] = await Promise.all([
      stack.jobs.submit({ job: jobFile('echo one; echo two', { pool: 'metered', setup: { modules: ['command'] } }) }),
      stack.jobs.submit({ job: jobFile('exit 7', { pool: 'metered' }) }),
      stack.jobs.submit({ job: jobFile(broken, { pool: 'metered' }) }),
    ]);
    const outcomes = await Promise.all([good, bad, moved].map(({ id }) => stack.jobs.wait(id)));
    assert.deepEqual(
      outcomes.map(({ exitCode }) => exitCode),
      [0, 7, 0],
      stack.tail(),
    );
    await stack.client.workflow.execute(WorkflowType.Janitor, {
      workflowId: `janitor-${stack.taskQueue}`,
      taskQueue: stack.taskQueue,
      args: [{ v: 1 }],
    });
    await leftBehind.remove();
    await stack.client.workflow.getHandle(quotaWorkflowId('metered')).signal('leaseMessages', 'no list');
    // The SDK publishes what it has gathered a moment later.
    const page = await until('all of them are published', async () => {
      const text = await stack.metrics();
      const names = Object.values(Metric).filter((name) => !NOT_COUNTED.includes(name));
      return names.every((name) => text.includes(name)) ? text : undefined;
    });

    assert.equal(total(page, Metric.RefusedMessages, ['signal="leaseMessages"', 'reason="malformed"']), 1);
    const value = (name: string, ...labels: string[]): number => total(page, name, labels);
    assert.equal(value(Metric.JobsEnded, 'result="succeeded"', 'by="none"'), 2);
    assert.equal(value(Metric.JobsEnded, 'result="failed"', 'by="task"'), 1);
    assert.equal(value(Metric.Attempts, 'end="exited"'), 4);
    assert.equal(value(Metric.BrokenMachines, 'pool="metered"', 'kind="cloud-tpu"'), 1);
    assert.equal(value(Metric.Refusals, 'scope="zone"'), 1);
    assert.equal(value(Metric.Grants, 'pool="metered"'), 3);
    assert.equal(value(`${Metric.QueueTime}_count`, 'pool="metered"'), 3);
    assert.equal(value(`${Metric.SetUpTime}_count`, 'end="ready"'), 4);
    assert.equal(value(Metric.LeaksFound), 1);
    assert.equal(value(Metric.LeaksReclaimed), 0);
    assert.equal(value(Metric.Sweeps), 1);
    assert.equal(value(Metric.CloudCalls, 'method="CreateQueuedResource"', 'code="OK"'), 4);
    assert.ok(value(Metric.CloudCalls, 'api="storage"', 'method="write"', 'code="OK"') > 0);
    assert.ok(value(`${Metric.LogLag}_count`) > 0);
    assert.match(page, new RegExp(`^${Metric.OpenJobs}\\{.*phase="queued".*\\} \\d`, 'm'));
    assert.match(page, new RegExp(`^${Metric.LogLag}_bucket\\{.*le="0\\.5".*\\}`, 'm'), 'with bounds of their own');
    namedBy('deploy/prometheus/alerts.yml', page);
  });
});

/** The sum of the series of a name that have these labels. */
function total(page: string, name: string, labels: readonly string[]): number {
  const series = page.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  const meant = series.filter((line) => labels.every((label) => line.includes(label)));
  return meant.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** Metrics that only a failure makes; their names are the SDK's (docs/facts.md, "Temporal"). */
const SELDOM = new Set<string>(['temporal_workflow_task_execution_failed_total', Metric.StuckSlices]);

/** An alert on a metric that nobody publishes never fires. */
function namedBy(file: string, page: string): void {
  const expressions = readFileSync(file, 'utf8').replace(/^ *#.*$/gm, '');
  const names = new Set(expressions.match(/\b(jobctl|temporal)_[a-z_]+/g) ?? []);
  assert.ok(names.size > 6);
  assert.deepEqual(
    [...names].filter((name) => !SELDOM.has(name) && !new RegExp(`^${name}\\b`, 'm').test(page)),
    [],
  );
}

/** A counter is there from its first value on, and in this test no lease is taken back and no slice is stuck. */
const NOT_COUNTED: readonly string[] = [Metric.Revocations, Metric.StuckSlices];
