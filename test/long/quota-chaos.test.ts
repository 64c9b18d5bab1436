import assert from 'node:assert/strict';
import { leasedUnits, poolState } from '../end-to-end/pool-watch.js';
import { cloudIsEmpty } from '../end-to-end/nothing-left.js';
import { mostChipsAtOnce, RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { TestStack } from '../end-to-end/test-stack.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { quotaWorkflowId } from '../../contract/workflow-ids.js';
import { auditLeaks } from './audit-leaks.js';
import { chaosPlan, drawJob, pick, POOL_FILE, POOL_UNITS, QUOTA } from './quota-chaos-plan.js';

/** `JOBCTL_CHAOS_JOBS=60 npx mocha test/long/quota-chaos.test.ts`: a short one. */
const JOBS = Number(process.env['JOBCTL_CHAOS_JOBS'] ?? 1_000);
const SEED = Number(process.env['JOBCTL_CHAOS_SEED'] ?? Date.now() % 1_000_000);
const POOL = `chaos-${SEED}`;
/** So many are open at a time: the pool holds some 12, all others wait. */
const OPEN_AT_ONCE = 60;
const ALL_MS = 5 * 60_000 + JOBS * 6_000;

describe(`quota: ${JOBS} jobs through a pool for ${POOL_UNITS}, struck at random (JOBCTL_CHAOS_SEED=${SEED})`, function () {
  this.timeout(ALL_MS);
  const plan = chaosPlan(SEED, JOBS);
  const { random } = plan;
  const struck = { cancelled: 0, terminated: 0, slices: 0, quota: 0, workers: 0 };
  let stack: TestStack;
  let admin: RehearsalAdmin;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start({ pool: POOL, quota: QUOTA, poolFile: POOL_FILE });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
  });
  after(async function () {
    this.timeout(60_000);
    await stack?.stop();
  });

  async function running(type: 'job' | 'slice'): Promise<readonly string[]> {
    const query = `TaskQueue = '${stack.taskQueue}' AND WorkflowType = '${type}' AND ExecutionStatus = 'Running'`;
    const ids: string[] = [];
    for await (const { workflowId } of stack.client.workflow.list({ query })) ids.push(workflowId);
    return ids;
  }

  /** The list lags behind what was started: only what it shows as closed is. */
  async function closed(): Promise<number> {
    const query = `TaskQueue = '${stack.taskQueue}' AND WorkflowType = 'job' AND ExecutionStatus != 'Running'`;
    return (await stack.client.workflow.count(query)).count;
  }

  /** What is closed by now cannot be struck: that is no failure. */
  async function strike(id: string, how: 'cancel' | 'terminate'): Promise<boolean> {
    const handle = stack.client.workflow.getHandle(id);
    return (how === 'cancel' ? handle.cancel() : handle.terminate('chaos')).then(
      () => true,
      () => false,
    );
  }

  /** One in four jobs is struck itself, one in fifteen a slice; twenty times in 1,000 the pool's own workflow. */
  async function blow(open: readonly string[], ended: number): Promise<void> {
    const chance = random();
    if (chance < 0.02 || ended === Math.floor(JOBS / 3)) {
      struck.quota += Number(await strike(quotaWorkflowId(POOL), 'terminate'));
    } else if (chance < 0.025 || ended === Math.floor(JOBS / 2)) {
      await stack.killWorker();
      await stack.startWorker();
      struck.workers += 1;
    } else if (chance < 0.15) struck.cancelled += Number(await strike(pick(random, open), 'cancel'));
    else if (chance < 0.27) struck.terminated += Number(await strike(pick(random, open), 'terminate'));
    else if (chance < 0.34) {
      const slices = await running('slice');
      if (slices.length > 0) struck.slices += Number(await strike(pick(random, slices), 'terminate'));
    }
  }

  it('all of them close', async () => {
    let submitted = 0;
    let blows = 0;
    await until(
      `${JOBS} jobs are closed`,
      async () => {
        const open = await running('job');
        const ended = await closed();
        const room = Math.min(OPEN_AT_ONCE - (submitted - ended), JOBS - submitted);
        const drawn = Array.from({ length: Math.max(0, room) }, () => drawJob(plan, POOL));
        await Promise.all(drawn.map((each) => stack.jobs.submit(each)));
        submitted += drawn.length;
        // One chance of a blow for each job that has closed.
        for (; blows < ended && open.length > 0; blows += 1) await blow(open, blows);
        return ended === JOBS;
      },
      ALL_MS - 120_000,
    ).catch(async (error: unknown) => {
      const state = await poolState(stack.client, POOL);
      const open = await running('job');
      throw new Error(`${String(error)}\nopen: ${open.join(', ')}\n${JSON.stringify(state)}\n${stack.tail()}`);
    });
    console.log(`      struck: ${JSON.stringify(struck)}`);
    assert.ok(struck.cancelled > 0 && struck.terminated > 0, 'nobody was struck');
  });

  it('no lease is left, and nothing in the cloud', async () => {
    await until(
      'no lease is left and nobody waits',
      async () => {
        const state = await poolState(stack.client, POOL);
        return state !== undefined && leasedUnits(state) === 0 && state.waitingCount === 0;
      },
      120_000,
    );
    await cloudIsEmpty(admin);
    const report = await auditLeaks(stack).catch(
      (error: { readonly stdout?: string }) => error.stdout ?? String(error),
    );
    assert.match(report, /^0 leaks, 0 leases without a job/u, report);
  });

  it('at no instant were there more chips in the cloud than the pool has', async () => {
    const journal = await admin.journal();
    const most = mostChipsAtOnce(journal);
    console.log(`      at most ${most} of ${POOL_UNITS} chips at once, ${journal.length} lines of journal`);
    assert.ok(most <= POOL_UNITS, `${most} chips at once, the pool has ${POOL_UNITS}`);
    assert.ok(most > POOL_UNITS / 2, `${most} chips at once: it was never full`);
  });
});
