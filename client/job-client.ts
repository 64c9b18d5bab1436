import { type JOB_REQUESTS, JOB_VERBS, type JobVerb } from '../contract/job-requests.js';
import type { JobView } from '../contract/job.js';
import type { SliceDeletion } from '../domain/lease.js';
import type { Asker, Outcome } from '../domain/job-state.js';
import { HttpJobs } from './http/http-jobs.js';
import type { ServerOptions } from './http/server-options.js';
import type { JobWish } from './job-calls.js';
import type { JobCounts, JobFilter } from './job-query.js';
import type { JobPort, VerifiedCaller } from './job-port.js';
import type { JobPage, JobRow } from './job-rows.js';
import type { NoticesResult } from '../contract/notices.js';
import type { GroupView } from '../contract/group.js';
import type { GroupState } from '../domain/array/group-state.js';
import type { GroupFilter, GroupRow } from './group-rows.js';
import type { RetryOptions, StopOptions } from './groups.js';
import type { NotifyTest, MachinesClient, PoolClient } from './pool-client.js';
import type { SchedulesClient } from './schedules.js';
import type { Submission, Submitted } from './submissions.js';
import { isPolled, type TaskQueuePolls } from './temporal-calls.js';
import { TemporalJobs, type TemporalJobsOptions } from './temporal-jobs.js';
import type { UploadProgress } from './uploads.js';

/** Options for a direct connection to Temporal, or for `jobctl serve`, which needs neither Temporal nor a bucket here. */
export type JobClientOptions = (TemporalJobsOptions & { readonly server?: undefined }) | HttpJobClientOptions;

export interface HttpJobClientOptions extends ServerOptions {
  /** Called many times a second while files are uploaded to the store. */
  readonly onUpload?: (progress: UploadProgress) => void;
}

/**
 * A request to a job returns a sentence once the job has noted it.
 * @param by the user who asks
 * @param wish `from`: host name of the user's computer
 * @throws JobRefused if the job has ended or its state does not allow this; nothing was changed then. JobNotFound.
 *   TemporalUnreachable if no worker answered; the request may still be carried out.
 */
type Request<Verb extends JobVerb> =
  object extends JobWish<Verb>
    ? (id: string, by: string, wish?: JobWish<Verb>) => Promise<string>
    : (id: string, by: string, wish: JobWish<Verb>) => Promise<string>;
/** A method for each request that people make. Its comment is in the verb's row of contract/job-requests.ts. */
type Requests = { readonly [Verb in keyof typeof JOB_REQUESTS]: Request<Verb> };
// The methods are defined from the rows when the class is made, so the class needs no line for each.
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging
export interface JobClient extends Requests {}
/**
 * Submits, describes, waits for and cancels jobs: the library below `jobctl`, for other services to import. Over Temporal, every
 * call rejects with `TemporalUnreachable` if the server does not answer within 10 s, and with `TemporalRefused` if the server
 * denies access, lacks the namespace, or is not set up for jobctl. Over `jobctl serve` the errors are `ServerUnreachable`,
 * `ServerRefused`, `NotLoggedIn`, `Forbidden` and `TooManyRequests`; the token names the caller, and `by` and `asker` are
 * ignored. Every error says what to do.
 */
export class JobClient {
  readonly #jobs: JobPort;

  static {
    for (const verb of JOB_VERBS)
      Object.defineProperty(this.prototype, verb, {
        value(this: JobClient, id: string, by: string, wish: JobWish<JobVerb> = {}): Promise<string> {
          return this.#jobs.tell(id, verb, by, wish);
        },
      });
  }

  private constructor(jobs: JobPort) {
    this.#jobs = jobs;
  }

  static async connect(options: JobClientOptions = {}): Promise<JobClient> {
    if (options.server !== undefined) return new JobClient(new HttpJobs(options));
    return new JobClient(await TemporalJobs.connect(options));
  }

  /** @throws JobInvalid, JobNameTaken or TemporalRefused; nothing was submitted then */
  submit(submission: Submission): Promise<Submitted> {
    return this.#jobs.submit(submission);
  }

  /** The first `limit` jobs (default 100) and the total: open jobs first, newest first, then ended jobs, latest end first. */
  list({ limit = 100, ...filter }: JobFilter & { readonly limit?: number } = {}): Promise<JobPage> {
    return this.#jobs.list(filter, limit);
  }

  /** Like `list`, without counting. @param most absent: all, in pages of 1,000 */
  find(filter: JobFilter, most?: number): Promise<readonly JobRow[]> {
    return this.#jobs.find(filter, most);
  }

  /** Counts the matching jobs, with one call of the server regardless of their number. */
  count(filter: JobFilter = {}): Promise<JobCounts> {
    return this.#jobs.count(filter);
  }

  /** One job's row, strongly consistent; needs no worker. @throws JobNotFound */
  row(id: string): Promise<JobRow> {
    return this.#jobs.row(id);
  }

  /** Reports whether workers poll a task queue. @param taskQueue absent: the queue that this client submits to */
  polls(taskQueue?: string): Promise<TaskQueuePolls> {
    return this.#jobs.polls(taskQueue);
  }

