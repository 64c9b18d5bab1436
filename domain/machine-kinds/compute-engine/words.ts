import type { Ownership, Pricing } from '../../slice.js';
import type { DataDisk } from '../cloud-tpu/words.js';

/** Accelerators attached to a machine type that has none itself. */
export interface AttachedAccelerator {
  /** Compute Engine's name, such as `nvidia-tesla-t4`. */
  readonly type: string;
  /** Number on each VM. */
  readonly count: number;
}

/** Properties of one VM of a slice that do not depend on how it is bought. */
interface VmShape {
  /** Such as `g2-standard-8`. */
  readonly machineType: string;
  readonly accelerator?: AttachedAccelerator;
  /** `projects/P/global/images/NAME` or `projects/P/global/images/family/FAMILY`. */
  readonly image: string;
  /** Size of the boot disk, in GB. Absent: the image's. */
  readonly diskGb?: number;
  /** Type of the boot disk, such as `pd-ssd`. Absent: Compute Engine's default, `pd-standard`. */
  readonly diskType?: string;
  readonly dataDisks?: readonly DataDisk[];
  readonly network?: string;
  readonly subnetwork?: string;
  readonly externalIps: boolean;
  /** An email; `default` is Compute Engine's default service account, which is used if none is named. */
  readonly serviceAccount?: string;
  /** URLs. Absent: all scopes of Google Cloud. */
  readonly scopes?: readonly string[];
  readonly tags: readonly string[];
}

/** The `compute_engine` section of a job file after defaults and checks: the VMs of one slice. */
export interface ComputeEngineRequest extends VmShape {
  /** VMs of one slice, 1 or more. Each is one host. */
  readonly count: number;
  /** Prefix of resource names. Absent: `jc`. */
  readonly name?: string;
  /** In order of preference. Empty: the pool's zones, which the worker that accepts the job puts in. */
  readonly zones: readonly string[];
  /** The Google Cloud project. Absent: the worker's. */
  readonly project?: string;
  /** Used if the job's tier has no pricing. `any` becomes spot. */
  readonly pricing: Pricing | 'any';
  readonly reservation?: string;
  readonly startupScript?: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

/** The section itself, as part of a job's spec. */
export interface ComputeEngineSection {
  readonly compute_engine: ComputeEngineRequest;
}

/** The VMs of one slice, in one zone; `vmNames` are their names. */
export interface ComputeEngineRef {
  readonly kind: 'compute-engine';
  /** The Google Cloud project id, not the quota project. */
  readonly googleProject: string;
  readonly zone: string;
  /** `^[a-z][a-z0-9-]*[a-z0-9]$`, 63 characters at most. */
  readonly name: string;
  /** Number of VMs, 1 or more. */
  readonly vms: number;
  /** Never given: each slice is requested alone. */
  readonly slices?: number;
  readonly request?: string;
}

/** All VMs of one slice, complete: the same plan always makes the same requests. */
export interface ComputeEnginePlan extends VmShape {
  readonly ref: ComputeEngineRef;
  readonly ownership: Ownership;
  readonly pricing: Pricing;
  /** A name in the VM's own project, or `projects/OWNER/reservations/NAME`. Only used with `reserved`. */
  readonly reservation?: string;
  /** The user's labels; the adapter adds ownership labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** Instance metadata, `ssh-keys` and `startup-script` included. */
  readonly metadata: Readonly<Record<string, string>>;
}
