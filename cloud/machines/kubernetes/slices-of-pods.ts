import { messageOf } from '../../../domain/errors.js';
import { ownershipFrom } from '../../../domain/identity.js';
import { placeOfAccount, zoneOf } from '../../../domain/machine-kinds/kubernetes/plan.js';
import type { PodsRef } from '../../../domain/machine-kinds/kubernetes/words.js';
import type { PlanOf, RefOf } from '../../../domain/machines.js';
import { type Condition, type CreateAnswer, isOf, type Owner } from '../../../domain/slice.js';
import {
  type Claim,
  CloudRefused,
  CloudUnavailable,
  type Machines,
  type OwnedResource,
  type RemoveAnswer,
  type WatchOptions,
} from '../port.js';
import { DEFAULT_LISTING_PERIODS, type ListingPeriods, SharedLister } from '../api-load.js';
import { type Cluster, type ClusterConfig, openCluster } from './cluster.js';
import * as library from './library.js';
import { NAME_LABEL, OURS } from './pod-template.js';
import { allOf, deleteOnly, lookAt, ownersOf, warningsOf, type PodKind, type PodOwner } from './namespace-api.js';
import type { Observation, SeenEvent, SeenJob, SeenPod } from './observation.js';

export interface KubernetesOptions {
  /** The default cluster; other contexts are in the same kubeconfig. */
  readonly cluster?: ClusterConfig;
  readonly periods?: ListingPeriods;
}

/** Slices made of pods that one Kubernetes object owns. Connects at the first call. */
export class SlicesOfPods<K extends PodKind> implements Machines<K> {
  readonly #owner: PodOwner<K>;
  readonly #options: KubernetesOptions;
  /** Keyed by context; '' is the default context. */
  readonly #clusters = new Map<string, Cluster>();
  /** Keyed by context and namespace. */
  readonly #listers = new Map<string, SharedLister<WatchOptions, NamespaceListing>>();
  #isClosed = false;

  constructor(owner: PodOwner<K>, options: KubernetesOptions) {
    this.#owner = owner;
    this.#options = options;
  }

  async create(plan: PlanOf<K>): Promise<CreateAnswer> {
    let cluster: Cluster;
    try {
      cluster = this.#clusterOf(plan.ref);
    } catch (error) {
      return { kind: 'refused', scope: 'installation', message: messageOf(error) };
    }
    return this.#owner.create(cluster, plan);
  }

  async observe({ ref, ownership }: Claim<RefOf<K>>): Promise<Condition> {
    const cluster = this.#clusterOf(ref);
    const seen = await lookAt(cluster, this.#owner, ref);
    return this.#explained(
      await this.#withLetIn(seen, { ref, ownership }),
      { ref, ownership },
      this.#asked(cluster, ref),
    );
  }

  async watch({ ref, ownership }: Claim<RefOf<K>>, options: WatchOptions): Promise<Condition> {
    const listing = await this.#listerOf(ref).next(options);
    const seen = sliceIn(listing, this.#owner.nameOf(ref));
    return this.#explained(await this.#withLetIn(seen, { ref, ownership }), { ref, ownership }, listing);
  }

  /** A look by the slice's owner also opens the gates of its pods. */
  async #withLetIn(seen: Observation, { ref, ownership }: Claim<RefOf<K>>): Promise<Observation> {
    const isOwn = seen.job !== 'not-found' && seen.job.ownership !== undefined && isOf(seen.job.ownership, ownership);
    const notLetIn = isOwn ? await this.#owner.letIn?.(this.#clusterOf(ref), ref.namespace, seen) : undefined;
    return { ...seen, ...(notLetIn !== undefined && { notLetIn }) };
  }

