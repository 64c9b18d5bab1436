import type { V1DeleteOptions, V1Status, V1ObjectMeta, V1Pod } from '@kubernetes/client-node';
import type { PodsRef } from '../../../domain/machine-kinds/kubernetes/words.js';
import type { KubernetesPlace } from '../../../domain/machine-kinds/kubernetes/plan.js';
import type { PlanOf, RefOf } from '../../../domain/machines.js';
import type { Condition, CreateAnswer, Owner, Ownership } from '../../../domain/slice.js';
import { CloudUnavailable, type RemoveAnswer } from '../port.js';
import { listed, read, removeAnswerOf } from './api-failure.js';
import type { Cluster } from './cluster.js';
import { OURS } from './pod-template.js';
import {
  type Observation,
  type SeenEvent,
  seenEvent,
  type SeenJob,
  seenPart,
  type SeenPart,
  type SeenPod,
} from './observation.js';

/** Requests to the API server about one namespace. Reads reject like those of the port `Machines`. */

/** Objects per page; a namespace of 5,000 pods is ten pages. */
const PAGE = 500;
/** The limit ends a listing if a server repeats its continuations for ever. */
const MOST_PAGES = 1000;

interface Page<Item> {
  readonly items: readonly Item[];
  readonly metadata?: { readonly _continue?: string };
}

/** Selects a page of a listing: its size, and the end of the previous page. */
interface PageOf {
  readonly limit: number;
  readonly _continue?: string;
}

/** Reads all pages. An expired continuation (410) makes the listing unavailable; it begins anew at the next period. */
export async function allOf<Item>(call: (page: PageOf) => Promise<Page<Item>>): Promise<readonly Item[]> {
  const all: Item[] = [];
  let page: PageOf = { limit: PAGE };
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const { items, metadata }: Page<Item> = await listed(() => call(page));
    for (const one of items) all.push(one);
    const { _continue } = metadata ?? {};
    if (!_continue) return all;
    page = { limit: PAGE, _continue };
  }
  throw new CloudUnavailable(`Kubernetes: a listing has no end after ${MOST_PAGES} pages`);
}

/** Reads all objects of one slice by name, and its pods by their label. */
export async function lookAt(
  cluster: Cluster,
  owner: Pick<PodOwner, 'nameOf' | 'podLabel' | 'read' | 'seenPod'>,
  ref: Pick<PodsRef, 'namespace' | 'name'>,
): Promise<Observation> {
  const at = Date.now();
  const { core } = cluster;
  const { namespace } = ref;
  const name = owner.nameOf(ref);
  const labelSelector = `${OURS},${owner.podLabel}=${name}`;
  // The owner comes last, as in a listing: it says why pods of an evicted gang are being deleted, so it must be read after them.
  const [configMap, service, pods] = await Promise.all([
    read(() => core.readNamespacedConfigMap({ namespace, name })),
    read(() => core.readNamespacedService({ namespace, name })),
    allOf((page) => core.listNamespacedPod({ namespace, labelSelector, ...page })),
  ]);
  const job = await owner.read(cluster, { namespace, name });
  return {
    at,
    job: job ?? 'not-found',
    parts: [
      ...(configMap ? [seenPart('ConfigMap', configMap.metadata)] : []),
      ...(service ? [seenPart('Service', service.metadata)] : []),
    ],
    pods: pods.map((pod) => owner.seenPod(pod)),
    events: [],
    neighbours: [],
  };
}

/** All owners of one kind in a namespace that jobctl has made. */
export async function ownersOf(
  cluster: Cluster,
  owner: Pick<PodOwner, 'list'>,
  namespace: string,
): Promise<readonly SeenJob[]> {
  const listed = await owner.list(cluster, { namespace, labelSelector: OURS });
  return listed.map(({ seen }) => seen);
}

/** The warnings of a namespace: one call for all pods of a gang. */
export async function warningsOf({ core }: Cluster, namespace: string): Promise<readonly SeenEvent[]> {
  const fieldSelector = 'type=Warning';
  const events = await allOf((page) => core.listNamespacedEvent({ namespace, fieldSelector, ...page }));
  return events.map(seenEvent);
}

type Deletable = SeenPart['what'] | 'Job' | 'RayCluster' | 'Pod';

/** Deletes only the object with this uid, and no other of the same name. A Job or RayCluster is deleted after its pods. */
export async function deleteOnly(
  { core, batch, custom }: Cluster,
  what: Deletable,
  { namespace, name, uid }: DeletedObject,
): Promise<RemoveAnswer> {
  const body: V1DeleteOptions = {
    preconditions: { uid },
    ...((what === 'Job' || what === 'RayCluster') && { propagationPolicy: 'Foreground' }),
  };
  const calls: Record<Deletable, () => Promise<unknown>> = {
    Job: (): Promise<V1Status> => batch.deleteNamespacedJob({ namespace, name, body }),
    RayCluster: () => custom.deleteNamespacedCustomObject({ ...RAY_CLUSTERS, namespace, name, body }),
    Pod: () => core.deleteNamespacedPod({ namespace, name, body }),
    ConfigMap: () => core.deleteNamespacedConfigMap({ namespace, name, body }),
    Service: () => core.deleteNamespacedService({ namespace, name, body }),
  };
  try {
    await calls[what]();
    return { kind: 'accepted' };
  } catch (error) {
    return removeAnswerOf(error);
  }
}

interface DeletedObject {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** KubeRay's resource. */
export const RAY_CLUSTERS = { group: 'ray.io', version: 'v1', plural: 'rayclusters' } as const;

/** The kinds of machines that are pods. */
export type PodKind = 'kubernetes' | 'ray-cluster';

interface ListedOwner {
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
