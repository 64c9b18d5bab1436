import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { describeQuery, type JobView } from '../../contract/job.js';
import { WorkflowType } from '../../contract/workflow-ids.js';
import type { Outcome } from '../../domain/job-state.js';
import type { Condition, RefusalScope } from '../../domain/slice.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { Draws } from '../../chaos/random.js';
import { jobFile } from '../end-to-end/job-files.js';
import { TEMPORAL_START_MS, testServer, type TestServer } from '../temporal-server.js';
import { until } from '../until.js';
import { answerLease, plainActivities, READY, type ScriptedActivities } from '../virtual-clock/plain-activities.js';
import { VirtualJob } from '../virtual-clock/virtual-job.js';

const SEED = Number(process.env['JOBCTL_TEST_SEED'] ?? 29);
const JOBS = Number(process.env['JOBCTL_TEST_RACES'] ?? 25);
const AT_ONCE = 20;
const ZONES = ['us-central1-a', 'us-west4-a', 'us-south1-a', 'us-west1-c'];
/** Of refusals that say nothing of another zone. */
const SCOPES: readonly RefusalScope[] = ['zone', 'zone-lasting', 'permission', 'moment', 'unknown', 'request'];

/** One zone gives the job its slices, at some time; the others do whatever providers do. */
class Cloud {
  readonly zones: readonly string[];
  readonly slices: number;
  readonly hedge: number;
  readonly created = new Set<string>();
  readonly deleted = new Set<string>();
  most = 0;
  readonly #free: string;
  readonly #freeAt: number;
  readonly #draws: Draws;

  constructor(draws: Draws) {
    this.#draws = draws;
    this.zones = ZONES.slice(0, draws.between(2, ZONES.length));
    this.slices = draws.between(1, 2);
    this.hedge = draws.between(1, 3);
    this.#free = draws.pick(this.zones);
    this.#freeAt = Date.now() + draws.between(0, 1_500);
  }

  /** A pool with little room says no to what is asked beside the first. */
  hasRoom(isBeside: boolean): boolean {
    return !isBeside || this.#draws.chance(0.8);
  }

  create(
    name: string,
    zone: string,
  ): { readonly kind: 'accepted' } | { kind: 'refused'; scope: RefusalScope; message: string } {
    this.created.add(name);
    this.most = Math.max(this.most, this.created.size - this.deleted.size);
    if (zone === this.#free || this.#draws.chance(0.6)) return { kind: 'accepted' };
    const scope = this.#draws.pick(SCOPES);
    return { kind: 'refused', scope, message: `${zone} refuses: ${scope}` };
  }

  /** Until the slice is ready, or comes to nothing; in most zones without an end. */
  async wait(zone: string, signal: AbortSignal): Promise<Condition> {
    if (zone === this.#free) {
      await sleep(Math.max(0, this.#freeAt - Date.now()) + this.#draws.between(0, 200), undefined, { signal });
      return READY;
    }
    const isFailed = this.#draws.chance(0.3);
    await sleep(isFailed ? this.#draws.between(0, 400) : 600_000, undefined, { signal });
    return { kind: 'lost', cause: 'refused', scope: this.#draws.pick(SCOPES), message: `${zone} gives it up` };
  }
}

describe(`${JOBS} jobs, each with one zone among others that has chips at some time (seed ${SEED})`, function () {
  this.timeout(JOBS * 10_000);
  let server: TestServer;
  let client: Client;
  let running: Promise<void>;
  let worker: Worker;
  let connection: NativeConnection;
  const clouds = new Map<string, Cloud>();
  const taskQueue = `zone-race-${process.pid}`;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    server = await testServer();
    client = new Client({ connection: server.connection, namespace: server.namespace });
    connection = await NativeConnection.connect({ address: server.address });
    worker = await Worker.create({
      connection,
      namespace: server.namespace,
      taskQueue,
      workflowBundle: await VirtualJob.bundle(),
      activities: activities(),
      // Workflows are replayed all the time, as after deaths of workers.
      maxCachedWorkflows: 30,
    });
    running = worker.run();
  });
  after(async () => {
    worker.shutdown();
    await running;
    await connection.close();
  });

  const cloudOf = (job: string): Cloud => clouds.get(job) as Cloud;

  function activities(): ScriptedActivities {
    return {
      ...plainActivities(taskQueue, TIMINGS),
      sendLease: (message) => answerLease(message, (isBeside) => cloudOf(message.lease.job).hasRoom(isBeside)),
      createSlice: async ({ ref, ownership }) => cloudOf(ownership.job).create(ref.name, ref.zone),
      awaitSlice: async ({ ref, ownership }) => {
        const { cancellationSignal, heartbeat } = Context.current();
        const beating = setInterval(() => heartbeat(), 500);
        return cloudOf(ownership.job)
          .wait(ref.zone, cancellationSignal)
          .finally(() => clearInterval(beating));
      },
      deleteUntilGone: async ({ ref, owner }) => {
        await sleep(cloudOf(owner.job).slices * 50);
        cloudOf(owner.job).deleted.add(ref.name);
      },
    };
  }

  async function live(number: number): Promise<void> {
    const id = `race-${process.pid}-${number}`;
    const cloud = new Cloud(new Draws(SEED).part(number));
    clouds.set(id, cloud);
    const { zones, hedge, slices } = cloud;
    // Nothing that a zone says or does not say may cost a retry.
    const retries = { preemption: 0, infrastructure: 0, task: 0 };
    const job = jobFile('train', { slices, retries, tpu: { zone: undefined, zones, hedge } });
    const handle = await client.workflow.start<(input: unknown) => Promise<Outcome>>(WorkflowType.Job, {
      workflowId: id,
      taskQueue,
      args: [{ v: 1, job }],
    });
    const what = `job ${number} of seed ${SEED}`;
    const { result, attempts } = await handle.result().catch((error: Error & { cause?: Error }) => {
      throw new Error(`${what}: ${error.cause?.message ?? error.message}`, { cause: error });
    });
    assert.deepEqual([result, attempts], ['succeeded', 1], what);
    const view = await handle.query<JobView>(describeQuery.name);
    assert.equal(view.slices.length, slices, what);
    assert.equal(new Set(view.slices.map(({ ref }) => ref.zone)).size, 1, `${what}: a gang lies in one zone`);
    await until(`${what}: all that it asked for is given back`, async () =>
      [...cloud.created].every((name) => cloud.deleted.has(name)),
    );
    // One more while the zone that has waited longest goes.
    assert.ok(
      cloud.most <= (hedge + 2) * slices,
      `${what}: ${cloud.most} requests at once, hedge ${hedge}, slices ${slices}`,
    );
  }

  it('all run in that zone, cost no retry, and give back what they asked for elsewhere', async () => {
    let next = 0;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (next < JOBS) await live(next++);
      }),
    );
  });
});

const TIMINGS = {
  ...DEFAULT_TIMINGS,
  zonePatienceMs: 100,
  zonePatiencePreemptedMs: 50,
  zoneBackoffMs: 20,
  zoneBackoffMaxMs: 200,
  jobHistoryEvents: 150,
};
