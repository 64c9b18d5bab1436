import type { EpochMs } from './units.js';

export type AllocationMode = 'queued-resources' | 'tpu-vm';

/** What Google bills a slice as. `preemptible` is the old form of spot and lives 24 hours at most. */
export type Pricing = 'spot' | 'ondemand' | 'preemptible' | 'reserved';

export const DISK_MODES = ['read-write', 'read-only'] as const;

/** An existing disk that is attached to every host of a slice. */
export interface DataDisk {
  /** Its name, for the disk of that name in the slice's own project and zone; or `projects/P/zones/Z/disks/NAME`. */
  readonly source: string;
  /** One VM at a time may write to a disk (Google's "single-writer mode"). */
  readonly mode: (typeof DISK_MODES)[number];
}

/** Where one slice is found in the cloud. The queued resource and its node carry the same name. */
export interface SliceRef {
  /** The Google Cloud project id, not the quota project. */
  readonly googleProject: string;
  readonly zone: string;
  /** `^[a-z][a-z0-9-]*[a-z0-9]$`, 63 characters at most. */
  readonly name: string;
  readonly mode: AllocationMode;
}

/** Whose a resource is. Only what carries all of our own values is ever adopted or deleted (DESIGN.md 2, "Nothing leaks"). */
export interface Ownership {
  /** The installation's random id. */
  readonly owner: string;
  /** The job's id. */
  readonly job: string;
  /** The first run id of the job's chain. */
  readonly run: string;
  readonly generation: number;
  /** Short hash of what was asked for: a resource of another spec is not adopted. */
  readonly spec: string;
}

/** One create request, complete: the same plan always makes the same request. */
export interface SlicePlan {
  readonly ref: SliceRef;
  readonly ownership: Ownership;
  readonly accelerator: string;
  readonly topology?: string;
  readonly runtimeVersion: string;
  readonly pricing: Pricing;
  /** A name in the slice's own project and zone, or a path; used with `reserved` alone. */
  readonly reservation?: string;
  readonly network?: string;
  readonly subnetwork?: string;
  readonly externalIps: boolean;
  /** An email; `default` is Compute Engine's default service account. */
  readonly serviceAccount?: string;
  /** URLs; none = all of Google Cloud's. */
  readonly scopes?: readonly string[];
  readonly dataDisks?: readonly DataDisk[];
  readonly tags: readonly string[];
  /** The user's labels; ownership labels are added by the adapter. */
  readonly labels: Readonly<Record<string, string>>;
  /** Instance metadata, `ssh-keys` and `startup-script` included. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** One TPU VM of a slice, as the node's networkEndpoints name it. */
export interface SliceHost {
  /** Position in networkEndpoints, from 0: what Google's tools call the worker. */
  readonly index: number;
  readonly internalIp: string;
  readonly externalIp?: string;
}

/** Google's words (Cloud TPU v2 protos); unknown ones arrive as they are. */
export type QueuedResourceState =
  | 'CREATING'
  | 'ACCEPTED'
  | 'WAITING_FOR_RESOURCES'
  | 'PROVISIONING'
  | 'ACTIVE'
  | 'SUSPENDING'
  | 'SUSPENDED'
  | 'FAILED'
  | 'DELETING'
  | (string & {});
export type NodeState =
  | 'CREATING'
  | 'READY'
  | 'RESTARTING'
  | 'REIMAGING'
  | 'DELETING'
  | 'REPAIRING'
  | 'STOPPED'
  | 'STOPPING'
  | 'STARTING'
  | 'PREEMPTED'
  | 'TERMINATED'
  | 'HIDING'
  | 'HIDDEN'
  | 'UNHIDING'
  | 'UNKNOWN'
  | (string & {});

/**
 * What the API said about one slice at one time. A failed call is no observation: adapters throw instead, so that
 * "unknown" can never be read as "gone".
 */
export interface SliceObservation {
  readonly at: EpochMs;
  /** `unused` in tpu-vm mode. */
  readonly queuedResource:
    | 'unused'
    | 'not-found'
    | {
        readonly state: QueuedResourceState;
        readonly error?: { readonly code: number; readonly message: string };
        readonly ownership?: Ownership;
      };
  readonly node:
    | 'not-found'
    | {
        readonly state: NodeState;
        readonly health: string;
        readonly healthDescription?: string;
        /** The node's own int64 id, as a string: tells a recreated node of the same name apart. */
        readonly nodeId: string;
        readonly hosts: readonly SliceHost[];
        readonly ownership?: Ownership;
      };
  /**
   * The create operation, where one was asked about and its resource is not there: why a create that was accepted came to
   * nothing. Absent also where Google has forgotten it, which says nothing about the resource.
   */
  readonly operation?: {
    readonly isDone: boolean;
    readonly error?: { readonly code: number; readonly message: string };
  };
}
