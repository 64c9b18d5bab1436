import type { NoticesResult } from '../contract/notices.js';
import {
  type NotifyTest,
  testNotify,
  type MachinesClient,
  TemporalMachines,
  type PoolClient,
  TemporalPool,
} from './pool-client.js';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { StorePort } from '../cloud/store/port.js';
import type { SliceDeletion } from '../domain/lease.js';
import { type Asker, JobPhase, type Outcome } from '../domain/job-state.js';
import type { JobActivities } from '../contract/job-activities.js';
import { requestNameOf } from '../domain/machines.js';
import { describeQuery, type JobMemo, type JobView } from '../contract/job.js';
import type { JobVerb } from '../contract/job-requests.js';
import { TASK_QUEUE } from '../domain/temporal-server.js';
import { connectTemporal, type TemporalOptions } from './connect.js';
import { JobEncrypted, JobInvalid, JobRefused, JobTerminated } from './errors.js';
import type { GroupView } from '../contract/group.js';
import type { GroupState } from '../domain/array/group-state.js';
import { findGroups, type GroupFilter, type GroupRow } from './group-rows.js';
import { Groups, type RetryOptions, type StopOptions } from './groups.js';
import { cancelOpen, JobCalls, type JobWish } from './job-calls.js';
import { failingTaskOf, describeJob, isAttended, readable } from './job-executions.js';
import type { Waiter } from './wait-notes.js';
import { countJobs, findJobs, type JobCounts, type JobFilter } from './job-query.js';
import { type JobPage, type JobRow, rowOf } from './job-rows.js';
import type { JobPort } from './job-port.js';
import { type SchedulesClient, TemporalSchedules } from './schedules.js';
import { type Submission, Submissions, type Submitted } from './submissions.js';
import { type TaskQueuePolls, taskQueuePolls, TemporalCalls } from './temporal-calls.js';
import { type UploadFiles, uploadFiles, type UploadProgress } from './uploads.js';

export interface TemporalJobsOptions extends Waiter {
  /** A Temporal Client of the caller, who also closes it. */
  readonly client?: Client;
  /** Connection settings if `client` is absent; missing fields come from @temporalio/envconfig. */
  readonly temporal?: TemporalOptions;
  readonly taskQueue?: string;
  /** Needed for jobs that name local files. */
  readonly store?: Pick<StorePort, 'upload'>;
  /** Called many times a second while files are uploaded to the store. */
  readonly onUpload?: (progress: UploadProgress) => void;
}

/** Jobs over Temporal itself. Callers that reach the namespace are not verified. */
export class TemporalJobs implements JobPort {
  readonly #temporal: Client;
  readonly #taskQueue: string;
  readonly #close: () => Promise<void>;
  readonly #where: string;
  readonly #calls: TemporalCalls;
  readonly #submissions: Submissions;
  readonly #people: JobCalls;
  readonly #groups: Groups;
  readonly #schedules: TemporalSchedules;

