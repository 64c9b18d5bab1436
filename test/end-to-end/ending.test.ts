import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { resolveTemporalCli } from '../../client/cli/dev/temporal-server/resolve.js';
import { JobTerminated } from '../../client/errors.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import type { JanitorReport } from '../../activities/contract.js';
import { plant } from './planted.js';
import { jobFile } from './job-files.js';
import { leasedUnits, poolState } from './pool-watch.js';
import { mostChipsAtOnce, RehearsalAdmin } from './rehearsal-admin.js';
import { TestStack } from './test-stack.js';
import { until } from '../until.js';

const POOL = 'ending';
/** Room for one v5litepod-16, so that a second job waits. */
const QUOTA = `
[toml-schema]
version = "1"
[total_resources]
v5litepod = 16
[project_membership]
everyone = [".*"]
[project_resources.everyone]
v5litepod = 1.0
`;
const STUBBORN = "trap '' TERM; echo started; while :; do sleep 1; done";

describe('a job that is ended from outside', function () {
  this.timeout(90_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;
  let temporal: (...args: string[]) => Promise<unknown>;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start({
      quota: QUOTA,
      pool: POOL,
      timings: { jobHistoryEvents: 40, superviseMs: 1_000, quotaHistoryEvents: 100 },
    });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    const { path } = await resolveTemporalCli({ onProgress: () => undefined });
    const run = promisify(execFile);
    temporal = (...args) => run(path, ['workflow', ...args, '--address', stack.server.address]);
  });
  afterEach(async () => {
    await admin.post('release', {});
    await admin.stopRefusing();
  });
  after(() => stack.stop());

  const submit = async (command = STUBBORN, more = {}): Promise<string> =>
    (await stack.jobs.submit({ job: jobFile(command, { pool: POOL, grace: 1, ...more }), user: 'alice' })).id;

  const inPhase = (id: string, phase: string): Promise<unknown> =>
    until(`${id} is ${phase}`, async () => (await stack.jobs.row(id)).phase === phase);

  /** Pids of every process of every TPU VM, by the machine's own numbers. */
  async function vmInits(): Promise<readonly number[]> {
    return (await admin.status()).nodes.flatMap(({ hosts }) => hosts.flatMap(({ init }) => init ?? []));
  }

  async function nothingIsLeft(inits: readonly number[]): Promise<void> {
    await until(
      'no node, no queued resource, no lease',
      async () => {
        const { nodes, queuedResources } = await admin.status();
        const pool = await poolState(stack.client, POOL);
        return nodes.length + queuedResources.length === 0 && pool?.leases.length === 0 && pool.waiting.length === 0;
      },
      60_000,
    ).catch(async (error: unknown) => {
      throw new Error(
        `${String(error)}\n${JSON.stringify(await admin.status())}\n${JSON.stringify(await poolState(stack.client, POOL))}\n${stack.tail(20)}`,
      );
    });
    for (const pid of inits) assert.ok(!existsSync(`/proc/${pid}`), `process ${pid} of a TPU VM lives on`);
    assert.ok(
      mostChipsAtOnce((await admin.journal()).filter(({ subject }) => !subject.includes('stranger'))) <= 16,
      'more chips existed than the pool has',
    );
  }

  /** How a job gets into each phase, and stays there. */
  const phases: Record<string, () => Promise<string>> = {
    queued: async () => {
      await submit();
      await until('the first job has the chips', async () => (await admin.status()).nodes.length > 0);
      const id = await submit();
      await inPhase(id, 'queued');
      await until('it is known to wait', async () =>
        (await poolState(stack.client, POOL))?.waiting.some(({ lease }) => lease.job === id),
      );
      return id;
    },
    provisioning: async () => {
      await admin.post('hold', { state: 'WAITING_FOR_RESOURCES' });
      const id = await submit();
      await until('its request waits', async () =>
        (await admin.status()).queuedResources.some(({ state }) => state === 'WAITING_FOR_RESOURCES'),
      );
      return id;
    },
    'setting-up': async () => {
      const id = await submit(STUBBORN, {
        setup: { modules: ['venv', 'command'] },
        venv: { name: 'v', python: 'python3' },
      });
      await inPhase(id, 'setting-up');
      return id;
    },
    running: async () => {
      const id = await submit();
      await until('it has printed', async () => (await stack.store.list(`jobs/${id}/logs/a1/command/`)).length === 4);
      return id;
    },
  };
  const endings: Record<string, (id: string) => Promise<unknown>> = {
    cancel: (id) => stack.jobs.cancel(id),
    terminate: (id) => temporal('terminate', '--workflow-id', id, '--reason', 'test'),
  };

  for (const [phase, reach] of Object.entries(phases)) {
    for (const [ending, end] of Object.entries(endings)) {
      it(`${ending} while ${phase} leaves no node, no queued resource, no process and no lease`, async () => {
        const id = await reach();
        const inits = await vmInits();
        await end(id);
        if (ending === 'cancel') assert.equal((await stack.jobs.wait(id)).result, 'cancelled', stack.tail());
        else await assert.rejects(stack.jobs.wait(id), JobTerminated);
        // The job that held the chips while another waited.
        for (const { id: other, endedAt } of (await stack.jobs.list({ pool: POOL })).rows) {
          if (other !== id && endedAt === undefined) await stack.jobs.cancel(other);
        }
        await nothingIsLeft(inits);
      });
    }
  }

  it('a cancelled process that ignores SIGTERM had its grace, and its last lines are kept', async () => {
    const id = await submit("trap 'echo got TERM' TERM; echo started; while :; do sleep 0.2; done");
    await until('it has printed', async () => (await stack.store.list(`jobs/${id}/logs/a1/command/`)).length === 4);
    await stack.jobs.cancel(id);
    await stack.jobs.wait(id);
    await assertStopped(id);
    await nothingIsLeft([]);
  });

  async function assertStopped(id: string): Promise<void> {
    for (const host of [0, 1, 2, 3]) {
      const chunks = await stack.store.list(`jobs/${id}/logs/a1/command/host-${host}.`);
      const text = (await Promise.all(chunks.map(({ name }) => stack.store.read(name)))).join('');
      assert.match(text, /^started\n(.*\n)*got TERM\n/);
    }
  }

  it('a cancel that comes between two supervisions stops the command with its grace all the same', async () => {
    const id = await submit("trap 'echo got TERM' TERM; echo started; while :; do sleep 0.2; done");
    await until('it has printed', async () => (await stack.store.list(`jobs/${id}/logs/a1/command/`)).length === 4);
    // The record that is written between two of them is held up.
    await admin.post('refuse', { method: 'objects.insert', code: 'UNAVAILABLE', nameMatches: `${id}/attempts/1.json` });
    await until('nobody watches it', async () => {
      const { raw } = await stack.client.workflow.getHandle(id).describe();
      return raw.pendingActivities?.some(
        ({ activityType, attempt }) => activityType?.name === 'recordAttempt' && (attempt ?? 0) > 1,
      );
    });
    await stack.jobs.cancel(id);
    await until('the job ends', async () => (await stack.jobs.row(id)).phase === 'finishing');
    await admin.stopRefusing();
    await stack.jobs.wait(id);
    await assertStopped(id);
    await nothingIsLeft([]);
  });

  const runIdOf = async (id: string): Promise<string> => (await stack.client.workflow.getHandle(id).describe()).runId;

  it('terminate after a continue-as-new leaves nothing, and the continue-as-new itself took nothing away', async () => {
    const id = (await phases['running']?.()) as string;
    const first = await runIdOf(id);
    await until('it continued as new', async () => (await runIdOf(id)) !== first, 60_000);
    const [slice] = (await admin.status()).nodes;
    const again = await runIdOf(id);
    await until('and once more', async () => (await runIdOf(id)) !== again, 60_000);
    const { nodes } = await admin.status();
    assert.deepEqual([nodes[0]?.name, nodes[0]?.state], [slice?.name, 'READY'], 'its slice serves on');
    assert.equal((await stack.jobs.describe(id)).attempt, 1, 'and so does its attempt');
    const inits = await vmInits();
    await endings['terminate']?.(id);
    await nothingIsLeft(inits);
  });

  it('a reset job adopts its running slice and attempt, and a terminate then leaves nothing', async () => {
    const id = (await phases['running']?.()) as string;
    const [slice] = (await admin.status()).nodes;
    const before = await runIdOf(id);
    await temporal('reset', '--workflow-id', id, '--type', 'FirstWorkflowTask', '--reason', 'test');
    await until('a new run is there', async () => (await runIdOf(id)) !== before);
    await inPhase(id, 'running');
    const { nodes, queuedResources } = await admin.status();
    assert.deepEqual([nodes.length, queuedResources.length, nodes[0]?.name], [1, 1, slice?.name], stack.tail());
    assert.equal((await stack.jobs.describe(id)).attempt, 1);
    const inits = await vmInits();
    await endings['terminate']?.(id);
    await nothingIsLeft(inits);
  });

  it('a job that is reset after its end ends again as it had ended, and its command is not run again', async () => {
    const id = await submit('echo once; exit 3');
    const outcome = await stack.jobs.wait(id);
    await nothingIsLeft([]);
    const before = await runIdOf(id);
    await temporal('reset', '--workflow-id', id, '--type', 'FirstWorkflowTask', '--reason', 'test');
    await until('a new run is there', async () => (await runIdOf(id)) !== before);
    assert.deepEqual(await stack.jobs.wait(id), outcome, stack.tail());
    assert.deepEqual([outcome.exitCode, outcome.attempts], [3, 1]);
    for (const { name } of await stack.store.list(`jobs/${id}/logs/a`))
      assert.equal(String(await stack.store.read(name)), 'once\n', name);
    await nothingIsLeft([]);
  });

  it('a terminated slice workflow is replaced by one that deletes what it owned; the job goes on with another', async () => {
    const id = await submit('echo started; [ "$JOBCTL_ATTEMPT" = 1 ] && sleep 600; true');
    await until('it has printed', async () => (await stack.store.list(`jobs/${id}/logs/a1/command/`)).length === 4);
    const [slice] = (await stack.jobs.describe(id)).slices;
    await temporal('terminate', '--workflow-id', `slice/${slice?.ref.name}`, '--reason', 'test');
    const outcome = await stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.attempts], ['succeeded', 2], stack.tail());
    await nothingIsLeft([]);
  });

  it('a job that was terminated while it waited is forgotten, though its turn never came', async () => {
    const holder = (await phases['running']?.()) as string;
    const id = await submit();
    const isWaiting = async (): Promise<boolean> =>
      (await poolState(stack.client, POOL))?.waiting.some(({ lease }) => lease.job === id) === true;
    await until('it waits', isWaiting);
    await endings['terminate']?.(id);
    await until('it is forgotten', async () => !(await isWaiting()));
    await stack.jobs.cancel(holder);
    await nothingIsLeft([]);
  });

  const sweep = (): Promise<JanitorReport> =>
    stack.client.workflow.execute('janitor', {
      workflowId: `sweep-${Date.now()}`,
      taskQueue: stack.taskQueue,
      args: [{ v: 1 }],
    });

  it('the janitor reclaims what a closed slice workflow left, keeps what an open one has, and only reports the unknown', async () => {
    const id = (await phases['running']?.()) as string;
    assert.deepEqual((await sweep()).reclaimed, [], 'a slice that is looked after is kept');
    const [slice] = (await stack.jobs.describe(id)).slices;
    // Neither the slice itself nor the reconciler may be quicker than the sweep.
    await admin.post('hold', { state: 'DELETING' });
    await temporal('terminate', '--workflow-id', `quota/${POOL}`, '--reason', 'test');
    await temporal('terminate', '--workflow-id', id, '--reason', 'test');
    await temporal('terminate', '--workflow-id', `slice/${slice?.ref.name}`, '--reason', 'test');
    const stranger = await plant(stack, 'jc-stranger-g1');
    try {
      const report = await sweep();
      assert.deepEqual(report.reclaimed, [slice?.ref.name]);
      assert.deepEqual(report.unknown, ['jc-stranger-g1']);
      await admin.post('release', {});
      await until('only the stranger is left', async () => (await admin.status()).queuedResources.length === 1, 60_000);
      assert.deepEqual((await sweep()).unknown, ['jc-stranger-g1'], 'and it is still there');
    } finally {
      await admin.post('release', {});
      await stranger.remove();
    }
    await nothingIsLeft([]);
  });

  it('a pool that the janitor starts by its wake signal grants like every other', async () => {
    const pool = `${POOL}-woken`;
    // As the janitor does it: the signal is there before the first line of the workflow.
    await stack.client.workflow.signalWithStart('quota', {
      workflowId: `quota/${pool}`,
      taskQueue: stack.taskQueue,
      args: [{ v: 1, pool }],
      signal: 'wake',
      signalArgs: [],
    });
    const { id } = await stack.jobs.submit({ job: jobFile('true', { pool }) });
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
  });

  it('a quota workflow that continues as new keeps its epoch, its leases and who waits', async () => {
    const holder = (await phases['running']?.()) as string;
    const waiter = await submit('true');
    const before = await until('one holds, one waits', async () => {
      const state = await poolState(stack.client, POOL);
      return state?.leases.length === 1 && state.waiting.length === 1 ? state : undefined;
    });
    const run = await runIdOf(`quota/${POOL}`);
    await until('it continued as new', async () => (await runIdOf(`quota/${POOL}`)) !== run, 60_000);
    const after = await until('the new run answers', () => poolState(stack.client, POOL));
    const { raw } = await stack.client.workflow.getHandle(`quota/${POOL}`).describe();
    assert.equal(Number(raw.executionConfig?.defaultWorkflowTaskTimeout?.seconds), 60, 'time to read a long history');
    assert.equal(raw.workflowExecutionInfo?.priority?.priorityKey, 1, 'before all jobs');
    assert.equal(after.epoch, before.epoch);
    assert.deepEqual(
      [after.leases[0]?.lease.job, after.leases[0]?.slices, after.waiting[0]?.lease.job],
      [holder, before.leases[0]?.slices, waiter],
    );
    await stack.jobs.cancel(holder);
    assert.equal((await stack.jobs.wait(waiter)).result, 'succeeded', stack.tail());
    await nothingIsLeft([]);
  });

  it('a terminated quota workflow is rebuilt: nothing is granted twice, and the waiting job gets its turn', async () => {
    const holder = (await phases['running']?.()) as string;
    const waiter = await submit('true');
    await until('it waits', async () =>
      (await poolState(stack.client, POOL))?.waiting.some(({ lease }) => lease.job === waiter),
    );
    const epoch = (await poolState(stack.client, POOL))?.epoch as number;
    await temporal('terminate', '--workflow-id', `quota/${POOL}`, '--reason', 'test');
    // A third job's request brings it back.
    const third = await submit('true');
    const rebuilt = await until('it is back and knows all three', async () => {
      const state = await poolState(stack.client, POOL);
      return state && state.epoch > epoch && state.leases.length === 1 && state.waiting.length === 2
        ? state
        : undefined;
    });
    assert.equal(leasedUnits(rebuilt), 16);
    assert.equal(rebuilt.leases[0]?.lease.job, holder);
    await stack.jobs.cancel(holder);
    for (const id of [waiter, third]) assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    await nothingIsLeft([]);
  });
});
