import type { JobRef } from '../../activities/contract.js';
import type { LeaseId } from '../../domain/lease.js';
import type { SliceRef } from '../../domain/slice.js';

/** What somebody must be told: plain JSON, since a handler may run between the last delivery and a continue-as-new. */
export interface Pending {
  /** Grants that were not told yet, or are told again. */
  readonly regrants: LeaseId[];
  /** Leases whose job is to give them back; absent in what an older version carried, as is `priorities`. */
  readonly revocations?: LeaseId[];
  readonly priorities?: { readonly job: JobRef; readonly priority: number }[];
  /** Slices that want to know whether their lease stands. */
  readonly asked: { key: string; slice: string }[];
  readonly reclaims: { lease: LeaseId; ref: SliceRef }[];
  readonly releases: { slice: string; reason: string }[];
}

export const nothingPending = (): Required<Pending> => ({
  regrants: [],
  revocations: [],
  priorities: [],
  asked: [],
  reclaims: [],
  releases: [],
});

export const isPending = (pending: Required<Pending>): boolean =>
  Object.values(pending).some((list: readonly unknown[]) => list.length > 0);
