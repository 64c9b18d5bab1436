/**
 * The contract of jobctl's workflows: ids, inputs, signals, queries, search attributes. Clients, other services and other
 * workflows import this file (`jobctl/contract`), so it imports nothing that runs. All values are plain JSON.
 */
import type { QueryDefinition, SignalDefinition, UpdateDefinition } from '@temporalio/common';
import type { JobPhase, JobResult, Outcome } from '../domain/job-state.js';
import type { JobSpec } from '../domain/job-spec.js';
import type { Demand, LeaseId, LeaseMessage } from '../domain/lease.js';
import type { SetUpRecord } from '../domain/setup-record.js';
import type { Ownership, Pricing, SliceHost, SlicePlan, SliceRef } from '../domain/slice.js';
import type { Timings } from '../domain/timings.js';
import type { EpochMs } from '../domain/units.js';
import type { Preemption } from '../quota/quota-config.js';
import type { TextPage } from '../quota/text-pages.js';

export type { JobSpec } from '../domain/job-spec.js';
export type { JobPhase, JobResult, Outcome, OutcomeCause } from '../domain/job-state.js';

/** Workflow types. */
export const WorkflowType = { Job: 'job', Slice: 'slice', Quota: 'quota', Janitor: 'janitor' } as const;

export { TASK_QUEUE } from '../domain/task-queue.js';

/** A job's workflow id is the job's id itself. Job ids hold no '/', so the others cannot clash with them. */
export const sliceWorkflowId = (resourceName: string): string => `slice/${resourceName}`;
export const quotaWorkflowId = (pool: string): string => `quota/${pool}`;
export const JANITOR_SCHEDULE_ID = 'jobctl-janitor';

/** What a list row shows beside the search attributes. */
export interface JobMemo {
  readonly name: string;
  /** `v5litepod-16` or `2 x v5litepod-16`. */
  readonly slice: string;
  /** Hash of the job's content: an equal `--name` with an equal hash is the same job. */
  readonly contentHash: string;
  /** First run id of the job's chain: which job of this id it is. */
  readonly run?: string;
  /** Set by the worker that took the job; REHEARSAL where nothing of it is real. */
  readonly label?: string;
  readonly attempts?: number;
  readonly phaseSince?: EpochMs;
  /** One sentence: what the job waits for or ended with. */
  readonly why?: string;
  /** Set when the job has ended, or holds its slices with its outcome known. */
  readonly outcome?: Outcome;
  /** Its outcome may be known long before its workflow closes (`keep`). */
  readonly keeps?: true;
}

/** Input of the `job` workflow. Start it with `{v: 1, job: {...}}` and nothing else from any language. */
export interface JobInput {
  readonly v: 1;
  /** The job file as JSON, with the submitter's references resolved or not: the workflow checks it all again. */
  readonly job: unknown;
  /** The file's text as submitted, kept with the job. */
  readonly source?: string;
  /** Login name of the submitter; its word is trusted (DESIGN.md 3, "Trust"). */
  readonly user?: string;
  /** Local files the job names, uploaded to the store before: path as written -> SHA-256. */
  readonly files?: Readonly<Record<string, string>>;
  /** Public fingerprint (`SHA256:..`) of the submitter's file that `ssh.private_key` names: a worker uses no other key. */
  readonly sshKey?: string;
  /** The same of the private keys that `ssh.identities` and `ssh.tpu_private_key` name: path as written -> fingerprint. */
  readonly identityKeys?: Readonly<Record<string, string>>;
  /** Set by the workflow itself when it continues as new (workflows/job/carry.ts). */
  readonly carry?: unknown;
}

/**
 * The one argument of the signal that `notify` asks for: how the job ended. `run` is the first run id of the job's chain: two
 * notices of one job and run are the same end told twice (an operator reset the job). `refused`: it was never a job of ours,
 * since its file is wrong; `message` is what `jobctl validate` prints.
 */
export type JobNotice =
  | {
      readonly v: 1;
      readonly job: string;
      readonly run: string;
      readonly result: JobResult;
      readonly outcome: Outcome;
    }
  | {
      readonly v: 1;
      readonly job: string;
      readonly run: string;
      readonly result: 'refused';
      readonly message: string;
    };

/** What the worker knows about the place the job runs in. Frozen when the job is accepted. */
export interface JobSettings {
  readonly owner: string;
  readonly label?: string;
  readonly bucket: string;
  readonly googleProject: string;
  /** OpenSSH public key line that goes into the slice's metadata. */
  readonly publicKey: string;
  readonly loginUser: string;
  /** Who submitted, for quota and lists. */
  readonly user: string;
  /** The quota project. */
  readonly project: string;
  /** What the quota file says of this job, in one sentence. */
  readonly quotaNote: string;
  readonly timings: Timings;
}

/** One slice of a job, as its job knows it. */
export interface SliceView {
  readonly index: number;
  readonly generation: number;
  readonly ref: SliceRef;
  readonly state: 'starting' | 'ready' | 'lost' | 'gone';
  readonly nodeId?: string;
  readonly hosts: readonly SliceHost[];
  readonly detail?: string;
}