  /** The polls of an open job's own task queue if no worker polls it: the job makes no progress then. One call. */
  async unattended({ endedAt, taskQueue }: JobRow): Promise<TaskQueuePolls | undefined> {
    if (endedAt !== undefined) return undefined;
    const polls = await this.#jobs.polls(taskQueue);
    return isPolled(polls, Date.now()) ? undefined : polls;
  }

  /** Everything that the job's workflow knows. @throws JobNotFound; TemporalUnreachable if no worker answers within 10 s */
  describe(id: string): Promise<JobView> {
    return this.#jobs.describe(id);
  }

  /**
   * Waits until the job has its outcome, however it ended. If the job keeps its slices (`keep`), the outcome comes before its
   * workflow closes.
   * @throws JobInvalid if the job was refused, JobTerminated if its workflow was ended from outside, JobNotFound.
   */
  wait(id: string): Promise<Outcome> {
    return this.#jobs.wait(id);
  }

  /**
   * Asks the job to stop its command, give its slices back and end as cancelled. Returns at once and needs no worker. Repeating
   * is safe. `asker` is recorded in the outcome and is not verified.
   */
  cancel(id: string, asker?: Asker): Promise<'cancelling' | 'done'> {
    return this.#jobs.cancel(id, asker);
  }

  /** Groups that match, open ones first, the newest before. One call, regardless of their number, up to 1,000. */
  groups(filter: GroupFilter = {}, most = 100): Promise<readonly GroupRow[]> {
    return this.#jobs.groups(filter, most);
  }

  /** A group's row: who submitted it, and how many members it has; needs no worker. @throws GroupNotFound */
  group(id: string): Promise<GroupRow> {
    return this.#jobs.group(id);
  }

  /** A group's array and the state of each member. Without a worker it is what lists know (`isFromLists`). @throws GroupNotFound */
  describeGroup(id: string): Promise<GroupView> {
    return this.#jobs.describeGroup(id);
  }

  /** Waits until no member of a group waits or is open. @throws GroupNotFound */
  waitGroup(id: string): Promise<GroupState> {
    return this.#jobs.waitGroup(id);
  }

  /** Cancels all members of a group; those that have not begun never do. Returns at once and needs no worker. */
  cancelGroup(id: string, asker?: Asker): Promise<'cancelling' | 'done'> {
    return this.#jobs.cancelGroup(id, asker);
  }

  /**
   * Runs the failed members of a group again, under ids `<group>-r<n>-<index>`. Returns a sentence.
   * @throws JobRefused if no member failed; GroupNotFound
   */
  retryGroup(id: string, by: string, options?: RetryOptions): Promise<string> {
    return this.#jobs.retryGroup(id, by, options);
  }

  /** Lets a group begin that waits for others. Repeating is safe. Returns a sentence. @throws JobRefused; GroupNotFound */
  beginGroup(id: string, by: string, options?: Pick<RetryOptions, 'from'>): Promise<string> {
    return this.#jobs.beginGroup(id, by, options);
  }

  /**
   * Stops the open members of a group, and lets no other begin until `resumeGroup`. The group asks its members itself;
   * `stopRound` of `describeGroup` tells how far it is. Repeating is safe. Returns a sentence.
   * @throws JobRefused if it has ended; GroupNotFound
   */
  stopGroup(id: string, by: string, options?: StopOptions): Promise<string> {
    return this.#jobs.stopGroup(id, by, options);
  }

  /** Lets a stopped group go on, and each of its stopped members. Returns a sentence. @throws JobRefused; GroupNotFound */
  resumeGroup(id: string, by: string, options?: Pick<RetryOptions, 'from'>): Promise<string> {
    return this.#jobs.resumeGroup(id, by, options);
  }

  /** Names of the job's slices that its workflows have yet to delete; empty for a job that was never accepted. */
  openSlices(id: string): Promise<readonly string[]> {
    return this.deletions(id).then((deletions) => deletions.map(({ slice }) => slice));
  }

  /** Like `openSlices`, each with the last answer of its provider, if known. */
  deletions(id: string): Promise<readonly SliceDeletion[]> {
    return this.#jobs.deletions(id);
  }

  /** Client for a pool: its files, freeze and drain, priorities. */
  quota(pool = 'default'): PoolClient {
    return this.#jobs.quota(pool);
  }

  /** Client for the machines that a pool owns; for operators. */
  machines(pool = 'default'): MachinesClient {
    return this.#jobs.machines(pool);
  }

  /** Client for schedules, which start jobs at the times of a cron. */
  schedules(): SchedulesClient {
    return this.#jobs.schedules();
  }

  /** Has a worker send one event to each target. Only callers with access to Temporal can do it. */
  testNotify(test: NotifyTest): Promise<NoticesResult> {
    return this.#jobs.testNotify(test);
  }

  /** Identity under which the server knows the caller. Undefined over Temporal, which does not verify it. */
  whoAmI(): Promise<VerifiedCaller | undefined> {
    return this.#jobs.whoAmI();
  }

  /** Closes the connection if this client made it. */
  close(): Promise<void> {
    return this.#jobs.close();
  }
}
