import type { Ownership, Pricing } from '../../slice.js';

export type AllocationMode = 'queued-resources' | 'tpu-vm';

export const DISK_MODES = ['read-write', 'read-only'] as const;

/** The word that `zones` may have in place of a list: every zone of the pool that has the type (docs/adr/0119). */
export const ANY_ZONE = 'any';

/** Seconds: the longest flex-start run (docs.cloud.google.com/tpu/docs/request-using-flex-start, 2025-09-04: "up to 7 days"). */
export const MOST_RUN_SECONDS = 7 * 86_400;
/** Reserved capacity is in a fixed place, so only one zone is asked. */
export const usualRequests = (pricing: Pricing | 'any'): number => (pricing === 'reserved' ? 1 : 2);

/** An existing disk that is attached to every host of a slice. */
export interface DataDisk {
  /** A disk's name, for the disk of that name in the slice's own project and zone, or `projects/P/zones/Z/disks/NAME`. */
  readonly source: string;
  /** One VM at a time may write to a disk (Google's "single-writer mode"). */
  readonly mode: (typeof DISK_MODES)[number];
}

/** The `tpu` section of a job file after defaults and checks: the job's request to Cloud TPU. */
export interface CloudTpuRequest {
  readonly allocationMode: AllocationMode;
  readonly accelerator: string;
  /** Prefix of resource names. Absent: `jc`. */
  readonly name?: string;
  /** In order of preference. Empty: the pool's zones, which the worker that accepts the job puts in. */
  readonly zones: readonly string[];
  /** The file says `zones: any`: `zones` are its pool's, asked in an order that the pool determines. Absent: asked as listed. */
  readonly anyZone?: true;
  /** The Google Cloud project. Absent: the worker's. */
  readonly project?: string;
  readonly runtimeVersion: string;
  /** Requests for the whole gang at the same time, each in another zone, 1 to `MOST_REQUESTS`. Absent: `usualRequests`. */
  readonly hedge?: number;
  /** Used if the job's tier has no pricing. `any` becomes spot. */
  readonly pricing: Pricing | 'any';
  /** For flex-start: seconds from a slice's start to its end, 60 to `MOST_RUN_SECONDS`. Absent: `MOST_RUN_SECONDS`. */
  readonly runSeconds?: number;
  /** Seconds for which Google may keep a request that it has no chips for, 60 or more. Absent: for ever. */
  readonly validUntilSeconds?: number;
  readonly startupScript?: string;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly network?: string;
  readonly subnetwork?: string;
  readonly externalIps: boolean;
  readonly serviceAccount?: string;
  /** URLs. */
  readonly scopes?: readonly string[];
  readonly reservation?: string;
  /** For a future reservation in calendar mode: its slices end when it ends. */
  readonly reservationBound?: true;
  /** Absent: the type's usual one. */
  readonly topology?: string;
  readonly dataDisks?: readonly DataDisk[];
}

/** The section itself, as part of a job's spec. */
export interface CloudTpuSection {
  readonly tpu: CloudTpuRequest;
}

/** A queued resource and its node of the same name, a node alone, or a queued resource of several nodes (docs/adr/0054). */
export interface CloudTpuRef {
  readonly kind: 'cloud-tpu';
  /** The Google Cloud project id, not the quota project. */
  readonly googleProject: string;
  readonly zone: string;
  /** `^[a-z][a-z0-9-]*[a-z0-9]$`, 63 characters at most. */
  readonly name: string;
  readonly mode: AllocationMode;
  /** For a queued resource of several nodes: their number. They are named `<name>-0` to `<name>-(slices - 1)`. */
  readonly slices?: number;
  /** For one such node: its queued resource. */
  readonly request?: string;
}

/** One create request, complete: the same plan always makes the same request. */
export interface CloudTpuPlan {
  readonly ref: CloudTpuRef;
  readonly ownership: Ownership;
  readonly accelerator: string;
  readonly topology?: string;
  readonly runtimeVersion: string;
  readonly pricing: Pricing;
  /** A name in the slice's own project and zone, or a path. A path with name `-` means any. Only used with `reserved`. */
  readonly reservation?: string;
  readonly reservationBound?: true;
  /** Always present with flex-start, and only then. See `CloudTpuRequest`. */
  readonly runSeconds?: number;
  /** Only for a queued resource. See `CloudTpuRequest`. */
  readonly validUntilSeconds?: number;
  readonly network?: string;
  readonly subnetwork?: string;
  readonly externalIps: boolean;
  /** An email; `default` is Compute Engine's default service account. */
  readonly serviceAccount?: string;
  /** URLs. Absent: all scopes of Google Cloud. */
  readonly scopes?: readonly string[];
  readonly dataDisks?: readonly DataDisk[];
  readonly tags: readonly string[];
  /** The user's labels; the adapter adds ownership labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** Instance metadata, `ssh-keys` and `startup-script` included. */
  readonly metadata: Readonly<Record<string, string>>;
}
