import { quotaUnitsOf } from '../../accelerators.js';
import type { AskedSize } from '../kind.js';
import { cpusOf } from './names.js';
import { tpuTypeOf } from './tpu.js';
import type { KubernetesRequest } from './words.js';

/** What quota calls a pod's CPUs if it has no accelerator. */
export const CPU = 'cpu';

/**
 * What a job counts for. Quota's types are names: of its GPUs (`h100`), of a TPU's generation (`v5litepod`), or `cpu`, in whole
 * CPUs a pod, for pods without an accelerator. A pod's CPUs beside an accelerator count nothing.
 */
export function sizeOf(request: KubernetesRequest, slices: number): AskedSize {
  const { workers, gpus, tpu } = request;
  const hosts = workers * slices;
  if (tpu !== undefined) {
    const type = tpuTypeOf(tpu);
    return { units: { [type.generation]: quotaUnitsOf(type) * slices }, chips: type.chips * slices, hosts };
  }
  if (gpus !== undefined) return { units: { [gpus.type]: gpus.count * hosts }, chips: gpus.count * hosts, hosts };
  return { units: { [CPU]: wholeCpus(request) * hosts }, chips: 0, hosts };
}

/** `v5litepod-16`, `h100-32` (all GPUs of the slice), `cpu-8`. */
export function slicePodsType(request: KubernetesRequest): string {
  const { workers, gpus, tpu } = request;
  if (tpu !== undefined) return tpu.type;
  if (gpus !== undefined) return `${gpus.type}-${gpus.count * workers}`;
  return `${CPU}-${wholeCpus(request) * workers}`;
}

/** At least 1: quota counts no less for a pod. */
export const wholeCpus = ({ cpus = '1' }: Pick<KubernetesRequest, 'cpus'>): number => {
  try {
    return Math.max(1, Math.ceil(cpusOf(cpus)));
  } catch {
    return 1; // A section that is wrong, and reported.
  }
};
