import type { Client } from '@temporalio/client';
import {
  type AdmissionCall,
  admissionUpdate,
  type ApplyCall,
  applyUpdate,
  type PriorityCall,
  priorityUpdate,
  quotaStart,
  type ReleaseCall,
  releaseUpdate,
} from '../contract/quota.js';
import { quotaWorkflowId, WorkflowType } from '../contract/workflow-ids.js';
import { PoolNotFound, PoolRefused } from './errors.js';
import type { TemporalCalls } from './temporal-calls.js';
import { taskQueuePolls } from './task-queue-polls.js';
import { updateAnswer } from './update-answer.js';

/** A quota or pool file to apply. `name` is for messages and for `quota show`. */
export interface PoolFileText {
  readonly name: string;
  readonly text: string;
}

export interface AppliedFiles {
  readonly quotaFile?: PoolFileText;
  readonly poolFile?: PoolFileText;
}

export type Admission = AdmissionCall['admission'];

/**
 * Requests of people to a pool's quota workflow. `by` names the user, as the caller states it; it is recorded with the pool, and
 * the pool file's `admins` are compared with it. Each call returns a sentence once it is done, and repeating it is safe. Rejects
 * with `PoolRefused` (nothing was changed), `PoolNotFound`, `TemporalUnreachable` (no worker answers) or `TemporalRefused`.
 */
export interface PoolClient {
  readonly pool: string;
  /** Applies files; an omitted file stays as it is. Starts the pool's quota workflow if it never ran. */
  apply(files: AppliedFiles, by: string): Promise<string>;
  /** `frozen`: nothing new is granted. `draining`: in addition, every lease is asked back, with notice. `open`: normal. */
  setAdmission(admission: Admission, by: string, reason?: string): Promise<string>;
  /**
   * @param priority 1 (first) to 5
   * @param by the user whose right counts: the pool compares it with the job's user and the pool's admins
   * @param askedBy the user whom a server has verified, for the pool's history; absent: `by`
   */
  setPriority(job: string, priority: number, by: string, askedBy?: string): Promise<string>;
  /**
   * Stops waiting for slices of a job whose deletion does not end. `by` vouches that nothing of the slices is left.
   * @param because the user's grounds, for the pool's history
   */
  release(job: string, because: string, by: string): Promise<string>;
}

export class TemporalPool implements PoolClient {
  readonly pool: string;
  readonly #temporal: Client;
  readonly #calls: TemporalCalls;
  readonly #taskQueue: string;
  readonly #where: string;

  /** @param where `in namespace N of Temporal at A`, for messages */
  constructor(pool: string, options: { temporal: Client; calls: TemporalCalls; taskQueue: string; where: string }) {
    this.pool = pool;
    this.#temporal = options.temporal;
    this.#calls = options.calls;
    this.#taskQueue = options.taskQueue;
    this.#where = options.where;
  }

  async apply(files: AppliedFiles, by: string): Promise<string> {
    const { WithStartWorkflowOperation: WithStart } = await import('@temporalio/client');
    const start = { ...quotaStart(this.pool, this.#taskQueue), workflowIdConflictPolicy: 'USE_EXISTING' as const };
    const call: ApplyCall = { v: 1, by, ...files };
    return this.#answer(() =>
      this.#temporal.workflow.executeUpdateWithStart(applyUpdate, {
        args: [call],
        startWorkflowOperation: new WithStart(WorkflowType.Quota, start),
      }),
    );
  }

  setAdmission(admission: Admission, by: string, reason?: string): Promise<string> {
    const call: AdmissionCall = { v: 1, by, admission, ...(reason === undefined ? {} : { reason }) };
    return this.#answer(() => this.#handle().executeUpdate(admissionUpdate, { args: [call] }));
  }

  setPriority(job: string, priority: number, by: string, askedBy?: string): Promise<string> {
    const call: PriorityCall = { v: 1, by, job, priority, ...(askedBy === undefined ? {} : { askedBy }) };
    return this.#answer(() => this.#handle().executeUpdate(priorityUpdate, { args: [call] }));
  }

  release(job: string, because: string, by: string): Promise<string> {
    const call: ReleaseCall = { v: 1, by, job, because };
    return this.#answer(() => this.#handle().executeUpdate(releaseUpdate, { args: [call] }));
  }

  #handle() {
    return this.#temporal.workflow.getHandle(quotaWorkflowId(this.pool));
  }

  #answer(call: () => Promise<{ readonly message: string }>): Promise<string> {
    return updateAnswer(this.#calls, call, {
      whom: `pool ${this.pool}`,
      polls: () => taskQueuePolls({ temporal: this.#temporal, calls: this.#calls }, this.#taskQueue),
      refused: (why) => new PoolRefused(this.pool, why),
      notFound: () => new PoolNotFound(this.pool, this.#where),
    });
  }
}
