import type { RehearsalClock } from '../clock.js';
import type { ComputeCloud } from '../compute/compute-cloud.js';
import type { Journal } from '../journal.js';
import type { TpuCloud } from '../tpu/cloud.js';
import type { Vm } from '../vm/index.js';

/** The TPU VMs, as far as verbs reach into them. */
export interface HostFleet {
  /** Those that run, by worker id. */
  vmsOf(nodeName: string): readonly Vm[];
}

/** What the verbs of the admin interface and the events of a script work on. */
export interface AdminParts {
  readonly cloud: TpuCloud;
  readonly compute: ComputeCloud;
  readonly fleet: HostFleet;
  readonly clock: RehearsalClock;
  readonly journal: Journal;
  /** Called after each change; resolves when it is on disk. */
  readonly changed: () => Promise<void>;
}

/** Does what a request's body asks, and answers with what has changed; late where a VM has to do it. Throws AdminError. */
export type Verb = (parts: AdminParts, body: unknown) => object | Promise<object>;
