import type { Cluster } from './cluster.js';
import { OURS } from './pod-template.js';
import { allOf } from './namespace-api.js';
import type { Observation, SeenEvent, SeenJob, SeenPod } from './observation.js';
import type { PodOwner } from './pod-owner.js';

/** The owners of one kind and their pods in one namespace that jobctl made, for all watchers of slices there. */
export interface NamespaceListing {
  /** The time at which the listing began. */
  readonly at: number;
  /** Owners, keyed by name. */
  readonly byName: ReadonlyMap<string, SeenJob>;
  /** Pods, keyed by their owner's name. */
  readonly pods: ReadonlyMap<string, readonly SeenPod[]>;
  /** Read once per listing, for the first slice that does not start. */
  readonly warnings: () => Promise<readonly SeenEvent[]>;
  readonly jobs: () => Promise<readonly SeenJob[]>;
}

export async function listNamespace(
  cluster: Cluster,
  owner: Pick<PodOwner, 'list' | 'podLabel' | 'seenPod'>,
  namespace: string,
  { warnings }: Pick<NamespaceListing, 'warnings'>,
): Promise<NamespaceListing> {
  const at = Date.now();
  const { core } = cluster;
  const ours = { namespace, labelSelector: `${OURS},${owner.podLabel}` };
  // Pods first: an owner without its pods counts as waiting, but pods without their owner would look left behind.
  const pods = await allOf((page) => core.listNamespacedPod({ ...ours, ...page }));
  const owners = await owner.list(cluster, { namespace, labelSelector: OURS });
  const byName = new Map(owners.map(({ metadata, seen }) => [metadata?.name ?? '', seen]));
  const podsOf = new Map<string, SeenPod[]>();
  for (const pod of pods) {
    const name = pod.metadata?.labels?.[owner.podLabel] ?? '';
    podsOf.set(name, [...(podsOf.get(name) ?? []), owner.seenPod(pod)]);
  }
  let asked: Promise<readonly SeenEvent[]> | undefined;
  return {
    at,
    byName,
    pods: podsOf,
    warnings: () => (asked ??= warnings()),
    jobs: async () => [...byName.values()],
  };
}

/**
 * Returns one slice of a listing, by its owner's name. ConfigMap and Service are not listed, so `missing` needs a direct look.
 */
export function sliceIn({ at, byName, pods }: NamespaceListing, name: string): Observation {
  return {
    at,
    job: byName.get(name) ?? 'not-found',
    parts: [],
    pods: pods.get(name) ?? [],
    events: [],
    neighbours: [],
  };
}
