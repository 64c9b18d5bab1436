import type { Writable } from 'node:stream';
import type { V1Job } from '@kubernetes/client-node';
import { messageOf } from '../../domain/error-words.js';
import type { BuildCondition, BuildPod } from '../../domain/build/condition.js';
import { ownerLabel } from '../../domain/identity.js';
import type { CreateAnswer } from '../../domain/slice.js';
import { createAnswerOf, read } from '../machines/kubernetes/api-failure.js';
import { type Cluster, type ClusterConfig, openCluster } from '../machines/kubernetes/cluster.js';
import { whatBars } from '../machines/kubernetes/create-pods.js';
import * as library from '../machines/kubernetes/library.js';
import { JOB_NAME_LABEL } from '../machines/kubernetes/manifest.js';
import { allOf, deleteOnly, warningsOf } from '../machines/kubernetes/namespace-api.js';
import { seenJob, seenPod } from '../machines/kubernetes/observation.js';
import { OURS } from '../machines/kubernetes/pod-template.js';
import { CloudRefused, CloudUnavailable, type RemoveAnswer } from '../machines/port.js';
import { buildHash } from './inputs.js';
import { BUILD_LABEL, buildJob, buildName } from './manifest.js';
import { buildCondition } from './observation.js';
import { followLog } from './pod-log.js';
import type { BuildPlace, Builds, OwnedBuild } from './port.js';
import type { BuildSettings } from './settings.js';

/** Runs builds as Jobs of BuildKit (docs/adr/0074). Connects at the first call. */
export class KubernetesBuilds implements Builds {
  readonly #settings: BuildSettings;
  readonly #cluster: ClusterConfig;
  /** Keyed by context; '' is the default context. */
  readonly #clusters = new Map<string, Cluster>();

  constructor(settings: BuildSettings, cluster: ClusterConfig = {}) {
    [this.#settings, this.#cluster] = [settings, cluster];
  }

  hashOf(owned: OwnedBuild): string {
    return buildHash(owned);
  }

  async create(owned: OwnedBuild): Promise<CreateAnswer> {
    const { namespace } = owned.build;
    let cluster: Cluster;
    let body: V1Job;
    try {
      cluster = this.#clusterOf(owned.build);
      body = buildJob(owned, this.#settings);
    } catch (error) {
      return { kind: 'refused', scope: 'installation', message: messageOf(error) };
    }
    const barred = await whatBars(cluster, namespace);
    if (barred !== undefined) return barred;
    return cluster.batch.createNamespacedJob({ namespace, body }).then(
      (): CreateAnswer => ({ kind: 'accepted' }),
      (error: unknown) => createAnswerOf(error),
    );
  }

  async observe(owned: OwnedBuild): Promise<BuildCondition> {
    const cluster = this.#clusterOf(owned.build);
    const { namespace } = owned.build;
    const name = buildName(buildHash(owned));
    const labelSelector = `${OURS},${JOB_NAME_LABEL}=${name}`;
    const [found, pods] = await Promise.all([
      read(() => cluster.batch.readNamespacedJob({ namespace, name })),
      allOf((page) => cluster.core.listNamespacedPod({ namespace, labelSelector, ...page })),
    ]);
    const seen = {
      job: found ? seenJob(found) : ('not-found' as const),
      isOwn: found !== undefined && isOwn(found, owned),
      pods: pods.map(seenPod),
      events: [],
    };
    const condition = buildCondition(seen);
    if (condition.kind !== 'waiting' && condition.kind !== 'refused') return condition;
    const uids = new Set([found?.metadata?.uid, ...pods.map(({ metadata }) => metadata?.uid)]);
    // A worker without the right to read events still sees the pod; only the reason is missing.
    const events = await warningsOf(cluster, namespace).catch((error: unknown) => {
      if (error instanceof CloudRefused) return [];
      throw error;
    });
    return buildCondition({ ...seen, events: events.filter(({ uid }) => uids.has(uid)) });
  }

  async remove(owned: OwnedBuild): Promise<RemoveAnswer> {
    const { namespace } = owned.build;
    const name = buildName(buildHash(owned));
    try {
      const cluster = this.#clusterOf(owned.build);
      const found = await read(() => cluster.batch.readNamespacedJob({ namespace, name }));
      if (found === undefined) return { kind: 'gone' };
      if (!isOwn(found, owned)) return { kind: 'refused', message: `the Job ${name} belongs to somebody else` };
      if (found.metadata?.deletionTimestamp !== undefined) return { kind: 'accepted' };
      return await deleteOnly(cluster, 'Job', { namespace, name, uid: found.metadata?.uid ?? '' });
    } catch (error) {
      return { kind: error instanceof CloudUnavailable ? 'unanswered' : 'refused', message: messageOf(error) };
    }
  }

  follow(place: BuildPlace, { name }: BuildPod, output: Writable, signal: AbortSignal): Promise<void> {
    return followLog(this.#clusterOf(place), { namespace: place.namespace, pod: name }, output, signal);
  }

  #clusterOf({ cluster: context }: BuildPlace): Cluster {
    const known = this.#clusters.get(context ?? '');
    if (known) return known;
    const opened = openCluster(library, { ...this.#cluster, ...(context !== undefined && { context }) });
    this.#clusters.set(context ?? '', opened);
    return opened;
  }
}

function isOwn({ metadata }: V1Job, owned: OwnedBuild): boolean {
  const wanted = { ...ownerLabel(owned.owner), [BUILD_LABEL]: buildHash(owned) };
  return Object.entries(wanted).every(([key, value]) => metadata?.labels?.[key] === value);
}