  private constructor(temporal: Client, options: TemporalJobsOptions, server: string, close: () => Promise<void>) {
    this.#temporal = temporal;
    this.#taskQueue = options.taskQueue ?? TASK_QUEUE;
    this.#where = `in namespace ${temporal.options.namespace} of ${server}`;
    this.#calls = new TemporalCalls(temporal, server, options);
    this.#close = close;
    const means = { temporal, calls: this.#calls, where: this.#where };
    const { store, onUpload } = options;
    const upload: UploadFiles = (files) => uploadFiles(files, { store, onProgress: onUpload });
    this.#submissions = new Submissions({ ...means, taskQueue: this.#taskQueue, upload });
    this.#groups = new Groups({ ...means, taskQueue: this.#taskQueue, polls: (taskQueue) => this.polls(taskQueue) });
    this.#schedules = new TemporalSchedules({ ...means, taskQueue: this.#taskQueue, upload });
    this.#people = new JobCalls({ ...means, upload, polls: () => this.polls() });
  }

  static async connect(options: TemporalJobsOptions = {}): Promise<TemporalJobs> {
    if (options.client) return new TemporalJobs(options.client, options, 'Temporal', async () => undefined);
    const { client, address, close } = await connectTemporal(options.temporal ?? {});
    return new TemporalJobs(client, options, `Temporal at ${address}`, close);
  }

  submit(submission: Submission): Promise<Submitted> {
    return this.#submissions.submit(submission);
  }

  async list(filter: JobFilter, limit: number): Promise<JobPage> {
    const [{ total, open }, rows] = await Promise.all([this.count(filter), this.find(filter, limit)]);
    return { rows, total, open };
  }

  find(filter: JobFilter, most?: number): Promise<readonly JobRow[]> {
    return findJobs({ temporal: this.#temporal, calls: this.#calls }, filter, most);
  }

  count(filter: JobFilter): Promise<JobCounts> {
    return countJobs({ temporal: this.#temporal, calls: this.#calls }, filter);
  }

  async row(id: string): Promise<JobRow> {
    const execution = await this.#describe(id);
    const failingTask = await failingTaskOf({ temporal: this.#temporal, calls: this.#calls }, execution);
    const row = rowOf(execution);
    const isSettingUp = row.phase === JobPhase.SettingUp;
    return {
      ...row,
      taskQueue: execution.taskQueue,
      ...(failingTask && { failingTask }),
      ...(isSettingUp && { isSetUpAttended: isAttended(execution, SET_UP) }),
    };
  }

  polls(taskQueue = this.#taskQueue): Promise<TaskQueuePolls> {
    return taskQueuePolls({ temporal: this.#temporal, calls: this.#calls }, taskQueue);
  }

  async describe(id: string): Promise<JobView> {
    const { taskQueue } = await this.#describe(id);
    const handle = this.#temporal.workflow.getHandle(id);
    const of = { whom: `job ${id}`, polls: () => this.polls(taskQueue) };
    return readable(id, await this.#calls.query(() => handle.query(describeQuery), of));
  }

  async wait(id: string): Promise<Outcome> {
    const known = await this.#outcomeOfOpen(id);
    if (known !== undefined) return known;
    try {
      return readable(id, (await this.#temporal.workflow.getHandle(id).result()) as Outcome);
    } catch (error) {
      return this.#outcomeOf(id, error);
    }
  }

  async cancel(id: string, asker?: Asker): Promise<'cancelling' | 'done'> {
    const execution = await this.#describe(id);
    if (execution.status.name !== 'RUNNING') return 'done';
    return cancelOpen({ temporal: this.#temporal, calls: this.#calls }, id, asker);
  }

  async tell<Verb extends JobVerb>(id: string, verb: Verb, by: string, wish: JobWish<Verb>): Promise<string> {
    const { status } = await this.#describe(id);
    if (status.name !== 'RUNNING') throw new JobRefused(id, `job ${id} has ended: its outcome is final`);
    return this.#people.tell(id, verb, by, wish);
  }

  groups(filter: GroupFilter, most: number): Promise<readonly GroupRow[]> {
    return findGroups({ temporal: this.#temporal, calls: this.#calls }, filter, most);
  }

  group(id: string): Promise<GroupRow> {
    return this.#groups.row(id);
  }

  describeGroup(id: string): Promise<GroupView> {
    return this.#groups.view(id);
  }

  waitGroup(id: string): Promise<GroupState> {
    return this.#groups.wait(id);
  }

  cancelGroup(id: string, asker?: Asker): Promise<'cancelling' | 'done'> {
    return this.#groups.cancel(id, asker);
  }

  retryGroup(id: string, by: string, options?: RetryOptions): Promise<string> {
    return this.#groups.retry(id, by, options);
  }

  beginGroup(id: string, by: string, options?: Pick<RetryOptions, 'from'>): Promise<string> {
    return this.#groups.begin(id, by, options);
  }

  stopGroup(id: string, by: string, options?: StopOptions): Promise<string> {
    return this.#groups.stop(id, by, options);
  }

  resumeGroup(id: string, by: string, options?: Pick<RetryOptions, 'from'>): Promise<string> {
    return this.#groups.resume(id, by, options);
  }

  async deletions(id: string): Promise<readonly SliceDeletion[]> {
    const { attempts } = ((await this.#describe(id)).memo ?? {}) as Partial<JobMemo>;
    if (attempts === undefined) return [];
    const { slices } = await this.describe(id);
    const names = slices.filter(({ state }) => state !== 'gone').map(({ ref }) => requestNameOf(ref));
    return this.#people.deletions([...new Set(names)]);
  }

  quota(pool: string): PoolClient {
    return new TemporalPool(pool, {
      temporal: this.#temporal,
      calls: this.#calls,
      taskQueue: this.#taskQueue,
      where: this.#where,
    });
  }

  machines(pool: string): MachinesClient {
    return new TemporalMachines(pool, { temporal: this.#temporal, calls: this.#calls, taskQueue: this.#taskQueue });
  }

  schedules(): SchedulesClient {
    return this.#schedules;
  }

  testNotify(test: NotifyTest): Promise<NoticesResult> {
    return testNotify({ temporal: this.#temporal, calls: this.#calls, taskQueue: this.#taskQueue }, test);
  }

  /** Temporal does not verify the caller. */
  async whoAmI(): Promise<undefined> {
    return undefined;
  }

  close(): Promise<void> {
    return this.#close();
  }

  // ----------------------------------------------------------------------------------------------------------------

  /** Waits for the outcome of a job that keeps its slices; undefined once it is closed. Undefined at once for any other job. */
  async #outcomeOfOpen(id: string): Promise<Outcome | undefined> {
    for (let look = 0; ; look++) {
      const { memo, closeTime } = await this.#describe(id);
      const { outcome, keeps, contentHash: accepted } = (memo ?? {}) as Partial<JobMemo>;
      if (closeTime !== undefined || (accepted !== undefined && keeps !== true)) return undefined;
      if (outcome !== undefined) return readable(id, outcome);
      await sleep(look < EARLY_LOOKS ? EARLY_LOOK_MS : LOOK_MS);
    }
  }

  #describe(id: string): Promise<WorkflowExecutionDescription> {
    return describeJob({ temporal: this.#temporal, calls: this.#calls, where: this.#where }, id);
  }

  async #outcomeOf(id: string, error: unknown): Promise<Outcome> {
    const { WorkflowFailedError } = await import('@temporalio/client');
    const { ApplicationFailure, CancelledFailure, TerminatedFailure, TimeoutFailure } =
      await import('@temporalio/common');
    if (!(error instanceof WorkflowFailedError)) throw error;
    const { cause } = error;
    if (cause instanceof TerminatedFailure) throw new JobTerminated(id, 'terminated');
    if (cause instanceof TimeoutFailure) throw new JobTerminated(id, 'timed out');
    if (cause instanceof ApplicationFailure) {
      const outcome = readable(id, cause.details?.[0] as Outcome | undefined);
      if (outcome) return outcome;
      const { encryptedWith } = await this.row(id);
      throw encryptedWith === undefined ? new JobInvalid(cause.message) : new JobEncrypted(id, encryptedWith);
    }
    const { outcome, encryptedWith } = await this.row(id);
    if (outcome) return outcome;
    if (encryptedWith !== undefined) throw new JobEncrypted(id, encryptedWith);
    if (cause instanceof CancelledFailure) return CANCELLED_BEFORE_ACCEPTED;
    throw error;
  }
}

const SET_UP: keyof JobActivities = 'setUpHosts';

/** Interval between reads of a job whose outcome comes before its workflow closes. */
const LOOK_MS = 2_000;
const EARLY_LOOK_MS = 250;
const EARLY_LOOKS = 20;

const CANCELLED_BEFORE_ACCEPTED: Outcome = {
  result: 'cancelled',
  cause: { by: 'user', message: 'cancelled before a worker took it' },
  attempts: 0,
  preemptions: 0,
  submittedAt: 0,
  endedAt: 0,
};
