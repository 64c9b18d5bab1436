/** Messages between a member that lends its slices and the member of its group that runs on them (docs/adr/0163). Plain JSON. */
import type { Preemption } from '../quota/quota-config.js';
import type { MachineRef } from '../domain/machines.js';
import type { Ownership, SliceHost, SliceMachines, TierPurchase } from '../domain/slice.js';
import { signal } from './define.js';
import type { JobRef } from './workflow-ids.js';

/** The landlord of slices, and the key that their hosts let in. */
export interface Landlord {
  readonly job: JobRef;
  /** OpenSSH line. */
  readonly publicKey: string;
}

/** One request of the landlord, as it became ready. `index`, `uid` and `hosts` are those of its first slice. */
export interface LentSlice {
  readonly index: number;
  readonly generation: number;
  readonly ref: MachineRef;
  readonly ownership: Ownership;
  readonly uid: string;
  readonly hosts: readonly SliceHost[];
  /** Machines of the request's other slices. Absent: none. */
  readonly others?: readonly SliceMachines[];
}

/** Lodger -> landlord: it would run on the landlord's slices. Repeated by a lodger that was reset. */
export interface LodgeCall {
  readonly v: 1;
  readonly lodger: JobRef;
  /** Both are of this group. */
  readonly group: string;
  /** Equal to that of the landlord's settings, or the answer is no. */
  readonly fits: string;
  readonly graceSeconds: number;
}
export const lodgeSignal = signal<[LodgeCall]>('lodge');

/** The lease under which slices are lent. */
export interface LentLease {
  readonly tier?: number;
  readonly bought: TierPurchase;
}

/** Landlord -> lodger: the answer. Without `lent` it is no. */
export interface LodgeAnswer {
  readonly v: 1;
  /** First run id of the lodger's chain. */
  readonly run: string;
  readonly landlord: Landlord;
  readonly lent?: { readonly slices: readonly LentSlice[]; readonly lease: LentLease };
}
export const lodgeAnswerSignal = signal<[LodgeAnswer]>('lodgeAnswer');

/** Landlord -> lodger: leave, with notice and grace. */
export interface Eviction {
  readonly v: 1;
  readonly run: string;
  readonly landlord: JobRef;
  readonly reason: string;
  readonly cause: Preemption['cause'];
}
export const evictionSignal = signal<[Eviction]>('eviction');

/** Lodger -> landlord. `isClean`: its command succeeded, so that nothing of it runs any more. */
export type LodgerNews = { readonly v: 1; readonly lodger: JobRef } & (
  | { readonly kind: 'left'; readonly isClean: boolean }
  /** It is paused by a person, or goes on. */
  | { readonly kind: 'parked'; readonly isParked: boolean }
);
export const lodgerNewsSignal = signal<[LodgerNews]>('lodgerNews');

/** Group -> landlord: no member is left that could come. */
export const noLodgerSignal = signal<[{ readonly v: 1; readonly group: string }]>('noLodger');
