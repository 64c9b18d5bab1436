import type { RehearsalClock } from '../clock.js';
import type { ComputeCloud } from '../compute/compute-cloud.js';
import type { Journal } from '../journal.js';
import type { TpuCloud } from '../tpu/cloud.js';
import type { Vm } from '../vm/index.js';

/** The TPU VMs as the verbs use them. */
export interface HostFleet {
  /** Running VMs, by worker id. */
  vmsOf(nodeName: string): readonly Vm[];
}

/** Parts that the admin interface's verbs and a script's events work on. */
export interface AdminParts {
  readonly cloud: TpuCloud;
  readonly compute: ComputeCloud;
  readonly fleet: HostFleet;
  readonly clock: RehearsalClock;
  readonly journal: Journal;
  /** Call it after each change. Resolves when the change is on disk. */
  readonly changed: () => Promise<void>;
}

/** Does what a request's body asks, and returns what has changed. Returns a promise if a VM must act. @throws AdminError */
export type Verb = (parts: AdminParts, body: unknown) => object | Promise<object>;
