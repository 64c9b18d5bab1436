import type { JsonObject } from '../json.js';
import type { ApiVersion } from './api-version.js';
import type { Tier } from './settings.js';

/**
 * Cloud TPU's resources as one canonical JSON form: proto3 JSON of v2. Each API version is a codec over it, so fields
 * that a request carried and nobody here knows are kept as they are.
 */
export interface NodeResource extends JsonObject {
  readonly name: string;
  readonly state: NodeState;
  /** A random 63-bit integer, as proto3 JSON writes it. */
  readonly id: string;
  readonly acceleratorType: string;
  readonly health: NodeHealth;
  readonly healthDescription?: string;
  readonly networkEndpoints: readonly JsonObject[];
  /** Name of the queued resource that made the node. */
  readonly queuedResource?: string;
}
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
  | 'UNKNOWN';

export type NodeHealth = 'HEALTHY' | 'TIMEOUT' | 'UNHEALTHY_TENSORFLOW' | 'UNHEALTHY_MAINTENANCE';

export interface QueuedResource extends JsonObject {
  readonly name: string;
  readonly state: QueuedResourceState;
}
export interface QueuedResourceState extends JsonObject {
  readonly state: QueuedResourceStateName;
  readonly stateInitiator: 'USER' | 'SERVICE';
}
export type QueuedResourceStateName =
  | 'CREATING'
  | 'ACCEPTED'
  | 'WAITING_FOR_RESOURCES'
  | 'PROVISIONING'
  | 'ACTIVE'
  | 'SUSPENDING'
  | 'SUSPENDED'
  | 'FAILED'
  | 'DELETING';

export type OperationVerb =
  | 'create'
  | 'delete'
  | 'stop'
  | 'start'
  | 'update'
  | 'reset'
  | 'performMaintenance'
  | 'simulateMaintenanceEvent';

/** A google.longrunning.Operation. The codec makes `result` the `response` Any of its API version. */
export interface Operation {
  readonly name: string;
  readonly target: string;
  readonly verb: OperationVerb;
  readonly createTime: string;
  readonly endTime?: string;
  /** Of the call that began it; absent: v2. */
  readonly apiVersion?: ApiVersion;
  /** CancelOperation was called: best effort, and Cloud TPU's work goes on. */
  readonly cancelRequested?: boolean;
  readonly error?: Status;
  readonly result?: { readonly type: 'Node' | 'QueuedResource' | 'Empty'; readonly value: JsonObject };
}

/** One TPU VM as its node records it. */
export interface HostRecord {
  readonly address: string;
  readonly hostname: string;
}

/** What the VMs of a node are told by their metadata server, between two moments of the cloud's time (epoch ms). */
export interface Notice {
  readonly kind: 'preemption' | 'maintenance';
  readonly at: number;
  readonly until: number;
  /** Those that are told, by index; none: all. */
  readonly workers?: readonly number[];
}

/** google.rpc.Status, as an operation or a FAILED request carries it. */
export interface Status {
  readonly code: number;
  readonly message: string;
}

/** The moments at which time alone does something to a node, epoch ms of the cloud's clock; absent: it does not. */
export interface NodeTimes {
  /** When the state may be left. */
  readonly dueAt?: number | undefined;
  /** When the API says that the provider has taken it: its VMs may be off before. */
  readonly preemptAt?: number | undefined;
  /** When its VMs are switched off. */
  readonly offAt?: number | undefined;
  /** When its VMs are told of that. */
  readonly noticeAt?: number | undefined;
  /** When UNHEALTHY_MAINTENANCE ends by itself. */
  readonly clearAt?: number | undefined;
  /** When the update that runs is done. */
  readonly updateAt?: number | undefined;
  /** When a preemptible node has lived its day. */
  readonly expiresAt?: number | undefined;
}

/** An UpdateNode that runs. */
export interface NodeUpdate {
  readonly changes: JsonObject;
  readonly operation: string;
}

/** Changed by Records alone, in place: whoever holds one sees it as it is now. */
export interface NodeRecord extends NodeTimes {
  readonly resource: NodeResource;
  readonly chips: number;
  readonly tier: Tier;
  readonly hosts: readonly HostRecord[];
  /** All VMs answer on SSH. */
  readonly isBooted: boolean;
  /** The provider has its chips back, also while the husk, or what was stopped before, is being deleted. */
  readonly isReclaimed: boolean;
  /** Set while the VMs are told of it. */
  readonly notice?: Notice | undefined;
  /** Of its VMs, in a state in which they run: they shut down, or are off already. Absent: they are on. */
  readonly power?: 'stopping' | 'off' | undefined;
  readonly update?: NodeUpdate | undefined;
  /** Names of operations that end with the state that the node is in. */
  readonly operations: readonly string[];
}

export interface QueuedResourceRecord {
  readonly resource: QueuedResource;
  /** Of all its nodes together. */
  readonly chips: number;
  readonly tier: Tier;
  /** Full names of its nodes, in the order of their ids, which may not exist; one, or all slices of a multislice. */
  readonly nodes: readonly string[];
  readonly dueAt?: number | undefined;
  /** When a request that still waits fails, epoch ms (queueing_policy.valid_until). */
  readonly validUntil?: number | undefined;
  /** Not granted before that, epoch ms (queueing_policy.valid_after). */
  readonly validFrom?: number | undefined;
  /** When the nodes of a Flex-start request are taken back, epoch ms; set when it becomes ACTIVE. */
  readonly runUntil?: number | undefined;
  /** Until then it cannot be deleted while it is PROVISIONING, epoch ms. */
  readonly undeletableUntil?: number | undefined;
  /** What it fails with when its next state ends: it was refused for quota, or its nodes came to nothing. */
  readonly failure?: Status | undefined;
  /** It was refused for quota: it holds none. */
  readonly isOverQuota: boolean;
  readonly operations: readonly string[];
}
