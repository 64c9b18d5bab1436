import { Context } from '@temporalio/activity';
import { Client, type WorkflowHandle } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { describeQuery, type JobView } from '../../contract/job.js';
import { WorkflowType } from '../../contract/workflow-ids.js';
import type { Outcome } from '../../domain/job-state.js';
import type { Condition, RefusalScope } from '../../domain/slice.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { testServer } from '../temporal-server.js';
import { answerLease, plainActivities, type ScriptedActivities } from '../virtual-clock/plain-activities.js';
import { VirtualJob } from '../virtual-clock/virtual-job.js';
import { LOADING } from '../../worker/workflow-code.js';

/** What one job's cloud does. Slices are told apart by their names. */
export interface ScriptedCloud {
  /** Whether the pool lets one more slice be created. */
  hasRoom(isBeside: boolean): boolean;
  create(name: string, zone: string): Created;
  /** Until the slice is ready, or comes to nothing. */
  wait(name: string, zone: string, signal: AbortSignal): Promise<Condition>;
  /** Its command runs on these slices. */
  run?(names: readonly string[]): void;
  /** Resolves when it is gone. */
  delete(name: string): Promise<void>;
}
export type Created =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'refused'; readonly scope: RefusalScope; readonly message: string };

/** Real workflows on a real server, each job before a cloud of its own, with pauses of milliseconds. */
export class ScriptedClouds {
  readonly #clouds = new Map<string, ScriptedCloud>();
  readonly #taskQueue = `scripted-clouds-${process.pid}`;
  readonly #client: Client;
  readonly #end: () => Promise<void>;

  private constructor(client: Client, end: () => Promise<void>) {
    this.#client = client;
    this.#end = end;
  }

  static async start(): Promise<ScriptedClouds> {
    const server = await testServer();
    const connection = await NativeConnection.connect({ address: server.address });
    const clouds = new ScriptedClouds(
      new Client({ connection: server.connection, namespace: server.namespace }),
      async () => {
        worker.shutdown();
        await running;
        await connection.close();
      },
    );
    const worker = await Worker.create({
      connection,
      namespace: server.namespace,
      taskQueue: clouds.#taskQueue,
      ...LOADING,
      workflowBundle: await VirtualJob.bundle(),
      activities: clouds.#activities(),
      // Workflows are replayed all the time, as after deaths of workers.
      maxCachedWorkflows: MOST_CACHED,
    });
    const running = worker.run();
    return clouds;
  }

  end(): Promise<void> {
    return this.#end();
  }

  async submit(id: string, job: Readonly<Record<string, unknown>>, cloud: ScriptedCloud): Promise<ScriptedJob> {
    this.#clouds.set(id, cloud);
    const handle = await this.#client.workflow.start<(input: unknown) => Promise<Outcome>>(WorkflowType.Job, {
      workflowId: id,
      taskQueue: this.#taskQueue,
      args: [{ v: 1, job }],
    });
    return new ScriptedJob(handle);
  }

  #activities(): ScriptedActivities {
    const cloudOf = (job: string): ScriptedCloud => this.#clouds.get(job) as ScriptedCloud;
    return {
      ...plainActivities(this.#taskQueue, TIMINGS),
      sendLease: (message) => answerLease(message, (isBeside) => cloudOf(message.lease.job).hasRoom(isBeside)),
      createSlice: async ({ ref, ownership }) => cloudOf(ownership.job).create(ref.name, ref.zone),
      awaitSlice: async ({ ref, ownership }) => {
        const { cancellationSignal, heartbeat } = Context.current();
        const beating = setInterval(() => heartbeat(), 500);
        return cloudOf(ownership.job)
          .wait(ref.name, ref.zone, cancellationSignal)
          .finally(() => clearInterval(beating));
      },
      superviseAttempt: async ({ job, slices }) => {
        cloudOf(job.id).run?.(slices.map(({ ref }) => ref.name));
        return { kind: 'exited', code: 0, at: { slice: 0, host: 0 }, startedAt: 0 };
      },
      deleteUntilGone: ({ ref, owner }) => cloudOf(owner.job).delete(ref.name),
    };
  }
}

export class ScriptedJob {
  readonly #handle: WorkflowHandle<(input: unknown) => Promise<Outcome>>;

  constructor(handle: WorkflowHandle<(input: unknown) => Promise<Outcome>>) {
    this.#handle = handle;
  }

  /** @throws Error with the workflow's own message */
  outcome(): Promise<Outcome> {
    return this.#handle.result().catch((error: Error & { cause?: Error }) => {
      throw new Error(`${this.#handle.workflowId}: ${error.cause?.message ?? error.message}`, { cause: error });
    });
  }

  view(): Promise<JobView> {
    return this.#handle.query<JobView>(describeQuery.name);
  }
}

/** With more workflows than these at once, some are replayed at each of their tasks. */
export const MOST_CACHED = 30;

const TIMINGS = {
  ...DEFAULT_TIMINGS,
  zonePatienceMs: 100,
  zonePatiencePreemptedMs: 50,
  zoneBackoffMs: 20,
  zoneBackoffMaxMs: 200,
  jobHistoryEvents: 150,
};
