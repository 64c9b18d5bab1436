import { quotaUnitsOf } from '../../accelerators.js';
import type { AskedSize } from '../kind.js';
import { cpusOf } from './names.js';
import { tpuTypeOf } from './tpu.js';
import type { KubernetesRequest } from './words.js';

/** Quota's name for the CPUs of a pod without an accelerator. */
export const CPU = 'cpu';

/**
 * Quota units of a job. Quota's types are names: the job's GPUs (`h100`), its TPU's generation (`v5litepod`), or `cpu` for pods
 * without an accelerator, in whole CPUs per pod. The CPUs of a pod with an accelerator do not count.
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

/** Type of the slice: `v5litepod-16`, `h100-32` (all GPUs of the slice), `cpu-8`. */
export function slicePodsType(request: KubernetesRequest): string {
  const { workers, gpus, tpu } = request;
  if (tpu !== undefined) return tpu.type;
  if (gpus !== undefined) return `${gpus.type}-${gpus.count * workers}`;
  return `${CPU}-${wholeCpus(request) * workers}`;
}

/** At least 1, the least that quota counts for a pod. */
export const wholeCpus = ({ cpus = '1' }: Pick<KubernetesRequest, 'cpus'>): number => {
  try {
    return Math.max(1, Math.ceil(cpusOf(cpus)));
  } catch {
    return 1; // The section is wrong, which is reported.
  }
};
