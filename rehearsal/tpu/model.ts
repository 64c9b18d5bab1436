import type { JsonObject } from '../json.js';
import type { ApiVersion } from './api-version.js';
import type { Tier } from './settings.js';

/**
 * Cloud TPU's resources in one canonical JSON form: proto3 JSON of v2. Each API version is a codec over it, so unknown fields of
 * a request are kept as they are.
 */
export interface NodeResource extends JsonObject {
  readonly name: string;
  readonly state: NodeState;
  /** A random 63-bit integer in proto3 JSON. */
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

/** A google.longrunning.Operation. The codec turns `result` into the `response` Any of its API version. */
export interface Operation {
  readonly name: string;
  readonly target: string;
  readonly verb: OperationVerb;
  readonly createTime: string;
  readonly endTime?: string;
  /** Version of the call that began the operation; absent: v2. */
  readonly apiVersion?: ApiVersion;
  /** CancelOperation was called. It is best effort: Cloud TPU's work goes on. */
  readonly cancelRequested?: boolean;
  readonly error?: Status;
  readonly result?: { readonly type: 'Node' | 'QueuedResource' | 'Empty'; readonly value: JsonObject };
}

/** One TPU VM in its node's record. */
export interface HostRecord {
  readonly address: string;
  readonly hostname: string;
}

/** A notice on the VMs' metadata server, between two moments of the cloud's time (epoch ms). */
export interface Notice {
  readonly kind: 'preemption' | 'maintenance';
  readonly at: number;
  readonly until: number;
  /** Notified workers, by index; absent: all. */
  readonly workers?: readonly number[];
}

/** google.rpc.Status in an operation or a FAILED request. */
export interface Status {
  readonly code: number;
  readonly message: string;
}

/** Moments at which time alone changes a node, epoch ms of the cloud's clock; absent: never. */
export interface NodeTimes {
  /** When the node may leave its state. */
  readonly dueAt?: number | undefined;
  /** When the API reports the preemption: the node's VMs may be off before. */
  readonly preemptAt?: number | undefined;
  /** When the node's VMs are switched off. */
  readonly offAt?: number | undefined;
  /** When the node's VMs are told of the preemption. */
  readonly noticeAt?: number | undefined;
  /** When UNHEALTHY_MAINTENANCE ends by itself. */
  readonly clearAt?: number | undefined;
  /** When the running update is done. */
  readonly updateAt?: number | undefined;
  /** When a preemptible node reaches the end of its day. */
  readonly expiresAt?: number | undefined;
}

/** A running UpdateNode. */
export interface NodeUpdate {
  readonly changes: JsonObject;
  readonly operation: string;
}

/** Changed by Records only, in place: every holder of a record sees it as it is now. */
export interface NodeRecord extends NodeTimes {
  readonly resource: NodeResource;
  readonly chips: number;
  readonly tier: Tier;
  readonly hosts: readonly HostRecord[];
  /** Whether all VMs answer on SSH. */
  readonly isBooted: boolean;
  /** Whether the provider has the node's chips back. Stays true while a husk, or a node that was stopped, is being deleted. */
  readonly isReclaimed: boolean;
  /** Set while the VMs are being told. */
  readonly notice?: Notice | undefined;
  /** Power of the node's VMs in a state in which they run: shutting down, or off already. Absent: on. */
  readonly power?: 'stopping' | 'off' | undefined;
  readonly update?: NodeUpdate | undefined;
  /** Names of operations that end when the node leaves its present state. */
  readonly operations: readonly string[];
}

export interface QueuedResourceRecord {
  readonly resource: QueuedResource;
  /** Chips of all the request's nodes together. */
  readonly chips: number;
  readonly tier: Tier;
  /** Full names of the request's nodes in the order of their ids: one node, or all slices of a multislice. They may not exist. */
  readonly nodes: readonly string[];
  readonly dueAt?: number | undefined;
  /** When a request that still waits fails, epoch ms (queueing_policy.valid_until). */
  readonly validUntil?: number | undefined;
  /** No grant before this time, epoch ms (queueing_policy.valid_after). */
  readonly validFrom?: number | undefined;
  /** When the nodes of a Flex-start request are taken back, epoch ms. Set when the request becomes ACTIVE. */
  readonly runUntil?: number | undefined;
  /** A request that is PROVISIONING cannot be deleted before this time, epoch ms. */
  readonly undeletableUntil?: number | undefined;
  /** Error with which the request fails when its next state ends: it was refused for quota, or its nodes failed. */
  readonly failure?: Status | undefined;
  /** Whether the request was refused for quota, and so holds none. */
  readonly isOverQuota: boolean;
  readonly operations: readonly string[];
}
