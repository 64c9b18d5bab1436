/** The quota workflow of a pool: its input, and the signals, queries and updates that it takes. */
import { type HumanCall, pagedQuery, query, signal, update } from './define.js';
import { quotaWorkflowId } from './workflow-ids.js';
import type { Demand, LeaseId, LeaseMessage, StuckDeletion } from '../domain/lease.js';
import type { MachineRef } from '../domain/machines.js';
import type { EpochMs } from '../domain/units.js';
import type { Rebuilding } from '../quota/published-state.js';
import type { LeaseState, QuotaConfig } from '../quota/quota-config.js';

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

/** To quota: messages of many leases, coalesced by a worker. */
export const leaseMessagesSignal = signal<[readonly LeaseMessage[]]>('leaseMessages');
/** To quota: look again at once (janitor, or a person). */
export const wakeSignal = signal<[]>('wake');
export const quotaStateQuery = query<PoolState>('state');
/**
 * From quota, in pages since an answer is one payload: page 0 first, then the others as long as `version` is the same. For
 * workers alone: the publisher asks for `published` (`PackedPoolState`), the comparison with what is open for `holders`.
 */
export const publishedQuery = pagedQuery('published');
export const holdersQuery = pagedQuery('holders');

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
  /** Who asked, of a server that has verified them and lets them act for `by`: the history names them. Absent: `by`. */
  readonly askedBy?: string;
  readonly job: string;
  /** 1 (first) to 5. */
  readonly priority: number;
}
/** An operator vouches that nothing is left of a job's slices whose deletion does not end. */
export interface ReleaseCall extends HumanCall {
  readonly job: string;
  /** How they know. */
  readonly because: string;
}
/** To quota, by people. Each is refused by its validator, or done when it answers; the answer is a sentence. */
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
  /** Absent: it knows who holds what, and grants. */
  readonly rebuilding?: Rebuilding;
  readonly leases: readonly PoolLease[];
  /** Those who asked first, `MOST_WAITING` of them. */
  readonly waiting: readonly PoolLease[];
  readonly waitingCount: number;
}
export interface PoolLease {
  readonly lease: LeaseId;
  readonly demand: Demand;
  readonly state: 'waiting' | LeaseState;
  readonly tier: number;
  readonly startedAt?: EpochMs;
  /** Not seen gone yet. */
  readonly slices: readonly string[];
}

/** A lease, or a request for one, as the query `holders` answers it. */
export interface Holder {
  readonly lease: LeaseId;
  readonly state: 'waiting' | LeaseState;
  /** Not seen gone yet. */
  readonly slices: readonly MachineRef[];
  /** By the slice's name: deletions that do not end. Absent: none. */
  readonly stuck?: Readonly<Record<string, StuckDeletion>>;
}
