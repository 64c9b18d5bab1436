import type { Client, WorkflowStartOptions } from '@temporalio/client';
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
import {
  PoolNotFound,
  PoolRefused,
  IS_A_WORKER_UP,
  MachineNotFound,
  NoWorkerAnswers,
  WaitInterrupted,
} from './errors.js';
import {
  AWAY_TIMEOUT_MS,
  innermost,
  taskQueuePolls,
  type TemporalCalls,
  unpolled,
  updateAnswer,
} from './temporal-calls.js';
import { randomUUID } from 'node:crypto';
import {
  MACHINES_TIMEOUT_MS,
  type MachinesAnswer,
  type MachinesInput,
  machinesStart,
  type MachineVerb,
} from '../contract/machines.js';
import { FailureType } from '../domain/errors.js';
import { NOTIFY_TEST_MS, type NoticesInput, type NoticesResult, notifyTestStart } from '../contract/notices.js';
import type { NotifyTarget } from '../domain/notify.js';

/** A quota or pool file to apply. `name` is for messages and for `quota show`. */
export interface PoolFileText {
  readonly name: string;
  readonly text: string;
  /** The generation that `AppliedFile` has. Absent: whatever is in force is replaced. */
  readonly replaces?: string;
}

export interface AppliedFiles {
  readonly quotaFile?: PoolFileText;
  readonly poolFile?: PoolFileText;
}

export type Admission = AdmissionCall['admission'];

/**
 * A person's requests to a pool's quota workflow. `by` names the user, as the caller states it. It is recorded with the pool and
 * compared with the `admins` of the pool file. Each call returns a sentence once the request is done, and repeating it is safe.
 * Rejects with `PoolRefused` (nothing was changed), `PoolNotFound`, `TemporalUnreachable` (no worker answers) or
 * `TemporalRefused`.
 */
export interface PoolClient {
  readonly pool: string;
  /** Applies files; an omitted file stays as it is. Starts the pool's quota workflow if it never ran. */
  apply(files: AppliedFiles, by: string): Promise<string>;
  /** `frozen`: nothing new is granted. `draining`: also, jobs are asked to return their leases, with notice. `open`: normal. */
  setAdmission(admission: Admission, by: string, reason?: string): Promise<string>;
  /**
   * @param priority 1 (first) to 5
   * @param by the user whose right counts: the pool compares it with the job's user and the pool's admins
   * @param askedBy the user whom a server has verified, for the pool's history; absent: `by`
   */
  setPriority(job: string, priority: number, by: string, askedBy?: string): Promise<string>;
  /** Like `setPriority`, for all members of a group that wait in the pool or hold a lease of it: one call for all. */
  setGroupPriority(group: string, priority: number, by: string, askedBy?: string): Promise<string>;
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

  setGroupPriority(group: string, priority: number, by: string, askedBy?: string): Promise<string> {
    const call: PriorityCall = {
      ...{ v: 1, by, job: group, isGroup: true, priority },
      ...(askedBy === undefined ? {} : { askedBy }),
    };
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
      seenBy: `jobctl quota show --pool ${this.pool}`,
      polls: () => taskQueuePolls({ temporal: this.#temporal, calls: this.#calls }, this.#taskQueue),
      refused: (why) => new PoolRefused(this.pool, why),
      notFound: () => new PoolNotFound(this.pool, this.#where),
    });
  }
}

export interface MachinesCall {
  readonly verb: MachineVerb;
  /** Names of the machines. Empty, for `ls`, `check` and `examine`: all machines of the pool. */
  readonly names: readonly string[];
  /** The user who asks, as the caller states it; compared with the pool file's `admins`. */
  readonly by: string;
  readonly reason?: string;
  /** The claim that `release` removes, as `ls` shows it. */
  readonly claim?: string;
}

/**
 * Requests of operators about machines that a pool owns. A worker reaches the machines. Rejects with `PoolRefused` (nothing was
 * changed), `MachineNotFound`, `TemporalUnreachable` (no worker answers) or `TemporalRefused`.
 */
export interface MachinesClient {
  readonly pool: string;
  call(call: MachinesCall): Promise<MachinesAnswer>;
}

export class TemporalMachines implements MachinesClient {
  readonly pool: string;
  readonly #temporal: Client;
  readonly #calls: TemporalCalls;
  readonly #taskQueue: string;

  constructor(pool: string, options: { temporal: Client; calls: TemporalCalls; taskQueue: string }) {
    this.pool = pool;
    this.#temporal = options.temporal;
    this.#calls = options.calls;
    this.#taskQueue = options.taskQueue;
  }

