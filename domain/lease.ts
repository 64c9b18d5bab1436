import type { MachineRef } from './machines.js';
import type { Pricing, RefusalScope } from './slice.js';
import type { EpochMs, QuotaUnits } from './units.js';

/** A job's claim on its pool's chips. A job has one lease at a time, and a later one has a greater number. */
export interface LeaseId {
  readonly pool: string;
  /** The job's workflow id. */
  readonly job: string;
  /** The first run id of the job's chain: a later job of the same name is another holder. */
  readonly run: string;
  readonly number: number;
}

export const leaseKey = (lease: LeaseId): string => `${lease.job}/${lease.run}/${lease.number}`;
/** The job of a lease key: the text before `/`, which no job id holds. Other text stays as it is: `quota plan` takes any ids. */
export const jobOfLeaseKey = (key: string): string => key.split('/', 1)[0] ?? key;

export interface Demand {
  readonly project: string;
  readonly user: string;
  /** A server has verified the user. Absent: it is the submitter's own claim. */
  readonly isVerified?: true;
  /** 1 (first) to 5. */
  readonly priority: number;
  readonly submittedAt: EpochMs;
  readonly units: QuotaUnits;
  /** The pricing that the job itself demands. Absent: its tier's. */
  readonly pricing?: Pricing;
  /** Zones that the job may use, in order of preference. Absent: unknown, so no zone's cool-down holds it back. */
  readonly zones?: readonly string[];
  /** Its job file says `zones: any`, so its pool orders `zones` with each grant. Absent: they are asked as listed. */
  readonly anyZone?: AskedFor;
}

/** The type and pricing of a slice's request, by which the pool distinguishes the capacity of a zone (docs/adr/0118). */
export interface AskedFor {
  /** A Cloud TPU type, such as `v6e-8`. */
  readonly accelerator: string;
  readonly pricing: Pricing;
}

/** Scopes of refusals whose message the pool is told: those of one zone. Others concern one request or the installation. */
export const TOLD_SCOPES = ['zone', 'zone-lasting', 'permission', 'unknown'] as const satisfies readonly RefusalScope[];

/** A provider's refusal of a slice, as reported to the pool. */
export interface ToldRefusal {
  readonly scope: (typeof TOLD_SCOPES)[number];
  /** At most `MOST_ANSWER` characters. */
  readonly message: string;
}

/**
 * Messages of jobs and slices to the quota workflow. For one lease and sender only the highest sequence counts, so a message may
 * arrive twice or late. Sequences are workflow times (at least the last plus one): they grow across resets too.
 */
export interface LeaseMessage {
  readonly lease: LeaseId;
  /** `job`, or the slice's resource name. */
  readonly sender: string;
  readonly sequence: number;
  readonly body: LeaseMessageBody;
}

/** Progress of a deletion. The pool is told of it once it has lasted for `giveBackMs`. Heartbeats tell it to users who wait. */
export interface StuckDeletion {
  /** Start of the deletion. If later: the time from which an answer that nothing is there can be believed. */
  readonly since: EpochMs;
  /** The provider's last answer, or the last state seen. */
  readonly answer: string;
  /** The answer does not change by itself: a missing right, project or zone. */
  readonly isFinal?: true;
}

/** A slice that is being deleted. Without the other fields its progress is not known yet. */
export interface SliceDeletion extends Partial<StuckDeletion> {
  readonly slice: string;
}

/** Characters of a provider's answer that are passed on, at most. */
export const MOST_ANSWER = 500;

/** Sender of messages about a slice's deletion. Their sequences are separate from those of the slice's own messages. */
export const deletionSender = (slice: string): string => `${slice} deletion`;

export type LeaseMessageBody =
  /** The job waits for this lease, or holds it since `heldSince`, perhaps granted by an epoch that is lost. */
  | {
      readonly kind: 'request';
      readonly demand: Demand;
      /** The time of the grant. */
      readonly heldSince?: EpochMs;
      readonly slices: readonly MachineRef[];
      /** Time of its first request under this number, from which its aging counts. */
      readonly askedAt?: EpochMs;
      /** The grant's tier. Like the fields below, it is for a pool that has lost its state. */
      readonly tier?: number;
      /** All of its slices are ready, in this zone. */
      readonly zone?: string;
      /** The job is paused and keeps its slices. */
      readonly isParked?: boolean;
    }
  /** The job returns the lease, which is free once each of these slices was seen gone. */
  | { readonly kind: 'release'; readonly slices: readonly MachineRef[] }
  /** A slice is about to send its create call, and asks whether the lease is held. It asks again in a new epoch. */
  | {
      readonly kind: 'slice';
      readonly ref: MachineRef;
      /** The slice is requested beside the job's present request, in another zone: only if its pool has room for both. */
      readonly isBeside?: true;
      /** Absent: a pool cannot learn the capacity of its kind of machines. */
      readonly asks?: AskedFor;
      /** Its machines are kept for it until others have left them: its asking timeout begins anew (docs/adr/0170). */
      readonly isPlaceKept?: true;
    }
  /**
   * The slice was seen gone, or never existed. `isRefused`: its provider refused it, and not only for a moment. `refused`: the
   * refusal, if it concerns the zone.
   */
  | { readonly kind: 'gone'; readonly refused?: ToldRefusal; readonly isRefused?: true }
  /** About a slice's deletion, from `deletionSender`. Repeated while the deletion lasts. */
  | ({ readonly kind: 'stuck'; readonly slice: string } & StuckDeletion)
  /**
   * From the job: all its slices are ready, in this zone. Without `zone`: it has lost chips and asks for them again.
   * `isPreempted`: the provider took them.
   */
  | { readonly kind: 'chips'; readonly zone?: string; readonly isPreempted?: true }
  /** From the job: it is paused, or resumed. Its slices are kept. */
  | { readonly kind: 'parked'; readonly isParked: boolean };
