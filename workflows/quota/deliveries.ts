import type { Deliveries, GrantedLease, RevokedLease } from '../../contract/quota-activities.js';
import type { JobRef } from '../../contract/workflow-ids.js';
import type { AskedFor, LeaseId } from '../../domain/lease.js';
import type { MachineRef } from '../../domain/machines.js';
import { count, type EpochMs } from '../../domain/units.js';

/** News that jobs and slices were not sent yet. Plain JSON: a handler may run between the last delivery and a continue-as-new. */
export interface Pending {
  /** Grants that were not told yet, or are told again. */
  readonly regrants: LeaseId[];
  /** Leases whose job must give them back. */
  readonly revocations: LeaseId[];
  readonly priorities: { readonly job: JobRef; readonly priority: number }[];
  /** Slices that ask whether their lease stands. */
  readonly asked: AskingSlice[];
  /** Leases whose job must give up its requests beside its first gang. Absent: none, from a run before there were any. */
  withdrawals?: { readonly lease: LeaseId; readonly reason: string }[];
  readonly reclaims: { lease: LeaseId; ref: MachineRef }[];
  readonly releases: { slice: string; reason: string }[];
  /** Slices that a person has given up. */
  readonly giveUps: { slice: string; reason: string }[];
}

/** A slice that waits for an answer before it may ask its provider. */
export interface AskingSlice {
  readonly key: string;
  readonly slice: string;
  /** The slice belongs to a gang beside the first. Its provider is asked if the answer is yes. */
  readonly isBeside?: true;
  readonly asks?: AskedFor;
  readonly at: EpochMs;
}

export const nothingPending = (): Pending => ({
  regrants: [],
  revocations: [],
  priorities: [],
  asked: [],
  reclaims: [],
  releases: [],
  giveUps: [],
});

/**
 * The first `most` of all lists together, and the rest. A batch is one activity's input (2 MB at most) and has one activity's
 * time, whatever it is made of: an admin's drain asks thousands of leases back at once. News that a job or slice waits for comes
 * first.
 */
export function splitPending(pending: Pending, most: number): readonly [now: Pending, later: Pending] {
  let room = most;
  const split = <T>(list: readonly T[]): [T[], T[]] => {
    const first = list.slice(0, room);
    room -= first.length;
    return [first, list.slice(first.length)];
  };
  const asked = split(pending.asked);
  const regrants = split(pending.regrants);
  const priorities = split(pending.priorities);
  const revocations = split(pending.revocations);
  const releases = split(pending.releases);
  const reclaims = split(pending.reclaims);
  const giveUps = split(pending.giveUps);
  const withdrawals = split(pending.withdrawals ?? []);
  const half = (at: 0 | 1): Pending => ({
    regrants: regrants[at],
    revocations: revocations[at],
    priorities: priorities[at],
    asked: asked[at],
    reclaims: reclaims[at],
    releases: releases[at],
    giveUps: giveUps[at],
    ...(withdrawals[at].length === 0 ? {} : { withdrawals: withdrawals[at] }),
  });
  return [half(0), half(1)];
}

export const isPending = (pending: Pending): boolean =>
  Object.values(pending).some((list: readonly unknown[]) => list.length > 0);

/** The news as of now, in one delivery. */
export interface PendingNow extends Omit<Pending, 'asked' | 'regrants' | 'revocations' | 'withdrawals'> {
  readonly grants: readonly GrantedLease[];
  readonly revocations: readonly RevokedLease[];
  readonly answers: readonly { readonly slice: string; readonly isHeld: boolean }[];
}

/** An empty delivery, to fill. */
export const emptyDelivery = (pool: string, epoch: number): Deliveries => ({
  pool,
  epoch,
  grants: [],
  revocations: [],
  priorities: [],
  answers: [],
  restate: [],
  reclaims: [],
  releases: [],
  giveUps: [],
});

/** `grant 3, answer 4 slices`: kinds that are not in the batch are not named. */
export function deliverySummary(deliveries: Deliveries): string {
  const { grants, answers, reclaims, releases, revocations, priorities, giveUps = [] } = deliveries;
  const parts: [number, string][] = [
    [grants.length, `grant or confirm ${count(grants.length, 'lease')}`],
    [revocations.length, `ask ${count(revocations.length, 'lease')} back`],
    [priorities.length, `tell ${count(priorities.length, 'job')} of its priority`],
    [answers.length, `answer ${count(answers.length, 'slice')}`],
    [releases.length, `tell ${count(releases.length, 'slice')} to go`],
    [giveUps.length, `tell ${count(giveUps.length, 'slice')} that a person has given it up`],
    [reclaims.length, `reclaim ${count(reclaims.length, 'slice')}`],
  ];
  return parts.flatMap(([number, text]) => (number > 0 ? [text] : [])).join(', ');
}
