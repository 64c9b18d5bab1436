import type { Ownership } from '../../slice.js';
import { type PodFields, type PodSize, type PodsRef, cpusOf } from '../kubernetes/words.js';
import type { AskedSize } from '../kind.js';
import { CPU, wholeCpus } from '../kubernetes/size.js';

/** The `ray_cluster` section of a job file after defaults and checks: the RayCluster of one slice. */
export interface RayClusterRequest extends PodFields {
  /** Version of Ray in the image, such as `2.60.0`. */
  readonly rayVersion: string;
  /** Absent: Ray starts its dashboard on the head. */
  readonly dashboard?: false;
  /** The pod that runs the command and Ray's own services. Only workers run tasks and actors. */
  readonly head: Pick<PodSize, 'cpus' | 'memory'>;
  readonly workers: WorkerGroup;
}

export interface WorkerGroup extends PodSize {
  /** 0 or more. */
  readonly min: number;
  /** `min` or more. The lease counts this number, however many run. */
  readonly max: number;
  /** Idle time after which Ray ends a worker above `min`. */
  readonly idleSeconds: number;
}

/** The section itself, as part of a job's spec. */
export interface RayClusterSection {
  readonly ray_cluster: RayClusterRequest;
}

/** A RayCluster and its ConfigMap, both called `rayClusterName(name)`. */
export interface RayClusterRef extends PodsRef {
  readonly kind: 'ray-cluster';
}

/** One RayCluster, complete: the same plan always makes the same manifest. */
export interface RayClusterPlan {
  readonly ref: RayClusterRef;
  readonly ownership: Ownership;
  readonly pods: Omit<RayClusterRequest, 'context' | 'namespace'>;
  readonly agentHours: number;
}

/** Returns whether Ray may add and end workers. KubeRay then runs Ray's autoscaler beside the head. */
export const isScaling = ({ workers }: Pick<RayClusterRequest, 'workers'>): boolean => workers.max > workers.min;

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

/** The first version with token authentication (docs.ray.io, "Ray token authentication", read 2026-11-23). */
export const OLDEST_RAY = [2, 52, 0] as const;

export function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < OLDEST_RAY[0] || (major === OLDEST_RAY[0] && minor < OLDEST_RAY[1]);
}
