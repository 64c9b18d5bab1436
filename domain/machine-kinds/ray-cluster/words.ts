import type { Ownership } from '../../slice.js';
import type { PodFields, PodSize, PodsRef } from '../kubernetes/words.js';

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
