import type { MachineRef } from './machines.js';
import type { Pricing, RefusalScope } from './slice.js';
import type { EpochMs, QuotaUnits } from './units.js';

/** A job's claim on its pool's chips. A job has one lease at a time; a later one has a greater number. */
export interface LeaseId {
  readonly pool: string;
  /** The job's workflow id. */
  readonly job: string;
  /** The first run id of the job's chain: a later job of the same name is another holder. */
  readonly run: string;
  readonly number: number;
}

export const leaseKey = (lease: LeaseId): string => `${lease.job}/${lease.run}/${lease.number}`;
/** Job ids hold no '/'. Text that is no lease key is its own job: `quota plan` takes ids of any form. */
export const jobOfLeaseKey = (key: string): string => key.split('/', 1)[0] ?? key;

/** What a job asks of its pool. */
export interface Demand {
  readonly project: string;
  readonly user: string;
  /** A server has verified the user. Absent: it is the submitter's own word. */
  readonly isVerified?: true;
  /** 1 (first) to 5. */
  readonly priority: number;
  readonly submittedAt: EpochMs;
  readonly units: QuotaUnits;
  /** What the job itself wants its chips bought as; absent: as its tier has them. */
  readonly pricing?: Pricing;
  /** Where it may run, in order of preference; absent: unknown, so no zone's cool-down holds it back. */
  readonly zones?: readonly string[];
  /** Its job file says `zones: any`, so that its pool orders `zones` with each grant. Absent: they are asked as they stand. */
  readonly anyZone?: AskedFor;
}

/** What one slice is asked for as, where its zone's capacity is told apart by it (docs/adr/0118). */
export interface AskedFor {
  /** A Cloud TPU type, such as `v6e-8`. */
  readonly accelerator: string;
  readonly pricing: Pricing;
}

/** Refusals that tell what a zone has. Others are about the request, or about rights. */
export const CAPACITY_SCOPES = ['zone', 'zone-lasting'] as const satisfies readonly RefusalScope[];

/** A provider's refusal of a slice, told to the pool. */
export interface ToldRefusal {
  readonly scope: (typeof CAPACITY_SCOPES)[number];
  /** `MOST_ANSWER` characters at most. */
  readonly message: string;
}

/**
 * What jobs and slices tell the quota workflow. Of one lease and sender only the highest sequence counts, so a message may
 * arrive twice or late. Sequences are workflow times (never less than the last plus one): they grow across resets too.
 */
export interface LeaseMessage {
  readonly lease: LeaseId;
  /** `job`, or the slice's resource name. */
  readonly sender: string;
  readonly sequence: number;
  readonly body: LeaseMessageBody;
}

/** How a deletion stands: told to the pool once it has lasted for `giveBackMs`, and by each heartbeat to who waits. */
export interface StuckDeletion {
  /** Since when it was asked for, and since when an answer could be believed. */
  readonly since: EpochMs;
  /** What was seen, or was answered, last. */
  readonly answer: string;
  /** That answer does not change by itself: a right, a project or a zone that is not there. */
  readonly isFinal?: true;
}

/** A slice that is being deleted; without the rest nobody knows yet how that stands. */
export interface SliceDeletion extends Partial<StuckDeletion> {
  readonly slice: string;
}

/** Characters of a provider's answer that are passed on. */
export const MOST_ANSWER = 500;

/** Sender of what is told of a slice's deletion: its sequences are not those of the slice's own messages. */
export const deletionSender = (slice: string): string => `${slice} deletion`;

export type LeaseMessageBody =
  /** The job waits for this lease; or it was granted, `heldSince`, perhaps by an epoch that is lost. */
  | {
      readonly kind: 'request';
      readonly demand: Demand;
      /** The time of the grant. */
      readonly heldSince?: EpochMs;
      readonly slices: readonly MachineRef[];
      /** When it first asked under this number: its aging counts from there. */
      readonly askedAt?: EpochMs;
      /** What the grant said, for a pool that has lost its memory; so are the following. */
      readonly tier?: number;
      /** All of its slices are ready, in this zone. */
      readonly zone?: string;
      /** It is paused and keeps its slices. */
      readonly isParked?: boolean;
    }
  /** The job lets go; the lease is free once each of these slices was seen gone. */
  | { readonly kind: 'release'; readonly slices: readonly MachineRef[] }
  /** A slice is about to send its create call and asks whether the lease stands; also sent again to a new epoch. */
  | {
      readonly kind: 'slice';
      readonly ref: MachineRef;
      /** It is asked for beside what the job asks for already, in another zone: only where its pool has room for both. */
      readonly isBeside?: true;
      /** Absent: its kind of machines has no capacity that a pool could learn of. */
      readonly asks?: AskedFor;
    }
  /**
   * The slice was seen gone, or never was. `isRefused`: its provider refused it, not only for a moment; `refused`: in words that tell
   * what its zone has.
   */
  | { readonly kind: 'gone'; readonly refused?: ToldRefusal; readonly isRefused?: true }
  /** Of a slice's deletion, by `deletionSender`; said again while it lasts. */
  | ({ readonly kind: 'stuck'; readonly slice: string } & StuckDeletion)
  /**
   * Of the job: all of its slices are ready, in this zone; or, without `zone`, it has lost chips and asks for them again.
   * `isPreempted`: the provider took them.
   */
  | { readonly kind: 'chips'; readonly zone?: string; readonly isPreempted?: true }
  /** Of the job: it is paused, or resumed. Its slices are kept. */
  | { readonly kind: 'parked'; readonly isParked: boolean };