export interface JobEvent {
  readonly at: EpochMs;
  readonly text: string;
}

/** Answer of the `describe` query. */
export interface HostLogin {
  readonly user: string;
  /** OpenSSH line of the key that the hosts accept. */
  readonly publicKey: string;
}
export interface JobView {
  readonly id: string;
  readonly spec: JobSpec;
  readonly project: string;
  readonly label?: string;
  readonly phase: JobPhase;
  readonly phaseSince: EpochMs;
  readonly why?: string;
  readonly submittedAt: EpochMs;
  readonly attempt: number;
  /** By the provider. */
  readonly preemptions: number;
  /** By quota. Absent: never. */
  readonly quotaPreemptions?: number;
  readonly slices: readonly SliceView[];
  /** How the job's hosts are logged in to. Absent: a worker before 0.2 answers. */
  readonly login?: HostLogin;
  readonly outcome?: Outcome;
  /** What jobctl did for the job, oldest first; the store keeps the whole. */
  readonly events: readonly JobEvent[];
}

export type SliceNews =
  | { readonly kind: 'progress'; readonly detail: string }
  | { readonly kind: 'ready'; readonly nodeId: string; readonly hosts: readonly SliceHost[] }
  | { readonly kind: 'lost'; readonly cause: SliceLossCause; readonly message: string }
  | { readonly kind: 'gone' };

/** Whose account a lost slice goes on: see `domain/slice-condition.ts`. */
export type SliceLossCause = 'preempted' | 'failed' | 'no-capacity' | 'quota' | 'refused' | 'lease';

/** Input of the `slice` workflow. `reclaim` finds and deletes what a slice workflow that is no more may have left. */
export interface SliceInput {
  readonly v: 1;
  readonly task:
    | { readonly kind: 'create'; readonly plan: SlicePlan }
    | { readonly kind: 'reclaim'; readonly ref: SliceRef; readonly ownership: Ownership };
  readonly lease: LeaseId;
  readonly timings: Timings;
}

/** Memo of a slice workflow: what a quota workflow without memory has to know of it. */
export interface SliceMemo {
  readonly lease: LeaseId;
  readonly demand: Demand;
  readonly ref: SliceRef;
  /** Of its lease; absent: the first. */
  readonly tier?: number;
}

/** Input of the `quota` workflow. Without `carry` it has lost its state, or is new: it rebuilds before it grants. */
export interface QuotaInput {
  readonly v: 1;
  readonly pool: string;
  readonly carry?: unknown;
}

/**
 * Of workflow tasks that wait in one queue. Without it a pool that loses its place in a worker's cache (a worker that ends, a
 * continue-as-new that a signal crosses) stands behind the first task of every job that was just submitted: minutes at 4,000.
 */
const BEFORE_ALL_JOBS = { priorityKey: 1 };

/**
 * A task of a pool that lost its place in the worker's cache reads its whole history again: seconds at 10,000 jobs on a busy
 * computer (docs/runs.md). With Temporal's 10 s it was lost each time, and the pool stood still. It is also how long a pool
 * stands still when its worker is killed in the middle of a task.
 */
export const QUOTA_TASK_TIMEOUT_MS = 60_000;

/** Options of the quota workflow of a pool, whoever starts it: a worker's outbox, the janitor, `jobctl quota apply`. */
export function quotaStart(
  pool: string,
  taskQueue: string,
): {
  readonly workflowId: string;
  readonly taskQueue: string;
  readonly args: [QuotaInput];
  readonly staticSummary: string;
  readonly priority: { readonly priorityKey: number };
  readonly workflowTaskTimeout: number;
} {
  return {
    workflowId: quotaWorkflowId(pool),
    taskQueue,
    args: [{ v: 1, pool }],
    staticSummary: `quota of pool ${pool}`,
    priority: BEFORE_ALL_JOBS,
    workflowTaskTimeout: QUOTA_TASK_TIMEOUT_MS,
  };
}

export interface JanitorInput {
  readonly v: 1;
}

function signal<Args extends unknown[]>(name: string): SignalDefinition<Args> {
  return { type: 'signal', name } as SignalDefinition<Args>;
}
function update<Call>(name: string): UpdateDefinition<{ readonly message: string }, [Call]> {
  return { type: 'update', name } as UpdateDefinition<{ readonly message: string }, [Call]>;
}
function pagedQuery(name: string): QueryDefinition<TextPage, [page: number]> {
  return { type: 'query', name } as QueryDefinition<TextPage, [page: number]>;
}
function query<Result>(name: string): QueryDefinition<Result, []> {
  return { type: 'query', name } as QueryDefinition<Result, []>;
}

