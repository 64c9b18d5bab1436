import type { AuditedResource } from '../../../cloud/machines/audited-resource.js';
import { OWN_LABEL_PREFIX, ownershipFrom } from '../../../domain/identity.js';
import type { LeaseId } from '../../../domain/lease.js';
import type { EpochMs } from '../../../domain/units.js';

/** Temporal's answer about a job, by id and first run. `unknown`: there is no such job (any more). `unanswered`: it did not say. */
export type JobFate =
  | { readonly kind: 'open' }
  | { readonly kind: 'closed'; readonly at: EpochMs }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unanswered' };

export interface HeldLease {
  readonly lease: LeaseId;
  /** `held` or `draining`. */
  readonly state: string;
  readonly slices: readonly string[];
  /** The last answer about each slice whose deletion does not end. Absent: every deletion ends. */
  readonly stuck?: readonly string[];
}

export interface LeakedResource {
  readonly kind: AuditedResource['kind'];
  readonly name: string;
  /** On Cloud TPU the Google project. */
  readonly account: string;
  readonly zone: string;
  readonly accelerator: string;
  readonly state: string;
  /** Milliseconds since it was made; absent where the cloud does not say. */
  readonly ageMs?: number;
  /** Absent where its labels do not say. */
  readonly job?: string;
  readonly why: string;
}

export interface LeakedLease extends HeldLease {
  readonly why: string;
}

/** Key of a job's chain of runs. */
export const jobKey = (job: { readonly job: string; readonly run: string }): string => `${job.job}/${job.run}`;

/** Resources under our owner label. We answer for them, whatever other labels they carry. */
export function ownResources(all: readonly AuditedResource[], owner: string): readonly AuditedResource[] {
  return all.filter(({ labels }) => labels[`${OWN_LABEL_PREFIX}owner`] === owner);
}

/** Ours, and no open job's. A job that closed less than `graceMs` ago may still be cleaning up. */
export function leakedResources(
  own: readonly AuditedResource[],
  fates: ReadonlyMap<string, JobFate>,
  now: EpochMs,
  graceMs: number,
): readonly LeakedResource[] {
  return own.flatMap(({ kind, name, account, zone, accelerator, state, labels, createTime }) => {
    const ownership = ownershipFrom(labels);
    const why = ownership
      ? leakReason(fates.get(jobKey(ownership)) ?? { kind: 'unknown' }, now, graceMs)
      : 'its labels name no job';
    if (why === undefined) return [];
    const ageMs = createTime === undefined ? Number.NaN : now - Date.parse(createTime);
    return [
      {
        ...{ kind, name, account, zone, accelerator, state, why },
        ...(Number.isNaN(ageMs) ? {} : { ageMs }),
        ...(ownership ? { job: ownership.job } : {}),
      },
    ];
  });
}

/** Chips that are counted for a job that has ended. */
export function leakedLeases(
  leases: readonly HeldLease[],
  fates: ReadonlyMap<string, JobFate>,
  now: EpochMs,
  graceMs: number,
): readonly LeakedLease[] {
  return leases.flatMap((held) => {
    const why = leakReason(fates.get(jobKey(held.lease)) ?? { kind: 'unknown' }, now, graceMs);
    return why === undefined ? [] : [{ ...held, why }];
  });
}

function leakReason(fate: JobFate, now: EpochMs, graceMs: number): string | undefined {
  if (fate.kind === 'open' || fate.kind === 'unanswered') return undefined;
  if (fate.kind === 'unknown') return 'Temporal knows no such job';
  const closedFor = now - fate.at;
  return closedFor <= graceMs ? undefined : `its job closed ${Math.floor(closedFor / 1000)} s ago`;
}