  call(call: MachinesCall): Promise<MachinesAnswer> {
    const input: MachinesInput = { v: 1, pool: this.pool, ...call };
    const id = randomUUID();
    return askByWorkflow<MachinesAnswer>(
      { temporal: this.#temporal, calls: this.#calls, taskQueue: this.#taskQueue },
      {
        type: WorkflowType.Machines,
        start: (timeoutMs) => machinesStart(this.#taskQueue, input, id, timeoutMs),
        usualMs: MACHINES_TIMEOUT_MS,
        whom: `the machines of pool ${this.pool}`,
        seenBy: `\`jobctl machines ls --pool ${this.pool}\` shows them`,
        refused: ({ type, message }) =>
          type === FailureType.NotFound ? new MachineNotFound(message) : new PoolRefused(this.pool, message),
      },
    );
  }
}

export interface NotifyTest {
  readonly pool: string;
  /** The quota project of the job. Empty: none. */
  readonly project: string;
  /** The user who asks, as the caller states it. */
  readonly by: string;
  readonly targets: readonly NotifyTarget[];
}

interface Place {
  readonly temporal: Client;
  readonly calls: TemporalCalls;
  readonly taskQueue: string;
}

/** Longest time from a workflow's timeout to the server's report of its end. */
const ENDS_AFTER_MS = 5_000;

/** A person's request for which the client starts a workflow. */
interface WorkflowRequest {
  readonly type: string;
  readonly start: (timeoutMs: number) => WorkflowStartOptions & { readonly workflowId: string };
  /** Timeout of the request if a worker polls. */
  readonly usualMs: number;
  /** The recipient, for messages. */
  readonly whom: string;
  /** A sentence that says how to see what was done. */
  readonly seenBy: string;
  readonly refused: (failure: { readonly message: string; readonly type?: unknown }) => Error;
}

/** Starts the workflow and returns its result. A request that is given up before a worker began it is ended, not done later. */
async function askByWorkflow<Result>(place: Place, request: WorkflowRequest): Promise<Result> {
  const { temporal, calls, taskQueue } = place;
  const { type, start, usualMs, whom, seenBy, refused } = request;
  const away = await unpolled(() => taskQueuePolls({ temporal, calls }, taskQueue));
  const timeoutMs = away === undefined ? usualMs : AWAY_TIMEOUT_MS;
  const options = start(timeoutMs);
  let starting: Promise<unknown> | undefined;
  const execute = async (): Promise<Result> => {
    const started = temporal.workflow.start<() => Promise<Result>>(type, options as never);
    starting = started;
    return (await started).result();
  };
  const interrupted = async (): Promise<Error> => {
    await starting?.catch(() => undefined);
    return new WaitInterrupted(`interrupted before a worker answered for ${whom}; ${await ended()}`, seenBy);
  };
  const ended = () => fateOf(place, options.workflowId);
  try {
    return await calls.ofWorker(execute, { whom, mostMs: timeoutMs, away, interrupted }, ENDS_AFTER_MS);
  } catch (failure) {
    const [{ WorkflowFailedError }, { TimeoutFailure }] = await Promise.all([
      import('@temporalio/client'),
      import('@temporalio/common'),
    ]);
    if (!(failure instanceof WorkflowFailedError)) throw failure;
    if (!(failure.cause instanceof TimeoutFailure)) throw refused(innermost(failure));
    throw new NoWorkerAnswers(
      `no worker answered for ${whom} within ${timeoutMs / 1000} s; ${await ended()}`,
      `${IS_A_WORKER_UP}; ${seenBy}`,
    );
  }
}

/** Ends a request that no worker has begun. @returns whether it may still be done, in words; never rejects */
async function fateOf({ temporal, calls }: Place, workflowId: string): Promise<string> {
  const handle = temporal.workflow.getHandle(workflowId);
  // A workflow does nothing before its first task is completed, and nothing after it has ended.
  const isBegun = async (): Promise<boolean> => {
    const { events } = await calls.bounded(() => handle.fetchHistory());
    return (events ?? []).some(({ workflowTaskCompletedEventAttributes: done }) => Boolean(done));
  };
  try {
    if (await isBegun()) return BEGUN;
    await calls.bounded(() => handle.terminate('given up by the person who asked')).catch(ignoreEnded);
    return (await isBegun()) ? BEGUN : 'none had begun it, and it is not done later';
  } catch {
    return 'it may still be done when one is up';
  }
}

const BEGUN = 'a worker has begun it, so it may be done all the same';

/** Ignores that the workflow has ended by itself meanwhile. */
function ignoreEnded(error: unknown): void {
  if ((error as Error).name !== 'WorkflowNotFoundError') throw error;
}

/** Has a worker send each target one event, with the code and the rights that send a job's events. */
export async function testNotify({ temporal, calls, taskQueue }: Place, test: NotifyTest): Promise<NoticesResult> {
  const id = randomUUID();
  const { pool, project, by, targets } = test;
  const told = { kind: 'notify-test', facts: { by } } as const;
  const event = { ...told, id: `test-${id}`, at: Date.now(), text: `${by} tests who is told of jobs` };
  const input: NoticesInput = {
    v: 1,
    about: { job: { id: 'notify-test', run: id }, name: 'notify-test', pool, project, user: by },
    notices: [{ number: 0, event, to: targets }],
    isTest: true,
  };
  return askByWorkflow<NoticesResult>(
    { temporal, calls, taskQueue },
    {
      type: WorkflowType.Notices,
      start: (timeoutMs) => notifyTestStart(taskQueue, input, id, timeoutMs),
      usualMs: NOTIFY_TEST_MS,
      whom: 'the test',
      seenBy: 'a target that was told shows the message',
      refused: ({ message }) => new PoolRefused(pool, message),
    },
  );
}
