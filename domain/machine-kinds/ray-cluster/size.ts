import type { AskedSize } from '../kind.js';
import { cpusOf } from '../kubernetes/names.js';
import { CPU, wholeCpus } from '../kubernetes/size.js';
import { isScaling, type RayClusterRequest } from './words.js';

/** CPUs that KubeRay gives the autoscaler's container in the head's pod (v1.5, BuildAutoscalerContainer). */
const AUTOSCALER_CPUS = 0.5;

/**
 * Quota units of a job: `max` workers, however many run, so that Ray never has to ask jobctl. GPUs count under their type, and
 * then CPUs do not count. Without GPUs all pods count under `cpu`, in whole CPUs each, including the head with its autoscaler.
 */
export function sizeOf({ head, workers, ...rest }: RayClusterRequest, slices: number): AskedSize {
  if (workers.gpus !== undefined) {
    const gpus = workers.gpus.count * workers.max * slices;
    return { units: { [workers.gpus.type]: gpus }, chips: gpus, hosts: slices };
  }
  const units = (headCpus({ head, workers, ...rest }) + wholeCpus(workers) * workers.max) * slices;
  return { units: { [CPU]: units }, chips: 0, hosts: slices };
}

/** Type of the slice: `h100-32` (all GPUs of `max` workers), `cpu-6`. */
export function clusterType(request: RayClusterRequest): string {
  const [[type, count] = [CPU, 0]] = Object.entries(sizeOf(request, 1).units);
  return `${type}-${count}`;
}

function headCpus(request: RayClusterRequest): number {
  const own = wholeCpus(request.head);
  if (!isScaling(request)) return own;
  try {
    return Math.max(own, Math.ceil(cpusOf(request.head.cpus ?? '1') + AUTOSCALER_CPUS));
  } catch {
    return own; // The section is wrong, which is reported.
  }
}
