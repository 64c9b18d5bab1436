import type { JsonObject } from '../json.js';
import type { ApiVersion } from './api-version.js';

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
  readonly health: string;
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
  'create' | 'delete' | 'stop' | 'start' | 'update' | 'reset' | 'performMaintenance' | 'simulateMaintenanceEvent';

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
  readonly error?: { readonly code: number; readonly message: string };
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

export interface NodeRecord {
  resource: NodeResource;
  readonly chips: number;
  readonly hosts: readonly HostRecord[];
  /** When the state may be left, epoch ms; undefined if it is not left by itself. */
  dueAt: number | undefined;
  /** All VMs answer on SSH. */
  isBooted: boolean;
  /** The provider has its chips back, also while the husk is being deleted. */
  wasPreempted: boolean;
  /** When the provider takes it back after a notice, epoch ms. */
  preemptAt?: number | undefined;
  /** Set while the VMs are told of it. */
  notice?: Notice | undefined;
  /** Names of operations that end with the state that the node is in. */
  operations: readonly string[];
}

export interface QueuedResourceRecord {
  resource: QueuedResource;
  readonly chips: number;
  /** Full names of its nodes, in the order of their ids, which may not exist; one, or all slices of a multislice. */
  readonly nodes: readonly string[];
  /** The first of them. */
  readonly node: string;
  dueAt: number | undefined;
  /** When a request that still waits fails, epoch ms (queueing_policy.valid_until). */
  readonly validUntil: number | undefined;
  operations: readonly string[];
}