/** To a job. */
export const describeQuery = query<JobView>('describe');
/** Which lease of which job a signal of the quota workflow is about: `number` of the chain that began with `run`. */
export interface LeaseNews {
  readonly run: string;
  readonly number: number;
  readonly epoch: number;
}
/** quota -> job: the lease is held from now on, in a tier that is bought like this. */
export const grantedSignal =
  signal<[LeaseNews & { readonly tier?: number; readonly pricing?: Pricing; readonly reservation?: string }]>(
    'granted',
  );
/** quota -> job: give the lease back; with notice and the job's grace, and ask again with the first submit time. */
export const revokedSignal =
  signal<[LeaseNews & { readonly reason: string; readonly cause: Preemption['cause'] }]>('revoked');
/** quota -> job: an admin or its user gave it another priority, 1 to 5. */
/** How far the set-up of an attempt is; from its worker, seldom (activities/attempt/set-up-journal.ts). */
export interface SetUpProgress extends Pick<SetUpRecord, 'modules' | 'hosts' | 'ready'> {
  readonly v: 1;
  readonly attempt: number;
}
export const setUpProgressSignal = signal<[SetUpProgress]>('setUpProgress');

export const prioritySignal = signal<[{ readonly run: string; readonly priority: number }]>('priority');
/** quota -> job: a quota workflow without memory asks every open job to say again what it holds or waits for. */
export const restateSignal = signal<[{ readonly epoch: number }]>('restate');
/** slice -> job. */
export const sliceNewsSignal =
  signal<[{ readonly name: string; readonly run: string; readonly news: SliceNews }]>('sliceNews');

/** To a slice: the job (or quota, or the janitor) no longer wants it. */
export const releaseSliceSignal = signal<[{ readonly reason: string }]>('release');
/** job -> slice: a job that was reset, or continued, asks for the slice's news again. */
export const attachSignal = signal<[]>('attach');
/** quota -> slice: whether the lease that the slice named stands in this epoch. */
export const leaseAnswerSignal = signal<[{ readonly epoch: number; readonly isHeld: boolean }]>('leaseAnswer');

/** To quota: messages of many leases, coalesced by a worker. */
export const leaseMessagesSignal = signal<[readonly LeaseMessage[]]>('leaseMessages');
/** To quota: look again at once (janitor, or a person). */
export const wakeSignal = signal<[]>('wake');
export const quotaStateQuery = query<unknown>('state');
/**
 * From quota, in pages since an answer is one payload: page 0 first, then the others as long as `version` is the same. For
 * workers alone: the publisher asks for `published` (`PackedPoolState`), the comparison with what is open for `holders`.
 */
export const publishedQuery = pagedQuery('published');
export const holdersQuery = pagedQuery('holders');

/** Who asks, by the client's word (DESIGN.md 3, "Trust"). */
export interface HumanCall {
  readonly v: 1;
  readonly by: string;
}

/** Another job file for the attempts to come: the whole of it, or single values of the one in force. */
export interface EditCall extends HumanCall {
  /** As plain JSON. */
  readonly job?: unknown;
  readonly set?: readonly { readonly path: readonly (string | number)[]; readonly value: unknown }[];
  /** The file's text, kept with the attempt. */
  readonly source?: string;
  /** Local files that the new file names, uploaded before: path as written -> SHA-256. */
  readonly files?: Readonly<Record<string, string>>;
  /** As in `JobInput`, of the keys that the new file names. */
  readonly identityKeys?: Readonly<Record<string, string>>;
}
/** `release`: slices and lease go back too. */
export interface StopCall extends HumanCall {
  readonly release?: boolean;
}
/**
 * To a job, by people (docs/adr/0022). Each is refused by its validator where the job's state makes no sense of it, or noted; the
 * answer is a sentence. What was noted is done when the job comes by.
 */
export const stopUpdate = update<StopCall>('stop');
export const resumeUpdate = update<EditCall>('resume');
export const requeueUpdate = update<HumanCall>('requeue');
export const restartUpdate = update<EditCall>('restart');
/** Without modules: all of the job's. `force`: also what is found unchanged. */
export interface SetUpCall extends HumanCall {
  readonly modules?: readonly string[];
  readonly force?: boolean;
}
export const setUpUpdate = update<SetUpCall>('setUp');

/** Files as text; the worker reads and checks them, keeps them in the store, and refuses where a path or URL is configured. */
export interface ApplyCall extends HumanCall {
  readonly quotaFile?: { readonly name: string; readonly text: string };
  readonly poolFile?: { readonly name: string; readonly text: string };
}
/** `frozen`: nothing new is granted. `draining`: and every lease is asked back, with notice. `open`: as ever. */
export interface AdmissionCall extends HumanCall {
  readonly admission: 'open' | 'frozen' | 'draining';
  readonly reason?: string;
}
export interface PriorityCall extends HumanCall {
  readonly job: string;
  /** 1 (first) to 5. */
  readonly priority: number;
}
/** To quota, by people. Each is refused by its validator, or done when it answers; the answer is a sentence. */
export const applyUpdate = update<ApplyCall>('apply');
export const admissionUpdate = update<AdmissionCall>('admission');
export const priorityUpdate = update<PriorityCall>('priority');
