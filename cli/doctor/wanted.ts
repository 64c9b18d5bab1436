import type { AcceleratorType } from '../../domain/accelerators.js';
import type { Pricing } from '../../domain/slice.js';

/** Resources that a job file or flags will ask of a Google project, if any. */
export interface Wanted {
  /** In order of preference; none: what depends on a zone cannot be looked at. */
  readonly zones: readonly string[];
  readonly accelerator?: AcceleratorType;
  /** Set for a job on Compute Engine. Absent: it is for Cloud TPU. */
  readonly vms?: WantedVms;
  readonly slices: number;
  readonly pricing: Pricing;
  readonly runtimeVersion?: string;
  /** Absent: `default`. A path (`projects/P/global/networks/N`) is a network of another project. */
  readonly network?: string;
  readonly subnetwork?: string;
  /** Network tags of the hosts. */
  readonly tags: readonly string[];
  readonly externalIps: boolean;
  /** Absent: the project's default one. */
  readonly serviceAccount?: string;
  readonly bucket?: string;
  /** Bucket that only workers and servers use (docs/adr/0082). */
  readonly systemBucket?: string;
}

/** The VMs of one slice. */
export interface WantedVms {
  readonly machineType: string;
  readonly count: number;
  /** Attached to each of them. */
  readonly accelerator?: string;
  /** GPUs of each VM; `type` is the name that quota uses. */
  readonly gpus?: { readonly type: string; readonly count: number };
  /** CPUs of each VM. Absent: the machine type's name does not tell. */
  readonly cpus?: number;
}

/** The section of a job file that asks for it. */
export const sectionOf = ({ vms }: Pick<Wanted, 'vms'>): string => (vms === undefined ? 'tpu' : 'compute_engine');

export const hostsOf = ({ vms, accelerator, slices }: Wanted): number =>
  (vms?.count ?? accelerator?.hosts ?? 1) * slices;

export const NOTHING_IN_PARTICULAR: Wanted = { zones: [], slices: 1, pricing: 'spot', tags: [], externalIps: true };

export const DEFAULT_NETWORK = 'default';

export const networkOf = ({ network }: Pick<Wanted, 'network'>): string => network ?? DEFAULT_NETWORK;
