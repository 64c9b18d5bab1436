import type { JobView } from '../contract/job.js';
import type { SliceDeletion } from '../domain/lease.js';
import type { Asker, Outcome } from '../domain/job-state.js';
import { HttpJobs } from './http/http-jobs.js';
import type { ServerOptions } from './http/server-options.js';
import type { JobEdit, JobRestart, RequeuePlace, SetUpWish } from './job-calls.js';
import type { JobCounts } from './job-finding.js';
import type { JobPort, VerifiedCaller } from './job-port.js';
import type { JobFilter } from './job-query.js';
import type { JobPage, JobRow } from './job-rows.js';
import type { MachinesClient } from './machines-client.js';
import type { PoolClient } from './pool-client.js';
import type { Submission, Submitted } from './submissions.js';
import { isPolled, type TaskQueuePolls } from './task-queue-polls.js';
import { TemporalJobs, type TemporalJobsOptions } from './temporal-jobs.js';
import type { UploadProgress } from './uploads.js';

/** By Temporal itself, or by `jobctl serve`, which needs neither Temporal nor a bucket here. */
export type JobClientOptions = (TemporalJobsOptions & { readonly server?: undefined }) | HttpJobClientOptions;

export interface HttpJobClientOptions extends ServerOptions {
  /** Told of files on their way to the store, many times a second. */
  readonly onUpload?: (progress: UploadProgress) => void;
}

/**
 * Submits, describes, waits for and cancels jobs: what `jobctl` is made on, for other services to import.
 * By Temporal, every call rejects with `TemporalUnreachable` if the server does not answer within 10 s, and with `TemporalRefused` if
 * it lets nobody in, has not the namespace, or is not set up for jobctl. By `jobctl serve` these are `ServerUnreachable`,
 * `ServerRefused`, `NotLoggedIn`, `Forbidden` and `TooManyRequests`; who asks is whom the token names, and `by` and `asker` are not
 * read. All say what to do.
 */
export class JobClient {
  readonly #jobs: JobPort;

  private constructor(jobs: JobPort) {
    this.#jobs = jobs;
  }

  static async connect(options: JobClientOptions = {}): Promise<JobClient> {
    if (options.server !== undefined) return new JobClient(new HttpJobs(options));
    return new JobClient(await TemporalJobs.connect(options));
  }

  /** @throws JobInvalid, JobNameTaken, TemporalRefused; nothing was submitted then. */
  submit(submission: Submission): Promise<Submitted> {
    return this.#jobs.submit(submission);
  }

  /** The first `limit` jobs, 100 without it: open ones first, the newest of them first, then those that ended last. And how many there are. */
  list({ limit = 100, ...filter }: JobFilter & { readonly limit?: number } = {}): Promise<JobPage> {
    return this.#jobs.list(filter, limit);
  }

  /** The same without counting; @param most absent: all, in pages of 1,000 */
  find(filter: JobFilter, most?: number): Promise<readonly JobRow[]> {
    return this.#jobs.find(filter, most);
  }

  /** How many jobs match. One call of the server, whatever their number. */
  count(filter: JobFilter = {}): Promise<JobCounts> {
    return this.#jobs.count(filter);
  }

  /** One job's row, strongly consistent; needs no worker. @throws JobNotFound */
  row(id: string): Promise<JobRow> {
    return this.#jobs.row(id);
  }

  /** Whether workers ask for the jobs of a task queue: the one that this client submits to, unless another is named. */
  polls(taskQueue?: string): Promise<TaskQueuePolls> {
    return this.#jobs.polls(taskQueue);
  }

  /** The polls of an open job's own task queue if nobody polls it: nothing of the job goes on then. One call. */
  async unattended({ endedAt, taskQueue }: JobRow): Promise<TaskQueuePolls | undefined> {
    if (endedAt !== undefined) return undefined;
    const polls = await this.#jobs.polls(taskQueue);
    return isPolled(polls, Date.now()) ? undefined : polls;
  }

  /** Everything the job's workflow knows. @throws JobNotFound; TemporalUnreachable where no worker answers in 10 s. */
  describe(id: string): Promise<JobView> {
    return this.#jobs.describe(id);
  }

  /**
   * Waits until the job has its outcome, however it ended. Of a job that keeps its slices (`keep`) that is before its workflow
   * closes.
   * @throws JobInvalid if the job was refused, JobTerminated if its workflow was ended from outside, JobNotFound.
   */
  wait(id: string): Promise<Outcome> {
    return this.#jobs.wait(id);
  }

  /**
   * Asks the job to stop its command, give its slices back and end as cancelled. Returns at once, needs no worker; repeating is
   * safe. `asker` is kept in the outcome; its word is believed.
   */
  cancel(id: string, asker?: Asker): Promise<'cancelling' | 'done'> {
    return this.#jobs.cancel(id, asker);
  }

  /**
   * Ends the command with notice and grace, and keeps slices and lease (`timeouts.stop` bounds that), or gives them back
   * (`release`). Answers with a sentence once the job has noted it, as the next three do. `by` is who asks, `from` the host name
   * of their computer.
   * @throws JobRefused where the job has ended or its state makes no sense of it; nothing was changed then. JobNotFound,
   * TemporalUnreachable (no worker answered; it may still be done).
   */
  stop(
    id: string,
    by: string,
    { release = false, from }: { readonly release?: boolean; readonly from?: string } = {},
  ): Promise<string> {
    return this.#jobs.stop(id, { by, ...(from === undefined ? {} : { from }) }, release);
  }

  /** A stopped job goes on: a new attempt on the slices that it kept, or as soon as its pool grants it again. */
  resume(id: string, by: string, edit: JobEdit = {}): Promise<string> {
    return this.#jobs.resume(id, by, edit);
  }

  /** Makes modules ready once more on the hosts that it holds, beside its command; returns once it is noted. @throws JobRefused, JobNotFound */
  setUp(id: string, by: string, wish: SetUpWish = {}): Promise<string> {
    return this.#jobs.setUp(id, by, wish);
  }

  /** Slices and lease go back, and the job asks again, with its first submit time. */
  requeue(id: string, by: string, place: RequeuePlace = {}): Promise<string> {
    return this.#jobs.requeue(id, by, place);
  }

  /** The command ends and begins again on the same slices, by the same or a changed job file; some may be replaced. */
  restart(id: string, by: string, edit: JobRestart = {}): Promise<string> {
    return this.#jobs.restart(id, by, edit);
  }

  /** Names of the job's slices whose workflows still have them to delete; none of a job that was never accepted. */
  openSlices(id: string): Promise<readonly string[]> {
    return this.deletions(id).then((deletions) => deletions.map(({ slice }) => slice));
  }

  /** The same, each with what its provider answered last, as far as that is known. */
  deletions(id: string): Promise<readonly SliceDeletion[]> {
    return this.#jobs.deletions(id);
  }

  /** What people tell a pool: files, freeze and drain, priorities. */
  quota(pool = 'default'): PoolClient {
    return this.#jobs.quota(pool);
  }

  /** What operators ask of a pool's own machines. */
  machines(pool = 'default'): MachinesClient {
    return this.#jobs.machines(pool);
  }

  /** Whom the server knows the caller as. Undefined by Temporal: there nobody verifies it. */
  whoAmI(): Promise<VerifiedCaller | undefined> {
    return this.#jobs.whoAmI();
  }

  /** Closes the connection if this client made it. */
  close(): Promise<void> {
    return this.#jobs.close();
  }
}
