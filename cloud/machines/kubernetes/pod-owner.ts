import type { V1ObjectMeta, V1Pod } from '@kubernetes/client-node';
import type { KubernetesPlace } from '../../../domain/machine-kinds/kubernetes/plan.js';
import type { PodsRef } from '../../../domain/machine-kinds/kubernetes/words.js';
import type { PlanOf, RefOf } from '../../../domain/machines.js';
import type { Condition, CreateAnswer, Owner, Ownership } from '../../../domain/slice.js';
import type { Cluster } from './cluster.js';
import type { Observation, SeenJob, SeenPod } from './observation.js';

/** The kinds of machines that are pods. */
export type PodKind = 'kubernetes' | 'ray-cluster';

/** An owner as it was listed. */
export interface ListedOwner {
  readonly metadata?: V1ObjectMeta;
  readonly seen: SeenJob;
}

/** What a slice's pods belong to, and what differs with it: an Indexed Job, or a RayCluster. */
export interface PodOwner<K extends PodKind = PodKind> {
  /** Of Kubernetes. */
  readonly resource: 'Job' | 'RayCluster';
  /** The label of its pods that has its name. */
  readonly podLabel: string;
  /** What its objects have beside the labels of all that jobctl makes, as a label selector. */
  readonly selector: string;
  /** What its objects are called. */
  nameOf(ref: Pick<PodsRef, 'name'>): string;
  refIn(place: KubernetesPlace, name: string): RefOf<K>;
  create(cluster: Cluster, plan: PlanOf<K>): Promise<CreateAnswer>;
  /** Rejects as `read` of api-failure.ts does. */
  read(cluster: Cluster, place: { readonly namespace: string; readonly name: string }): Promise<SeenJob | undefined>;
  list(
    cluster: Cluster,
    place: { readonly namespace: string; readonly labelSelector: string },
  ): Promise<readonly ListedOwner[]>;
  seenPod(pod: V1Pod): SeenPod;
  /** Lets pods in that were made with a gate, as far as the lease goes. Resolves with why one could not be. */
  letIn?(cluster: Cluster, namespace: string, seen: Observation): Promise<string | undefined>;
  conditionOf(seen: Observation, ownership: Owner | Ownership, namespace: string): Condition;
}
