/** The slice workflow: its input, its memo, the signals that it takes, and what it asks of its activities. */
import { signal } from './define.js';
import type { JobRef } from './workflow-ids.js';
import type { Demand, LeaseId } from '../domain/lease.js';
import type { MachinePlan, MachineRef } from '../domain/machines.js';
import type {
  Condition,
  CreateAnswer,
  LostCause,
  Owner,
  Ownership,
  RefusalScope,
  SlicesMachines,
} from '../domain/slice.js';
import type { Timings } from '../domain/timings.js';
import type { EpochMs } from '../domain/units.js';

export type SliceNews =
  | { readonly kind: 'progress'; readonly detail: string }
  | ({ readonly kind: 'ready' } & SlicesMachines)
  | ({ readonly kind: 'lost' } & SliceLossReason)
  | { readonly kind: 'gone' };

/** Why a slice is lost. `lease`: its lease does not stand. `refused`: the provider refused its request. */
export type SliceLossReason =
  | { readonly cause: LostCause | 'lease'; readonly message: string }
  | { readonly cause: 'refused'; readonly scope: RefusalScope; readonly message: string };

/** Input of the `slice` workflow. `reclaim` finds and deletes what a slice workflow that is no more may have left. */
export interface SliceInput {
  readonly v: 1;
  readonly task:
    | { readonly kind: 'create'; readonly plan: MachinePlan }
    | { readonly kind: 'reclaim'; readonly ref: MachineRef; readonly owner: Owner };
  readonly lease: LeaseId;
  /** It is asked for beside the job's first gang (docs/adr/0101): its pool may have no room for it. */
  readonly isBeside?: true;
  readonly timings: Timings;
  /** Set by the workflow itself, when it continues as new. */
  readonly carry?: SliceCarry;
}

/** What a run of a slice workflow that is not ready yet leaves to the next one. */
export interface SliceCarry {
  readonly leaseEpoch: number;
  readonly isLeaseHeld?: boolean;
  readonly unansweredUntil: EpochMs;
  /** As `DeleteSliceInput`. Absent: not known, as of a run before this was kept. */
  readonly isNeverAccepted?: true;
  /** Messages of a version that the worker did not know. Absent: none. */
  readonly kept?: readonly { readonly signal: string; readonly value: unknown }[];
}

/** Memo of a slice workflow: what a quota workflow without memory has to know of it. */
export interface SliceMemo {
  readonly lease: LeaseId;
  readonly demand: Demand;
  readonly ref: MachineRef;
  /** Of its lease; absent: the first. */
  readonly tier?: number;
}

/** To a slice: the job (or quota, or the janitor) no longer wants it. */
export const releaseSliceSignal = signal<[{ readonly reason: string }]>('release');
/** quota -> slice: a person vouches that nothing is left, so that its deletion is not waited for any more (docs/adr/0099). */
export const giveUpSignal = signal<[{ readonly reason: string }]>('giveUp');
/** job -> slice: a job that was reset, or continued, asks for the slice's news again. */
export const attachSignal = signal<[]>('attach');
/** quota -> slice: whether the lease that the slice named stands in this epoch. */
export const leaseAnswerSignal = signal<[{ readonly epoch: number; readonly isHeld: boolean }]>('leaseAnswer');

export interface AwaitSliceInput {
  readonly ref: MachineRef;
  readonly ownership: Ownership;
  /** As the create request was answered. */
  readonly operation?: string;
  readonly timings: Timings;
}

export interface DeleteSliceInput {
  readonly ref: MachineRef;
  /** Only what carries these is deleted. */
  readonly owner: Owner;
  /** NOT_FOUND before this time proves nothing: an unanswered create may still take effect. */
  readonly notBefore: EpochMs;
  readonly timings: Timings;
  /** No create call for it was ever accepted or left in doubt: each was refused as a whole, or none was sent. */
  readonly isNeverAccepted?: true;
  /** Whom to tell of a deletion that does not end. Absent: nobody, as of a run before this was told. */
  readonly lease?: LeaseId;
}

/** A machine of one's own that a slice holds, and that has failed the slice's command. */
export interface BrokenMachine {
  readonly ref: MachineRef;
  /** Of the slice. */
  readonly uid: string;
  /** Its number in the slice. */
  readonly host: number;
  /** In words, for operators. */
  readonly reason: string;
}

export interface SliceActivities {
  createSlice(plan: MachinePlan): Promise<CreateAnswer>;
  /** One direct look. */
  inspectSlice(input: AwaitSliceInput): Promise<Condition>;
  /** Watches until the slice is ready, lost, foreign, being deleted, or missing twice apart. */
  awaitSlice(input: AwaitSliceInput): Promise<Condition>;
  /** Deletes until nothing of this name and owner is seen any more. Never touches a foreign resource. */
  deleteUntilGone(input: DeleteSliceInput): Promise<void>;
  /** Nothing more begins on the machine until somebody has checked it. Repeating is safe. */
  putAside(machine: BrokenMachine): Promise<void>;
  /** Whether the chain of runs that began with `run` has an open run. */
  isJobOpen(job: JobRef): Promise<boolean>;
}
