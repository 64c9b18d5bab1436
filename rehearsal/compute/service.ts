import type { Refusal } from '../tpu/fault-rules.js';
import type { ComputeCloud } from './compute-cloud.js';

/** Compute Engine's VMs, and what its API calls consult. */
export interface ComputeService {
  readonly cloud: ComputeCloud;
  /** The public half of the host key of a VM's SSH server; undefined while it boots. */
  readonly hostKey: (path: string) => string | undefined;
  /** The refusal in force for a call, if any. */
  readonly refusal: (method: string, name: string) => Refusal | undefined;
  /** Resolves when the changes of a call are on disk. */
  readonly changed: () => Promise<void>;
}
