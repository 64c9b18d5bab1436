/** The slice workflow: its input, its memo, its signals, and the contract of its activities. */
import { signal } from './define.js';
import type { JobRef } from './workflow-ids.js';
import type { Demand, LeaseId } from '../domain/lease.js';
import { type MachinePlan, type MachineRef, MACHINE_KINDS, machineKind } from '../domain/machines.js';
import type {
  Condition,
  CreateAnswer,
  LostCause,
  Owner,
  Ownership,
  RefusalScope,
  SlicesMachines,
} from '../domain/slice.js';
import { type Timings, DEFAULT_TIMINGS } from '../domain/timings.js';
import type { EpochMs } from '../domain/units.js';
import { z } from 'zod';
import { type Form, form } from './form.js';
import { epoch, leaseId, machineRef, text } from './lease-forms.js';

/** `allowed`: the pool has room for the slice beside the job's first gang, so the provider is asked. */
export type SliceNews =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'progress'; readonly detail: string }
  | ({ readonly kind: 'ready' } & SlicesMachines)
  | ({ readonly kind: 'lost' } & SliceLossReason)
  | { readonly kind: 'gone' };

/** Reasons for a slice's loss. `lease`: its lease is no longer held. `refused`: the provider refused its request. */
export type SliceLossReason =
  | { readonly cause: LostCause | 'lease'; readonly message: string }
  | { readonly cause: 'refused'; readonly scope: RefusalScope; readonly message: string };

/** Input of the `slice` workflow. `reclaim` finds and deletes machines that a closed slice workflow may have left. */
export interface SliceInput {
  readonly v: 1;
  readonly task:
    | { readonly kind: 'create'; readonly plan: MachinePlan }
    | { readonly kind: 'reclaim'; readonly ref: MachineRef; readonly owner: Owner };
  readonly lease: LeaseId;
  /** Requested beside the job's first gang (docs/adr/0101): its pool may have no room for it. */
  readonly isBeside?: true;
  readonly timings: Timings;
  /** Set by the workflow itself, when it continues as new. */
  readonly carry?: SliceCarry;
}

/** State that a run of a slice workflow that is not ready yet leaves to the next run. */
export interface SliceCarry {
  readonly leaseEpoch: number;
  readonly isLeaseHeld?: boolean;
  readonly unansweredUntil: EpochMs;
  /** See `DeleteSliceInput`. Absent: not known, if the run began before this was kept. */
  readonly isNeverAccepted?: true;
  /** Messages whose version the worker did not know, kept for a later one. Absent: none. */
  readonly kept?: readonly { readonly signal: string; readonly value: unknown }[];
}

/** Memo of a slice workflow: the facts that a quota workflow without memory needs. */
export interface SliceMemo {
  readonly lease: LeaseId;
  readonly demand: Demand;
  readonly ref: MachineRef;
  /** Tier of its lease. Absent: the first. */
  readonly tier?: number;
}

/** To a slice: the job (or quota, or the janitor) no longer wants the slice. */
export const releaseSliceSignal = signal<[{ readonly reason: string }]>('release');
/** quota -> slice: a person vouches that nothing is left, so the workflow no longer waits for the deletion (docs/adr/0099). */
export const giveUpSignal = signal<[{ readonly reason: string }]>('giveUp');
/** job -> slice: a job that was reset, or continued as new, asks for the slice's news again. */
export const attachSignal = signal<[]>('attach');
/** quota -> slice: whether the lease that the slice named is held in this epoch. */
export const leaseAnswerSignal = signal<[{ readonly epoch: number; readonly isHeld: boolean }]>('leaseAnswer');

export interface AwaitSliceInput {
  readonly ref: MachineRef;
  readonly ownership: Ownership;
  /** The operation in the answer to the create request. */
  readonly operation?: string;
  readonly timings: Timings;
}

export interface DeleteSliceInput {
  readonly ref: MachineRef;
  /** Only resources with these labels are deleted. */
  readonly owner: Owner;
  /** NOT_FOUND before this time proves nothing: an unanswered create may still take effect. */
  readonly notBefore: EpochMs;
  readonly timings: Timings;
  /** No create call for the slice was ever accepted or left in doubt: each was refused as a whole, or none was sent. */
  readonly isNeverAccepted?: true;
  /** Lease whose pool is told of a deletion that does not end. Absent: no pool is told, as the run began before this key. */
  readonly lease?: LeaseId;
}

/** A machine of an own pool that a slice holds, and that has failed the slice's command. */
export interface BrokenMachine {
  readonly ref: MachineRef;
  /** The slice's uid. */
  readonly uid: string;
  /** The host's number in the slice. */
  readonly host: number;
  /** In words for operators. */
  readonly reason: string;
}

export interface SliceActivities {
  createSlice(plan: MachinePlan): Promise<CreateAnswer>;
  /** One direct look. */
  inspectSlice(input: AwaitSliceInput): Promise<Condition>;
  /** Watches until the slice is ready, lost, foreign, being deleted, or missing in two looks some time apart. */
  awaitSlice(input: AwaitSliceInput): Promise<Condition>;
  /** Deletes until nothing with this name and owner is seen any more. Never touches a foreign resource. */
  deleteUntilGone(input: DeleteSliceInput): Promise<void>;
  /** Keeps new work off the machine until an operator has checked it. Repeating is safe. */
  putAside(machine: BrokenMachine): Promise<void>;
  /** Returns whether the chain of runs that began with `run` has an open run. */
  isJobOpen(job: JobRef): Promise<boolean>;
}

// Forms of a slice workflow's input and of its messages (contract/slice.ts).

const machinePlan: z.ZodType<MachinePlan> = z.union(MACHINE_KINDS.map((kind) => machineKind(kind).planForm()));

const owner: z.ZodType<Owner> = z.object({ owner: text().min(1), job: text().min(1), run: text().min(1) });

/** A sender of an earlier build does not know timings that were added since. */
const knownTimings = z.object(
  Object.fromEntries(
    Object.entries<number>({ ...DEFAULT_TIMINGS }).map(([name, usual]) => [name, z.number().min(0).default(usual)]),
  ),
) as unknown as z.ZodType<Timings>;

export const timings = (): z.ZodType<Timings> => knownTimings;

const sliceCarry: z.ZodType<SliceCarry> = z.object({
  leaseEpoch: epoch(),
  isLeaseHeld: z.boolean().exactOptional(),
  unansweredUntil: z.number(),
  isNeverAccepted: z.literal(true).exactOptional(),
  kept: z.array(z.object({ signal: text(), value: z.unknown() })).exactOptional(),
});

export const sliceInputForm: Form<SliceInput> = form(
  z.object({
    v: z.literal(1),
    task: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('create'), plan: machinePlan }),
      z.object({ kind: z.literal('reclaim'), ref: machineRef(), owner }),
    ]),
    lease: leaseId(),
    isBeside: z.literal(true).exactOptional(),
    timings: timings(),
    carry: sliceCarry.exactOptional(),
  }),
);

export const giveUpForm = form<{ readonly reason: string }>(z.object({ reason: text() }));
export const releaseForm = form<{ readonly reason: string }>(z.object({ reason: text() }));
export const leaseAnswerForm = form<{ readonly epoch: number; readonly isHeld: boolean }>(
  z.object({ epoch: epoch(), isHeld: z.boolean() }),
);
