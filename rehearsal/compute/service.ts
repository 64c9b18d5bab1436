import type { Refusal } from '../tpu/fault-rules.js';
import type { ComputeCloud } from './compute-cloud.js';

/** The VMs of Compute Engine, and whatever decides about its calls. */
export interface ComputeService {
  readonly cloud: ComputeCloud;
  /** The public half of the host key of a VM's SSH server; undefined while it boots. */
  readonly hostKey: (path: string) => string | undefined;
  /** The refusal in force for a call, if there is one. */
  readonly refusal: (method: string, name: string) => Refusal | undefined;
  /** Resolves when what a call changed is on disk. */
  readonly changed: () => Promise<void>;
}
