import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { createObject, type Draft } from './admission.js';
import { ApiRefusal } from './api-status.js';
import { beginDeletion } from './deletion.js';
import type { Events } from './events.js';
import type { Condition, KubeObject, Pod, RayCluster, WorkerGroup } from './objects.js';
import { isOver, isTrue, withCondition } from './objects.js';
import type { ObjectStore } from './object-store.js';
import {
  GROUP_LABEL,
  HEAD,
  headDraft,
  headService,
  NODE_TYPE_LABEL,
  portOf,
  secretDraft,
  serviceDraft,
  WORKER,
  workerDraft,
} from './ray-pods.js';
import { PODS, RAY_CLUSTERS, type Resource, SECRETS, SERVICES } from './resources.js';
import type { Retries } from './retries.js';

/** First port for GCS, and the number of ports for each subnet octet. All are below the ports that Linux gives to clients. */
const [FIRST_PORT, PORTS] = [16_384, 64];

/**
 * KubeRay's operator, as far as v1.5.1 looks after a RayCluster that nobody changes: head Service, token, head, workers, status.
 * It makes another head when there is none, and workers up to `replicas`; it deletes pods that have ended. Not implemented: the
 * autoscaler and its account, `suspend`, `managedBy`, `workersToDelete`, several hosts a worker, GCS fault tolerance, changes of
 * a RayCluster.
 */
export class RayClusterController {
  readonly #store: ObjectStore;
  readonly #events: Events;
  readonly #retries: Retries;
  readonly #firstPort: number;

