import type { JobView } from '../contract/job.js';
import type { JobVerb } from '../contract/job-requests.js';
import type { SliceDeletion } from '../domain/lease.js';
import type { Asker, Outcome } from '../domain/job-state.js';
import type { GroupView } from '../contract/group.js';
import type { GroupState } from '../domain/array/group-state.js';
import type { GroupFilter, GroupRow } from './group-rows.js';
import type { RetryOptions, StopOptions } from './groups.js';
import type { JobWish } from './job-calls.js';
import type { JobCounts, JobFilter } from './job-query.js';
import type { JobPage, JobRow } from './job-rows.js';
import type { NoticesResult } from '../contract/notices.js';
import type { NotifyTest, MachinesClient, PoolClient } from './pool-client.js';
import type { SchedulesClient } from './schedules.js';
import type { Submission, Submitted } from './submissions.js';
import type { TaskQueuePolls } from './temporal-calls.js';

/** Identity under which a server knows the caller. */
export interface VerifiedCaller {
  readonly kind: 'user' | 'service';
  readonly id: string;
  readonly groups: readonly string[];
  /** The issuer of the caller's token. */
  readonly issuer: string;
  /** Expiry of the token that was sent, in milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Access to jobs, over Temporal itself or `jobctl serve`. `JobClient` documents each call and its errors. */
export interface JobPort {
  submit(submission: Submission): Promise<Submitted>;
  list(filter: JobFilter, limit: number): Promise<JobPage>;
  find(filter: JobFilter, most?: number): Promise<readonly JobRow[]>;
  count(filter: JobFilter): Promise<JobCounts>;
  row(id: string): Promise<JobRow>;
  polls(taskQueue?: string): Promise<TaskQueuePolls>;
  describe(id: string): Promise<JobView>;
  wait(id: string): Promise<Outcome>;
  cancel(id: string, asker?: Asker): Promise<'cancelling' | 'done'>;
  tell<Verb extends JobVerb>(id: string, verb: Verb, by: string, wish: JobWish<Verb>): Promise<string>;
  groups(filter: GroupFilter, most: number): Promise<readonly GroupRow[]>;
  group(id: string): Promise<GroupRow>;
  describeGroup(id: string): Promise<GroupView>;
  waitGroup(id: string): Promise<GroupState>;
  cancelGroup(id: string, asker?: Asker): Promise<'cancelling' | 'done'>;
  retryGroup(id: string, by: string, options?: RetryOptions): Promise<string>;
  beginGroup(id: string, by: string, options?: Pick<RetryOptions, 'from'>): Promise<string>;
  stopGroup(id: string, by: string, options?: StopOptions): Promise<string>;
  resumeGroup(id: string, by: string, options?: Pick<RetryOptions, 'from'>): Promise<string>;
  deletions(id: string): Promise<readonly SliceDeletion[]>;
  quota(pool: string): PoolClient;
  machines(pool: string): MachinesClient;
  schedules(): SchedulesClient;
  testNotify(test: NotifyTest): Promise<NoticesResult>;
  whoAmI(): Promise<VerifiedCaller | undefined>;
  close(): Promise<void>;
}