  #clusterOf({ context }: Pick<PodsRef, 'context'>): Cluster {
    const known = this.#clusters.get(context ?? '');
    if (known) return known;
    const cluster = openCluster(library, { ...this.#options.cluster, ...(context !== undefined && { context }) });
    this.#clusters.set(context ?? '', cluster);
    return cluster;
  }

  #listerOf(ref: PodsRef): SharedLister<WatchOptions, NamespaceListing> {
    if (this.#isClosed) throw new CloudUnavailable('the Kubernetes client was closed');
    const cluster = this.#clusterOf(ref);
    const { namespace } = ref;
    const key = `${zoneOf(ref.context)}/${namespace}`;
    const lister =
      this.#listers.get(key) ??
      new SharedLister(
        () => listNamespace(cluster, this.#owner, namespace, this.#asked(cluster, ref)),
        this.#options.periods ?? DEFAULT_LISTING_PERIODS,
      );
    this.#listers.set(key, lister);
    return lister;
  }

  /** Deletes each object by its uid, so that one recreated under the name since the look stays. */
  async remove(ref: RefOf<K>, { owner, job, run }: Owner): Promise<RemoveAnswer> {
    const wanted: Owner = { owner, job, run };
    try {
      const cluster = this.#clusterOf(ref);
      return await this.#removeSeen(cluster, ref, wanted, await lookAt(cluster, this.#owner, ref));
    } catch (error) {
      return { kind: error instanceof CloudUnavailable ? 'unanswered' : 'refused', message: messageOf(error) };
    }
  }

  async #removeSeen(cluster: Cluster, ref: RefOf<K>, owner: Owner, seen: Observation): Promise<RemoveAnswer> {
    const condition = this.#owner.conditionOf(seen, owner, ref.namespace);
    if (condition.kind === 'foreign') {
      const message = `${ref.name}: ${condition.message}, not to owner ${owner.owner}, job ${owner.job}, run ${owner.run}`;
      return { kind: 'refused', message };
    }
    const { namespace } = ref;
    const name = this.#owner.nameOf(ref);
    const { job, parts, pods } = seen;
    const answers = await Promise.all([
      ...(job !== 'not-found' && !job.isDeleting
        ? [deleteOnly(cluster, this.#owner.resource, { namespace, name, uid: job.uid })]
        : []),
      ...parts.map(({ what, uid }) => deleteOnly(cluster, what, { namespace, name, uid })),
      // The pods of an owner that was deleted without them (`kubectl delete --cascade=orphan`).
      ...(job === 'not-found' ? pods.filter(({ isDeleting }) => !isDeleting) : []).map((pod) =>
        deleteOnly(cluster, 'Pod', { namespace, name: pod.name, uid: pod.uid }),
      ),
    ]);
    const undone = answers.find(({ kind }) => kind === 'refused' || kind === 'unanswered');
    if (undone) return undone;
    const isThere = job !== 'not-found' || answers.some(({ kind }) => kind === 'accepted') || pods.length > 0;
    return isThere ? { kind: 'accepted', operation: removalOf(ref, job) } : { kind: 'gone' };
  }

  /** A read by name shows the latest state, so one look without the Job and its pods proves that they are gone. */
  async removal(operation: string): Promise<'under way' | 'done' | 'unknown'> {
    const { ref, uid } = JSON.parse(operation) as Removal<RefOf<K>>;
    const { job, pods, parts } = await lookAt(this.#clusterOf(ref), this.#owner, ref);
    if (job !== 'not-found') return job.uid === uid ? 'under way' : 'unknown';
    return pods.length + parts.length > 0 ? 'under way' : 'done';
  }

  async listOwned(account: string, owner: string): Promise<readonly OwnedResource<RefOf<K>>[]> {
    const place = placeOfAccount(account);
    const cluster = this.#clusterOf(place);
    const { core } = cluster;
    const { namespace } = place;
    const labelSelector = `jobctl-owner=${owner},${this.#owner.selector}`;
    const ours = { namespace, labelSelector };
    const lists = await Promise.all([
      this.#owner.list(cluster, { namespace, labelSelector }),
      allOf((page) => core.listNamespacedPod({ ...ours, ...page })),
      allOf((page) => core.listNamespacedConfigMap({ ...ours, ...page })),
      allOf((page) => core.listNamespacedService({ ...ours, ...page })),
    ]);
    return lists.flat().flatMap(({ metadata }) => {
      const labels = metadata?.labels ?? {};
      const ownership = ownershipFrom(labels);
      const name = labels[NAME_LABEL] ?? labels[this.#owner.podLabel] ?? metadata?.name;
      return ownership && name ? [{ ref: this.#owner.refIn(place, name), ownership }] : [];
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const lister of this.#listers.values()) lister.close('the Kubernetes client');
  }

  #asked(cluster: Cluster, { namespace }: Pick<PodsRef, 'namespace'>): Asked {
    return {
      warnings: () => warningsOf(cluster, namespace),
      jobs: () => ownersOf(cluster, this.#owner, namespace),
    };
  }

  /** While pods are missing, adds what the namespace tells: warnings, and other jobs that wait there. */
  async #explained(
    seen: Observation,
    { ref, ownership }: Claim<RefOf<K>>,
    { warnings, jobs }: Asked,
  ): Promise<Condition> {
    const condition = this.#owner.conditionOf(seen, ownership, ref.namespace);
    const isPending = condition.kind === 'waiting' || (condition.kind === 'lost' && condition.cause === 'refused');
    const { job, pods } = seen;
    if (!isPending || job === 'not-found' || !('owner' in ownership)) return condition;
    const uids = new Set([job.uid, ...pods.map(({ uid }) => uid)]);
    const [events, neighbours] = await Promise.all([
      // An account that may not read events still sees the pods: only the reason is missing.
      warnings().catch((error: unknown) => {
        if (error instanceof CloudRefused) return [];
        throw error;
      }),
      jobs(),
    ]);
    const told = { ...seen, events: events.filter(({ uid }) => uids.has(uid)), neighbours };
    return this.#owner.conditionOf(told, ownership, ref.namespace);
  }
}

interface Removal<Ref> {
  readonly ref: Ref;
  readonly uid: string;
}
const removalOf = <Ref extends PodsRef>(ref: Ref, job: Observation['job']): string =>
  JSON.stringify({ ref, uid: job === 'not-found' ? '' : job.uid } satisfies Removal<Ref>);

/** Questions that are asked only for slices that do not start. */
interface Asked {
  readonly warnings: () => Promise<readonly SeenEvent[]>;
  readonly jobs: () => Promise<readonly SeenJob[]>;
}

/** The owners of one kind and their pods in one namespace that jobctl made, for all watchers of slices there. */
interface NamespaceListing {
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

async function listNamespace(
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
function sliceIn({ at, byName, pods }: NamespaceListing, name: string): Observation {
  return {
    at,
    job: byName.get(name) ?? 'not-found',
    parts: [],
    pods: pods.get(name) ?? [],
    events: [],
    neighbours: [],
  };
}