  constructor(
    store: ObjectStore,
    events: Events,
    { retries, subnetOctet }: { readonly retries: Retries; readonly subnetOctet: number },
  ) {
    [this.#store, this.#events, this.#retries] = [store, events, retries];
    this.#firstPort = FIRST_PORT + subnetOctet * PORTS;
  }

  sync(): void {
    for (const cluster of this.#store.list<RayCluster>(RAY_CLUSTERS)) this.#syncCluster(cluster);
  }

  #syncCluster(cluster: RayCluster): void {
    const { uid, deletionTimestamp } = cluster.metadata;
    if (deletionTimestamp !== undefined || this.#retries.isPaused(uid)) return;
    let failure: Condition | undefined;
    try {
      this.#makePods(cluster);
    } catch (error) {
      if (!(error instanceof ApiRefusal)) throw error;
      this.#retries.pause(uid);
      const reason = 'FailedToCreatePod';
      failure = { type: 'RayClusterReplicaFailure', status: 'True', reason, message: error.message };
      this.#tell(cluster, 'Warning', reason, error.message);
    }
    const status = statusOf(cluster, this.#store.podsOf(cluster), failure);
    if (!isDeepStrictEqual(status, cluster.status)) this.#store.put(RAY_CLUSTERS, { ...cluster, status });
  }

  #makePods(cluster: RayCluster): void {
    const { name } = cluster.metadata;
    const service = this.#made(SERVICES, cluster, headService(name), () => serviceDraft(cluster, this.#freePort()));
    if (cluster.spec.authOptions?.mode === 'token')
      this.#made(SECRETS, cluster, name, () => secretDraft(cluster, randomBytes(32).toString('base64url')));
    const port = portOf(service);
    const pods = this.#store.podsOf(cluster);
    const heads = pods.filter((pod) => pod.metadata.labels?.[NODE_TYPE_LABEL] === HEAD);
    if (heads.length === 0) this.#create(cluster, HEAD, headDraft(cluster, port));
    // In the same pass, KubeRay makes nothing after a deletion.
    if (heads.some((head) => this.#deleteOver(cluster, head, HEAD))) return;
    for (const group of cluster.spec.workerGroupSpecs ?? []) {
      const workers = pods.filter((pod) => pod.metadata.labels?.[GROUP_LABEL] === group.groupName);
      if (workers.filter((worker) => this.#deleteOver(cluster, worker, WORKER)).length > 0) return;
      // A pod that is ending has its place until it is gone.
      for (let count = workers.length; count < replicasOf(group); count += 1)
        this.#create(cluster, WORKER, workerDraft(cluster, port, group));
    }
  }

  /** Deletes a pod that has ended. @returns whether it has ended */
  #deleteOver(cluster: RayCluster, pod: Pod, type: typeof HEAD | typeof WORKER): boolean {
    if (!isOver(pod)) return false;
    if (pod.metadata.deletionTimestamp !== undefined) return true;
    beginDeletion(this.#store, PODS, pod);
    const reason = type === HEAD ? 'DeletedHeadPod' : 'DeletedWorkerPod';
    const { name, namespace } = pod.metadata;
    this.#tell(cluster, 'Normal', reason, `Deleted ${type} Pod ${namespace}/${name}; Pod status: ${pod.status.phase}`);
    return true;
  }

  #create(cluster: RayCluster, type: typeof HEAD | typeof WORKER, draft: Draft): void {
    const { metadata } = createObject(this.#store, PODS, cluster.metadata.namespace ?? '', draft);
    const reason = type === HEAD ? 'CreatedHeadPod' : 'CreatedWorkerPod';
    this.#tell(cluster, 'Normal', reason, `Created ${type} Pod ${metadata.namespace}/${metadata.name}`);
  }

  #made(resource: Resource, { metadata }: RayCluster, name: string, draft: () => Draft): KubeObject {
    const { namespace = '' } = metadata;
    return this.#store.get(resource, namespace, name) ?? createObject(this.#store, resource, namespace, draft());
  }

  #freePort(): number {
    const services = this.#store.list(SERVICES).filter(({ metadata }) => metadata.labels?.[NODE_TYPE_LABEL] === HEAD);
    const taken = new Set(services.map(portOf));
    const free = Array.from({ length: PORTS }, (_, at) => this.#firstPort + at).find((port) => !taken.has(port));
    if (free === undefined)
      throw new ApiRefusal(422, 'Invalid', `the rehearsal has ports for ${PORTS} RayClusters at a time; delete one`);
    return free;
  }

  #tell(cluster: RayCluster, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#events.tell(RAY_CLUSTERS, cluster, { type, reason, message, source: 'raycluster-controller' });
  }
}

function replicasOf({ replicas = 0, minReplicas = 0, maxReplicas = Infinity }: WorkerGroup): number {
  return Math.min(Math.max(replicas, minReplicas), maxReplicas);
}

function statusOf(cluster: RayCluster, pods: readonly Pod[], failure: Condition | undefined): object {
  const { spec, status, metadata } = cluster;
  const groups = spec.workerGroupSpecs ?? [];
  const isReady = (pod: Pod): boolean => pod.status.phase === 'Running' && isTrue(pod.status.conditions, 'Ready');
  const head = pods.find((pod) => pod.metadata.labels?.[NODE_TYPE_LABEL] === HEAD);
  const workers = pods.filter((pod) => pod.metadata.labels?.[NODE_TYPE_LABEL] === WORKER);
  const sum = (count: (group: WorkerGroup) => number): number => groups.reduce((all, group) => all + count(group), 0);
  const desired = sum(replicasOf);
  const areAllReady = pods.length > 0 && pods.every(isReady);
  const isWhole = failure === undefined && pods.length === desired + 1 && areAllReady;
  const state = isWhole ? 'ready' : status?.state;
  const others = status?.conditions?.filter(({ type }) => type !== 'RayClusterReplicaFailure');
  let conditions = withCondition(failure === undefined ? others : withCondition(others, failure), headCondition(head));
  if (!isTrue(conditions, 'RayClusterProvisioned')) conditions = withCondition(conditions, provisioned(areAllReady));
  return {
    ...{ conditions, observedGeneration: metadata.generation, ...(state !== undefined && { state }) },
    ...{ desiredWorkerReplicas: desired, readyWorkerReplicas: workers.filter(isReady).length },
    availableWorkerReplicas: workers.filter((pod) => pod.status.phase === 'Running').length,
    minWorkerReplicas: sum(({ minReplicas = 0 }) => minReplicas),
    maxWorkerReplicas: sum(({ maxReplicas = 0 }) => maxReplicas),
    ...(head && {
      head: {
        ...{ podName: head.metadata.name, podIP: head.status.podIP ?? '' },
        ...{ serviceName: headService(metadata.name), serviceIP: head.status.podIP ?? '' },
      },
    }),
  };
}

function headCondition(head: Pod | undefined): Condition {
  const type = 'HeadPodReady';
  if (head === undefined) return { type, status: 'False', reason: 'HeadPodNotFound', message: 'Head Pod not found' };
  const ready = head.status.conditions?.find((condition) => condition.type === 'Ready');
  if (ready?.status === 'True') return { type, status: 'True', reason: 'HeadPodRunningAndReady', message: '' };
  return { type, status: 'False', reason: ready?.reason ?? 'Unknown', message: ready?.message ?? '' };
}

const provisioned = (areAllReady: boolean): Condition => ({
  type: 'RayClusterProvisioned',
  ...(areAllReady
    ? {
        status: 'True',
        reason: 'AllPodRunningAndReadyFirstTime',
        message: 'All Ray Pods are ready for the first time',
      }
    : {
        status: 'False',
        reason: 'RayClusterPodsProvisioning',
        message: 'RayCluster Pods are being provisioned for first time',
      }),
});
