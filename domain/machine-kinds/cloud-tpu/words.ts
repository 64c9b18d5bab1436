import type { Ownership, Pricing } from '../../slice.js';

export type AllocationMode = 'queued-resources' | 'tpu-vm';

export const DISK_MODES = ['read-write', 'read-only'] as const;

/** What `zones` says in place of a list: every zone of the pool that has the type (docs/adr/0119). */
export const ANY_ZONE = 'any';

/** Requests that a job may have at once: each takes Google quota (docs/adr/0101). */
export const MOST_REQUESTS = 4;
/** Seconds: what Google sells of flex-start (docs.cloud.google.com/tpu/docs/request-using-flex-start, 2025-09-04: "up to 7 days"). */
export const MOST_RUN_SECONDS = 7 * 86_400;
/** Reserved capacity lies where it lies. */
export const usualRequests = (pricing: Pricing | 'any'): number => (pricing === 'reserved' ? 1 : 2);

/** An existing disk that is attached to every host of a slice. */
export interface DataDisk {
  /** Its name, for the disk of that name in the slice's own project and zone; or `projects/P/zones/Z/disks/NAME`. */
  readonly source: string;
  /** One VM at a time may write to a disk (Google's "single-writer mode"). */
  readonly mode: (typeof DISK_MODES)[number];
}

/** The `tpu` section of a job file after defaults and checks: what a job asks Cloud TPU for. */
export interface CloudTpuRequest {
  readonly allocationMode: AllocationMode;
  readonly accelerator: string;
  /** Prefix of resource names; absent = `jc`. */
  readonly name?: string;
  /** In order of preference. Empty: the pool's, until the worker that accepts the job has put them in. */
  readonly zones: readonly string[];
  /** The file says `zones: any`: `zones` are its pool's, and are asked in the order that the pool sees. Absent: as they stand. */
  readonly anyZone?: true;
  /** The Google Cloud project; absent = the worker's. */
  readonly project?: string;
  readonly runtimeVersion: string;
  /** Requests for the whole gang at once, each in another zone, 1 to `MOST_REQUESTS`. Absent: `usualRequests`. */
  readonly hedge?: number;
  /** Used if the job's tier has no pricing. `any` becomes spot. */
  readonly pricing: Pricing | 'any';
  /** Of flex-start: seconds from a slice's start to its end, 60 to `MOST_RUN_SECONDS`. Absent: `MOST_RUN_SECONDS`. */
  readonly runSeconds?: number;
  /** How long Google may keep a request that it has no chips for; seconds, 60 or more. Absent: for ever. */
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
  /** Of a future reservation in calendar mode: a slice of it ends with it. */
  readonly reservationBound?: true;
  /** Absent = the type's usual one. */
  readonly topology?: string;
  readonly dataDisks?: readonly DataDisk[];
}

/** The section itself, as a job's spec has it. */
export interface CloudTpuSection {
  readonly tpu: CloudTpuRequest;
}

/** A queued resource and its node of the same name, or a node alone; or a queued resource of several nodes (docs/adr/0054). */
export interface CloudTpuRef {
  readonly kind: 'cloud-tpu';
  /** The Google Cloud project id, not the quota project. */
  readonly googleProject: string;
  readonly zone: string;
  /** `^[a-z][a-z0-9-]*[a-z0-9]$`, 63 characters at most. */
  readonly name: string;
  readonly mode: AllocationMode;
  /** Of a queued resource of several nodes: how many, named `<name>-0` to `<name>-(slices - 1)`. */
  readonly slices?: number;
  /** Of one such node: the queued resource that it belongs to. */
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
  /** A name in the slice's own project and zone, or a path, whose name `-` is any; used with `reserved` alone. */
  readonly reservation?: string;
  readonly reservationBound?: true;
  /** With flex-start alone, and always there: as in `CloudTpuRequest`. */
  readonly runSeconds?: number;
  /** Of a queued resource alone: as in `CloudTpuRequest`. */
  readonly validUntilSeconds?: number;
  readonly network?: string;
  readonly subnetwork?: string;
  readonly externalIps: boolean;
  /** An email; `default` is Compute Engine's default service account. */
  readonly serviceAccount?: string;
  /** URLs. Absent = all of Google Cloud's. */
  readonly scopes?: readonly string[];
  readonly dataDisks?: readonly DataDisk[];
  readonly tags: readonly string[];
  /** The user's labels; the adapter adds ownership labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** Instance metadata, `ssh-keys` and `startup-script` included. */
  readonly metadata: Readonly<Record<string, string>>;
}
