import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { bundleWorkflowCode, NativeConnection, Worker, type WorkflowBundleWithSourceMap } from '@temporalio/worker';
import type {
  AttemptEnd,
  AttemptInput,
  JobActivities,
  RepeatedWorkFound,
  SetUpEnd,
} from '../../contract/job-activities.js';
import { describeQuery, type JobView } from '../../contract/job.js';
import { WorkflowType } from '../../contract/workflow-ids.js';
import type { Outcome } from '../../domain/job-state.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { INTERCEPTORS, SHARED_MODULES } from '../../worker/workflow-code.js';
import { jobFile } from '../end-to-end/job-files.js';
import { answerLease, plainActivities, READY, type ScriptedActivities, WAITING } from './plain-activities.js';
import { startTimeSkippingServer, type TimeSkippingServer } from './time-skipping.js';
import { LOADING } from '../../worker/workflow-code.js';

const QUEUE = 'virtual';
const ID = 'job-of-days';
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** What the hosts, the pool and the cloud do in a test; what it leaves out works at once. */
export interface Script {
  /** The n-th supervision of the job, from 1. It may let virtual time pass. */
  readonly supervise: (call: number, input: AttemptInput) => Promise<AttemptEnd>;
  readonly setUp?: () => Promise<SetUpEnd>;
  readonly isGranted?: boolean;
  /** Whether the slice in this zone is ready, asked each ten minutes; without it at once. */
  readonly isProvisioned?: (zone: string) => boolean | Promise<boolean>;
  readonly recordOutcome?: (input: Parameters<JobActivities['recordOutcome']>[0]) => Promise<void>;
  /** What the logs tell of work that was done again. */
  readonly repeated?: RepeatedWorkFound;
}

export const succeeded: AttemptEnd = { kind: 'exited', code: 0, at: { slice: 0, host: 0 }, startedAt: 0 };

/**
 * A job workflow and its slice workflows as they ship, with their own timers and retries, on Temporal's test server, whose time
 * jumps. Their activities wait by the clock of this computer, so here they are scripts that let virtual time pass
 * (docs/adr/0053). An activity that time skips beyond its own timeout stops the clock for good: a supervision has a day.
 * One server for each job, so that no job meets the clock of another.
 */
export class VirtualJob {
  readonly #client: Client;
  /** Lets virtual time pass, at once. */
  readonly pass: TimeSkippingServer['pass'];
  readonly now: TimeSkippingServer['now'];
  /** Resolves when the job tells its hosts to stop the command, or to end their set-up. */
  readonly stopped: Promise<void>;
  #stop: () => void = () => undefined;

  private constructor({ connection, pass, now }: TimeSkippingServer) {
    this.#client = new Client({ connection });
    this.pass = pass;
    this.now = now;
    this.stopped = new Promise((resolve) => (this.#stop = resolve));
  }

  /** Workflow code for all jobs. */
  static bundle(): Promise<WorkflowBundleWithSourceMap> {
    return bundleWorkflowCode({
      workflowsPath: fileURLToPath(new URL('../../workflows/index.ts', import.meta.url)),
      preloadModules: [...SHARED_MODULES],
      workflowInterceptorModules: [...INTERCEPTORS],
    });
  }

  /** Runs a job to its end. @param more of its file */
  static async live(
    workflowBundle: WorkflowBundleWithSourceMap,
    script: (job: VirtualJob) => Script,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<Outcome> {
    const server = await startTimeSkippingServer();
    const connection = await NativeConnection.connect({ address: server.address });
    try {
      const job = new VirtualJob(server);
      const activities = scripted(script(job), () => job.#stop());
      const worker = await Worker.create({ connection, taskQueue: QUEUE, workflowBundle, activities, ...LOADING });
      return await worker.runUntil(() => job.#outcome(more));
    } finally {
      await connection.close();
      await server.stop();
    }
  }

  /** Of the job at present: what it waits for. */
  readonly why = async (): Promise<string> =>
    (await this.#client.workflow.getHandle(ID).query<JobView>(describeQuery.name)).why ?? '';

  async #outcome(more: Readonly<Record<string, unknown>>): Promise<Outcome> {
    try {
      return await this.#client.workflow.execute<(input: unknown) => Promise<Outcome>>(WorkflowType.Job, {
        workflowId: ID,
        taskQueue: QUEUE,
        args: [{ v: 1, job: jobFile('train', more) }],
      });
    } catch (error) {
      return outcomeIn(error);
    }
  }
}

function outcomeIn(error: unknown): Outcome {
  const { cause } = error as { readonly cause?: unknown };
  const [outcome] = cause instanceof ApplicationFailure ? (cause.details ?? []) : [];
  if (outcome === undefined) throw error;
  return outcome as Outcome;
}

function scripted(script: Script, stop: () => void): ScriptedActivities {
  let supervisions = 0;
  return {
    ...plainActivities(QUEUE, TIMINGS),
    setUpHosts: async () => (await script.setUp?.()) ?? { kind: 'ready' },
    stopSetUp: async () => stop(),
    superviseAttempt: (input) => script.supervise((supervisions += 1), input),
    stopAttempt: async () => stop(),
    recordOutcome: async (input) => script.recordOutcome?.(input),
    findDoneTwice: async () => script.repeated ?? {},
    sendLease: async (message) => {
      if (message.body.kind !== 'request' || script.isGranted !== false) await answerLease(message);
    },
    putAside: async () => undefined,
    inspectSlice: async () => (script.isProvisioned === undefined ? READY : WAITING),
    awaitSlice: async ({ ref }) => {
      if (script.isProvisioned === undefined || (await script.isProvisioned(ref.zone))) return READY;
      // It waits for days, and sends heartbeats by the clock of this computer: time cannot jump while it runs.
      throw ApplicationFailure.create({ message: 'not ready', nextRetryDelay: '10 minutes' });
    },
  };
}

/** Heartbeats are sent by the clock of this computer. */
const TIMINGS = { ...DEFAULT_TIMINGS, heartbeatTimeoutMs: 30 * DAY };
