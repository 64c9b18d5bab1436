import type { JsonObject } from '../json.js';
import type { HostRecord, Notice } from '../tpu/model.js';

/** Compute Engine's names. SUSPENDED, SUSPENDING and REPAIRING are entered by `force` only. */
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

/** One `compute#operation` in the API's form. */
export interface ComputeOperation extends JsonObject {
  readonly name: string;
  readonly operationType: string;
  readonly targetLink: string;
  readonly status: 'RUNNING' | 'DONE';
}

/** Error of a failed operation. */
export interface ComputeError {
  /** Such as `QUOTA_EXCEEDED`. */
  readonly code: string;
  readonly message: string;
}

/** One `compute#instance` and its internal state. Only ComputeCloud changes it, in place. */
export interface VmRecord {
  /** `projects/P/zones/Z/instances/N` */
  readonly path: string;
  /** In the API's form. */
  resource: JsonObject & { readonly id: string; readonly name: string; readonly status: VmStatus };
  readonly host: HostRecord;
  readonly machineType: string;
  /** Whether the VM's SSH answers. */
  isBooted: boolean;
  notice?: Notice | undefined;
  power?: 'stopping' | undefined;
  /** When the VM may leave its status, epoch ms of the cloud's clock. */
  dueAt?: number | undefined;
  /** Error with which the VM's create operation fails at `dueAt`. */
  failure?: ComputeError | undefined;
  /** Whether the VM is deleted once it has stopped. */
  isToGo: boolean;
  /** Full names of open operations: they end when the VM is RUNNING, TERMINATED or gone. */
  operations: readonly string[];
}

/** Compute Engine's part of the cloud's state; plain JSON. */
export interface ComputeState {
  /** Keyed by path. */
  readonly vms: Record<string, VmRecord>;
  /** Keyed by `projects/P/zones/Z/operations/N`. */
  readonly operations: Record<string, ComputeOperation>;
}

export const emptyCompute = (): ComputeState => ({ vms: {}, operations: {} });
