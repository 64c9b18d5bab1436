import type { V1ObjectMeta, V1Pod } from '@kubernetes/client-node';
import type { KubernetesPlace } from '../../../domain/machine-kinds/kubernetes/plan.js';
import type { PodsRef } from '../../../domain/machine-kinds/kubernetes/words.js';
import type { PlanOf, RefOf } from '../../../domain/machines.js';
import type { Condition, CreateAnswer, Owner, Ownership } from '../../../domain/slice.js';
import type { Cluster } from './cluster.js';
import type { Observation, SeenJob, SeenPod } from './observation.js';

/** The kinds of machines that are pods. */
export type PodKind = 'kubernetes' | 'ray-cluster';

/** An owner in a listing. */
export interface ListedOwner {
  readonly metadata?: V1ObjectMeta;
  readonly seen: SeenJob;
}

/** The owner of a slice's pods and the operations that depend on its type: an Indexed Job, or a RayCluster. */
export interface PodOwner<K extends PodKind = PodKind> {
  /** The name of its resource in Kubernetes. */
  readonly resource: 'Job' | 'RayCluster';
  /** The label of its pods that contains its name. */
  readonly podLabel: string;
  /** A label selector for its objects, beside the labels of all objects that jobctl makes. */
  readonly selector: string;
  /** Returns the name of its objects. */
  nameOf(ref: Pick<PodsRef, 'name'>): string;
  refIn(place: KubernetesPlace, name: string): RefOf<K>;
  create(cluster: Cluster, plan: PlanOf<K>): Promise<CreateAnswer>;
  /** Rejects like `read` of api-failure.ts. */
  read(cluster: Cluster, place: { readonly namespace: string; readonly name: string }): Promise<SeenJob | undefined>;
  list(
    cluster: Cluster,
    place: { readonly namespace: string; readonly labelSelector: string },
  ): Promise<readonly ListedOwner[]>;
  seenPod(pod: V1Pod): SeenPod;
  /** Opens the gates of pods, up to the lease. Resolves with the reason if one could not be let in. */
  letIn?(cluster: Cluster, namespace: string, seen: Observation): Promise<string | undefined>;
  conditionOf(seen: Observation, ownership: Owner | Ownership, namespace: string): Condition;
}
