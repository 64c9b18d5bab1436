import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { groupWorkflowId, WorkflowType } from '../../../contract/workflow-ids.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { JobctlUser } from '../../end-to-end/jobctl-process.js';
import { nothingIsLeft, vmInits } from '../../end-to-end/nothing-left.js';
import { RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import { TestStack } from '../../end-to-end/test-stack.js';
import { freePort, startTestServer, TEMPORAL_START_MS, type TestServer } from '../../temporal-server.js';
import { until } from '../../until.js';

const AT_ONCE = 3;
const PREEMPTED = 4;
/** Members 2 and 7 fail in their first round. Member 4 ends only if its first attempt is ended from outside. */
const COMMAND = `
echo "began $JOBCTL_JOB_ID a$JOBCTL_ATTEMPT"
case "$JOBCTL_JOB_ID a$JOBCTL_ATTEMPT" in *-r1-*) ;; *-2\\ *|*-7\\ *) sleep 1; exit 3;; *-${PREEMPTED}\\ a1) sleep 600;; esac
sleep 2`;
const TPU = { tpu: { accelerator: 'v5litepod-1' }, retries: { task: 0 } };

interface Status {
  readonly counts: Readonly<Record<string, number>>;
  readonly members: readonly { index: number; id: string; phase: string; exitCode?: number }[];
}

describe('a sweep of twelve, three at a time, in which all dies that can', function () {
  this.timeout(600_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;
  let user: JobctlUser;
  let server: TestServer;
  let restartServer: () => Promise<void>;
  /** The stack's client keeps the connection that the first has made. */
  const dead: TestServer[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-group-deaths-'));

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    const place = { port: await freePort(), databaseFile: join(folder, 'temporal.db') };
    server = await startTestServer(place);
    restartServer = async () => {
      process.kill(server.pid ?? 0, 'SIGKILL');
      dead.push(server);
      server = await startTestServer(place);
    };
    stack = await TestStack.start({ server });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    user = JobctlUser.of(stack);
  });
  after(async () => {
    await user?.leave();
    await stack?.stop();
    for (const each of [...dead, server]) await each?.stop().catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  });

  const submit = async (command: string): Promise<string> =>
    (
      await stack.jobs.submit({
        job: jobFile(command, { ...TPU, array: { matrix: { i: '0..11' }, max_parallel: AT_ONCE } }),
      })
    ).id;
  const running = async (id: string): Promise<number> =>
    (await stack.jobs.find({ group: id, phase: 'running' })).length;
  const hasEnded = (id: string): Promise<unknown> =>
    until(`${id} has ended`, async () => (await stack.jobs.group(id)).endedAt !== undefined, 150_000);
  const statusOf = async (id: string): Promise<Status> => {
    const { stdout, stderr } = await user.here('status', id, '--output', 'json');
    assert.ok(stdout.startsWith('{'), stderr);
    return JSON.parse(stdout) as Status;
  };
  const workerDies = async (): Promise<void> => {
    await stack.killWorker();
    await stack.startWorker();
  };

  /** As an operator does: back to its first task, so that it has forgotten what it started. */
  async function reset(id: string): Promise<void> {
    const workflowId = groupWorkflowId(id);
    const handle = stack.client.workflow.getHandle(workflowId);
    const { events } = await handle.fetchHistory();
    const task = events?.find(({ workflowTaskCompletedEventAttributes: done }) => done)?.eventId ?? null;
    const { runId } = await stack.client.workflowService.resetWorkflowExecution({
      namespace: stack.server.namespace,
      workflowExecution: { workflowId },
      workflowTaskFinishEventId: task,
      requestId: `reset ${id} ${Date.now()}`,
      reason: 'test',
    });
    await until('a new run is there', async () => (await handle.describe()).runId === runId);
  }

  /** By what each member's own workflow tells of its time: from its start to its outcome. */
  async function mostAtOnce(id: string): Promise<number> {
    const lives = (await stack.jobs.find({ group: id })).map(({ submittedAt, outcome, endedAt = Infinity }) => ({
      from: submittedAt,
      to: outcome?.endedAt ?? endedAt,
    }));
    const openAt = (time: number): number => lives.filter(({ from, to }) => from <= time && time < to).length;
    let most = 0;
    for (const { from } of lives) most = Math.max(most, openAt(from));
    return most;
  }

  /** By what the hosts printed. */
  async function startsOf(id: string, attempt: number): Promise<number> {
    const log = await storedLog(stack.store, { id, stream: 'command', host: 0, attempt });
    return log.split('\n').filter((line) => line === `began ${id} a${attempt}`).length;
  }

  it('has the right table, no member twice, and retries the two that failed', async () => {
    const id = await submit(COMMAND);
    await until('three run', async () => (await running(id)) === AT_ONCE, 90_000);
    await workerDies();
    const preempted = `${id}-${PREEMPTED}`;
    await until(
      'the member that is to be preempted has printed',
      async () => (await startsOf(preempted, 1)) === 1,
      120_000,
    );
    await reset(id);
    const { nodes } = await admin.status();
    const node = nodes.find(({ name }) => name.includes(`${preempted}-`));
    await admin.post('preempt', { name: node?.name });
    await restartServer();
    await until(
      'the group can be read, and is open',
      async () => (await stack.jobs.group(id)).endedAt === undefined,
      60_000,
    );
    await reset(id);
    await hasEnded(id);

    const { counts, members } = await statusOf(id);
    const seen = members.map(({ index, id: job, phase, exitCode }) => [index, job, phase, exitCode ?? 0]);
    const isBad = (index: number): boolean => index === 2 || index === 7;
    assert.deepEqual(
      seen,
      Array.from({ length: 12 }, (_, index) => [
        ...[index, `${id}-${index}`],
        ...(isBad(index) ? ['failed', 3] : ['succeeded', 0]),
      ]),
    );
    assert.deepEqual([counts['succeeded'], counts['failed'], counts['open'], counts['waiting']], [10, 2, 0, 0]);
    const [row] = await stack.jobs.groups({ group: id });
    assert.deepEqual(row?.counts, { succeeded: 10, failed: 2 });
    const rows = await stack.jobs.find({ group: id });
    assert.equal(rows.length, 12);
    for (const { id: job, outcome, attempts } of rows) {
      const wasPreempted = job === preempted;
      assert.equal(outcome?.preemptions, wasPreempted ? 1 : 0, job);
      assert.equal(attempts, wasPreempted ? 2 : 1, job);
      for (let attempt = 1; attempt <= attempts; attempt++)
        assert.equal(await startsOf(job, attempt), 1, `${job} a${attempt} was started once`);
    }
    assert.equal(
      await stack.client.workflow
        .count(`JobGroup = '${id}' AND WorkflowType = '${WorkflowType.Job}'`)
        .then(({ count }) => count),
      12,
    );
    assert.equal(await mostAtOnce(id), AT_ONCE);

    const retried = await user.here('retry', id, '--failed');
    assert.match(retried.stdout, new RegExp(`^2 members of group ${id} run again, as ${id}-r1-N`), retried.stderr);
    await until('both run', async () => (await running(id)) === 2, 90_000);
    await reset(id);
    await hasEnded(id);
    assert.equal((await statusOf(id)).counts['succeeded'], 12);
    const ids = (await stack.jobs.find({ group: id })).map((each) => each.id).filter((each) => each.includes('-r'));
    assert.deepEqual(ids.toSorted(), [`${id}-r1-2`, `${id}-r1-7`]);
    await nothingIsLeft(stack, admin, []);
  });

  it('leaves nothing if it is cancelled in the middle, with worker, server and group dying meanwhile', async () => {
    const id = await submit('sleep 600');
    await until('three run', async () => (await running(id)) === AT_ONCE, 90_000);
    const inits = await vmInits(admin);
    assert.equal((await admin.status()).nodes.length, AT_ONCE);
    await stack.killWorker();
    const cancelled = await user.here('cancel', id, '--yes');
    assert.equal(cancelled.code, 0, cancelled.stderr);
    await restartServer();
    await stack.startWorker();
    await until('its cancel is under way', async () => (await running(id)) < AT_ONCE, 90_000);
    await reset(id);
    await hasEnded(id);
    const { counts } = await statusOf(id);
    assert.deepEqual([counts['cancelled'], counts['open'], counts['waiting']], [12, 0, 0]);
    assert.equal((await stack.jobs.find({ group: id })).length, AT_ONCE);
    await nothingIsLeft(stack, admin, inits);
  });
});
