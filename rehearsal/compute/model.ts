import type { JsonObject } from '../json.js';
import type { HostRecord, Notice } from '../tpu/model.js';

/** As Compute Engine names them; SUSPENDED, SUSPENDING and REPAIRING are entered by `force` alone. */
export const VM_STATUSES = [
  'PROVISIONING',
  'STAGING',
  'RUNNING',
  'STOPPING',
  'TERMINATED',
  'REPAIRING',
  'SUSPENDING',
  'SUSPENDED',
] as const;
export type VmStatus = (typeof VM_STATUSES)[number];

/** One `compute#operation`, as the API answers with it. */
export interface ComputeOperation extends JsonObject {
  readonly name: string;
  readonly operationType: string;
  readonly targetLink: string;
  readonly status: 'RUNNING' | 'DONE';
}

/** What an operation fails with. */
export interface ComputeError {
  /** Such as `QUOTA_EXCEEDED`. */
  readonly code: string;
  readonly message: string;
}

/** One `compute#instance`, and what stands beside it. Changed by ComputeCloud alone, in place. */
export interface VmRecord {
  /** `projects/P/zones/Z/instances/N` */
  readonly path: string;
  /** As the API answers with it. */
  resource: JsonObject & { readonly id: string; readonly name: string; readonly status: VmStatus };
  readonly host: HostRecord;
  readonly machineType: string;
  /** Its SSH answers. */
  isBooted: boolean;
  notice?: Notice | undefined;
  power?: 'stopping' | undefined;
  /** When its status may be left, epoch ms of the cloud's clock. */
  dueAt?: number | undefined;
  /** What its create fails with when that time has come. */
  failure?: ComputeError | undefined;
  /** It goes when it has stopped. */
  isToGo: boolean;
  /** Full names of operations that end with its status. */
  operations: readonly string[];
}

/** The part of the cloud's state that is Compute Engine's; plain JSON. */
export interface ComputeState {
  /** By path. */
  readonly vms: Record<string, VmRecord>;
  /** By `projects/P/zones/Z/operations/N`. */
  readonly operations: Record<string, ComputeOperation>;
}

export const emptyCompute = (): ComputeState => ({ vms: {}, operations: {} });
