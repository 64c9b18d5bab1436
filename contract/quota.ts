/** The quota workflow of a pool: its input, and its signals, queries and updates. */
import { type HumanCall, pagedQuery, query, signal, update } from './define.js';
import { quotaWorkflowId } from './workflow-ids.js';
import type { Demand, LeaseId, LeaseMessage, StuckDeletion } from '../domain/lease.js';
import type { MachineRef } from '../domain/machines.js';
import type { EpochMs } from '../domain/units.js';
import type { Rebuilding } from '../quota/published-state.js';
import type { LeaseState, QuotaConfig } from '../quota/quota-config.js';

/** Input of the `quota` workflow. Without `carry` the workflow is new or has lost its state: it rebuilds before it grants. */
export interface QuotaInput {
  readonly v: 1;
  readonly pool: string;
  readonly carry?: unknown;
}

/**
 * Priority among workflow tasks that wait in one queue. A pool loses its place in a worker's cache if its worker ends, or if a
 * signal crosses a continue-as-new. Without this priority its next task then waits behind the first task of every job just
 * submitted: minutes at 4,000 jobs.
 */
const BEFORE_ALL_JOBS = { priorityKey: 1 };

/**
 * A task of a pool that lost its place in the worker's cache reads its whole history again, which takes seconds at 10,000 jobs on
 * a busy computer (docs/runs.md). With Temporal's default of 10 s every such task timed out, and the pool stood still. A longer
 * timeout has a price: a pool stands still for this long after its worker is killed in the middle of a task.
 */
export const QUOTA_TASK_TIMEOUT_MS = 60_000;

/** Options of a pool's quota workflow, for all who start it: a worker's outbox, the janitor, `jobctl quota apply`. */
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

/** To quota: messages about many leases, which a worker has coalesced. */
export const leaseMessagesSignal = signal<[readonly LeaseMessage[]]>('leaseMessages');
/** To quota: look again at once (janitor, or a person). */
export const wakeSignal = signal<[]>('wake');
export const quotaStateQuery = query<PoolState>('state');
/**
 * From quota, in pages, because one answer is one payload. Ask for page 0 first, then for the others while `version` stays the
 * same. Only for workers: the publisher asks for `published` (`PackedPoolState`), the comparison with open workflows for
 * `holders`.
 */
export const publishedQuery = pagedQuery('published');
export const holdersQuery = pagedQuery('holders');

/** A file as text. */
export interface AppliedFile {
  readonly name: string;
  readonly text: string;
  /**
   * Generation of the stored file that the author has changed, or `NO_FILE`. If another file is in force by now, the call is
   * refused (docs/adr/0168). Absent: whatever is in force is replaced.
   */
  readonly replaces?: string;
}
/** In place of a generation: no file was in force. */
export const NO_FILE = 'none';
/** In the refusal of a file that would replace another one than its author compared it with. */
export const CHANGED_MEANWHILE = 'was changed meanwhile';

/** The worker checks the files and keeps them in the store, and refuses them if a path or URL is configured. */
export interface ApplyCall extends HumanCall {
  readonly quotaFile?: AppliedFile;
  readonly poolFile?: AppliedFile;
}
/** `frozen`: nothing new is granted. `draining`: also every lease is revoked, with notice. `open`: as usual. */
export interface AdmissionCall extends HumanCall {
  readonly admission: 'open' | 'frozen' | 'draining';
  readonly reason?: string;
}
export interface PriorityCall extends HumanCall {
  /** The verified user who sent the call, if a server lets them act for `by`. The history then names this user. Absent: `by`. */
  readonly askedBy?: string;
  readonly job: string;
  /** `job` is a group, and all of its members that the pool knows are meant. Absent: a job. */
  readonly isGroup?: true;
  /** 1 (first) to 5. */
  readonly priority: number;
}
/** An operator vouches that nothing is left of a job's slices whose deletion does not end. */
export interface ReleaseCall extends HumanCall {
  readonly job: string;
  /** The operator's evidence. */
  readonly because: string;
}
/** From people to quota. A validator refuses a wrong call. Any other call is carried out before it answers, with a sentence. */
export const applyUpdate = update<ApplyCall>('apply');
export const admissionUpdate = update<AdmissionCall>('admission');
export const priorityUpdate = update<PriorityCall>('priority');
export const releaseUpdate = update<ReleaseCall>('release');

/** Answer of the `state` query: the pool as the quota workflow sees it. */
export interface PoolState {
  readonly pool: string;
  readonly epoch: number;
  readonly at: EpochMs;
  readonly config?: QuotaConfig;
  readonly problem?: string;
  /** Absent: the workflow knows all holders, and grants. */
  readonly rebuilding?: Rebuilding;
  readonly leases: readonly PoolLease[];
  /** The requests that the pool considers first, at most `MOST_WAITING`. */
  readonly waiting: readonly PoolLease[];
  readonly waitingCount: number;
}
export interface PoolLease {
  readonly lease: LeaseId;
  readonly demand: Demand;
  readonly state: 'waiting' | LeaseState;
  readonly tier: number;
  readonly startedAt?: EpochMs;
  /** Slices that have not been seen gone yet. */
  readonly slices: readonly string[];
}

/** A lease, or a request for one, in the answer of the query `holders`. */
export interface Holder {
  readonly lease: LeaseId;
  readonly state: 'waiting' | LeaseState;
  /** Slices that have not been seen gone yet. */
  readonly slices: readonly MachineRef[];
  /** Deletions that do not end, by the slice's name. Absent: none. */
  readonly stuck?: Readonly<Record<string, StuckDeletion>>;
}
