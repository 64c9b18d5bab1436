import type { V1Pod } from '@kubernetes/client-node';
import { refIn } from '../../../domain/machine-kinds/kubernetes/plan.js';
import { rayClusterName } from '../../../domain/machine-kinds/ray-cluster/index.js';
import type { RayClusterPlan } from '../../../domain/machine-kinds/ray-cluster/words.js';
import type { CreateAnswer, Condition, Owner, Ownership } from '../../../domain/slice.js';
import { ownershipFrom } from '../../../domain/identity.js';
import { CONTAINER } from '../../../domain/machine-kinds/kubernetes/words.js';
import type { EpochMs } from '../../../domain/units.js';
import { read } from '../kubernetes/api-failure.js';
import type { Cluster } from '../kubernetes/cluster.js';
import { createObjects } from '../kubernetes/create-pods.js';
import { allOf, RAY_CLUSTERS, type PodOwner } from '../kubernetes/namespace-api.js';
import { MACHINES_LABEL, GANG_ANNOTATION } from '../kubernetes/pod-template.js';
import { type KubernetesOptions, SlicesOfPods } from '../kubernetes/slices-of-pods.js';
import type { Machines } from '../port.js';
import {
  deviceOf,
  kueueKeys,
  saidBy,
  type SeenJob,
  seenPod,
  type SeenPod,
  timeOf,
  type Observation,
  type Said,
} from '../kubernetes/observation.js';
import {
  endOf,
  foreignPart,
  held,
  hostOf,
  lost,
  pendingOf,
  refused,
  withoutOwner,
  wordsOf,
} from '../kubernetes/condition.js';
import {
  openGates,
  workersWithPlace,
  LEASE_GATE,
  CLUSTER_LABEL,
  MACHINES,
  type RayCluster,
  rayClusterManifest,
  MAX_ANNOTATION,
  NODE_TYPE_LABEL,
  RAY_ENDED,
} from './manifest.js';

/** RayClusters of KubeRay as machines, one per slice (docs/adr/0069). Connects at the first call. */
export const createRayClusters = (options: KubernetesOptions = {}): Machines<'ray-cluster'> =>
  new SlicesOfPods(RAY_CLUSTER, options);

const RAY_CLUSTER: PodOwner<'ray-cluster'> = {
  resource: 'RayCluster',
  podLabel: CLUSTER_LABEL,
  selector: `${MACHINES_LABEL}=${MACHINES}`,
  nameOf: ({ name }) => rayClusterName(name),
  refIn: (place, name) => refIn('ray-cluster', place, name),
  create,
  read: async ({ custom }, place) => {
    const found: unknown = await read(() => custom.getNamespacedCustomObject({ ...RAY_CLUSTERS, ...place }));
    return found === undefined ? undefined : seenCluster(found as RayCluster);
  },
  list: async ({ custom }, place) => {
    const clusters = await allOf(async (page) => {
      const list = (await custom.listNamespacedCustomObject({ ...RAY_CLUSTERS, ...place, ...page })) as RayClusterList;
      const { continue: _continue } = list.metadata;
      return { items: list.items, metadata: { ...(_continue && { _continue }) } };
    });
    return clusters.map((cluster) => ({
      ...(cluster.metadata && { metadata: cluster.metadata }),
      seen: seenCluster(cluster),
    }));
  },
  seenPod: seenRayPod,
  letIn: (cluster, namespace, seen) => openGates(cluster, namespace, workersWithPlace(seen)),
  conditionOf: rayClusterCondition,
};

/** The list as it is on the wire: the client has no model of it. */
interface RayClusterList {
  readonly items: readonly RayCluster[];
  readonly metadata: { readonly continue?: string };
}

async function create(cluster: Cluster, plan: RayClusterPlan): Promise<CreateAnswer> {
  const answer = await createObjects(cluster, plan, () => {
    const { core, custom } = cluster;
    const { namespace } = plan.ref;
    const manifest = rayClusterManifest(plan);
    return {
      parts: [
        { what: 'ConfigMap', create: () => core.createNamespacedConfigMap({ namespace, body: manifest.configMap }) },
      ],
      owner: {
        name: rayClusterName(plan.ref.name),
        create: () => custom.createNamespacedCustomObject({ ...RAY_CLUSTERS, namespace, body: manifest.cluster }),
      },
    };
  });
  if (answer.kind !== 'refused' || !NO_RESOURCE.test(answer.message)) return answer;
  const message = `the cluster knows no RayCluster (${answer.message}): install KubeRay v1.5 or later, its operator and its resource definitions`;
  return { kind: 'refused', scope: 'request', message };
}

/** The API server's 404 for an undefined resource, which has no Status. */
const NO_RESOURCE = /^404 page not found/;

/** A RayCluster as the owner of its pods. The gang is the head and `min` workers. */
export function seenCluster({ metadata = {}, spec, status }: RayCluster): SeenJob {
  const ownership = ownershipFrom(metadata.labels);
  const group = spec?.workerGroupSpecs?.[0];
  const provisionedAt = provisionTime(status);
  const leased = Number(metadata.annotations?.[MAX_ANNOTATION]);
  const excess = excessOf(spec, leased);
  return {
    uid: metadata.uid ?? '',
    ...(ownership && { ownership }),
    createdAt: timeOf(metadata.creationTimestamp),
    workers: 1 + (group?.minReplicas ?? 0),
    gangSeconds: Number(metadata.annotations?.[GANG_ANNOTATION]) || Infinity,
    ...deviceOf(group?.template.spec),
    isDeleting: metadata.deletionTimestamp !== undefined,
    isSuspended: spec?.suspend === true,
    kueue: [...kueueKeys(metadata), ...(spec?.managedBy?.startsWith('kueue.') ? [spec.managedBy] : [])],
    isWhole: provisionedAt !== undefined,
    ...(provisionedAt !== undefined && { provisionedAt }),
    mostWorkers: leased || 0,
    ...(excess !== undefined && { excess }),
    isComplete: false,
    succeeded: 0,
  };
}

/** KubeRay's condition becomes true when all initial pods were ready, and stays true. */
function provisionTime(status: RayCluster['status']): EpochMs | undefined {
  const found = status?.conditions?.find(({ type }) => type === 'RayClusterProvisioned');
  return found?.status === 'True' ? timeOf(found.lastTransitionTime) : undefined;
}

function excessOf(spec: RayCluster['spec'], leased: number): string | undefined {
  const groups = spec?.workerGroupSpecs ?? [];
  const most = groups.reduce((sum, { maxReplicas = Infinity }) => sum + maxReplicas, 0);
  if (!(most > leased)) return undefined;
  return `its worker groups may have ${most} workers, and the lease counts ${leased}: somebody has changed the RayCluster`;
}

/** The head is the only host of the slice. */
export function seenRayPod(pod: V1Pod): SeenPod {
  const { index: _, unscheduled, ...seen } = seenPod(pod);
  const { metadata, spec, status } = pod;
  const gate = spec?.schedulingGates?.findIndex(({ name }) => name === LEASE_GATE) ?? -1;
  const others = status?.containerStatuses?.filter(({ name }) => name !== CONTAINER) ?? [];
  const ended = others.find(({ state }) => state?.terminated)?.state?.terminated;
  return {
    ...seen,
    ...(metadata?.labels?.[NODE_TYPE_LABEL] === 'head' && { index: 0 }),
    createdAt: timeOf(metadata?.creationTimestamp),
    ...(gate < 0 ? unscheduled && { unscheduled } : { gate }),
    ...(ended && { sidecarEnded: saidBy(ended) }),
  };
}

/**
 * Reads the observed objects of a RayCluster as evidence. The slice is its first head: if that is lost, KubeRay makes another
 * one, which has nothing of the job. Ray itself replaces a worker that ended, so that is no loss.
 */
export function rayClusterCondition(seen: Observation, ownership: Owner | Ownership, namespace: string): Condition {
  const { job, pods } = seen;
  const foreign = foreignPart(seen, ownership, 'RayCluster');
  if (foreign !== undefined) return foreign;
  if (job === 'not-found') return withoutOwner(seen);
  if (job.isDeleting) return { kind: 'deleting' };
  const own = pods.filter(({ jobUid }) => jobUid === undefined || jobUid === job.uid);
  const heads = own.filter(({ index }) => index !== undefined);
  return (
    lossOf(job, heads) ??
    readyOf(job, { ...seen, pods: own }, namespace) ??
    startLoss({ ...seen, pods: heads }) ??
    pending({ ...seen, pods: own }, job)
  );
}

function pending(seen: Observation, job: SeenJob): Condition {
  const condition = pendingOf(seen, job);
  const isTold = condition.kind === 'waiting' && seen.notLetIn !== undefined;
  return isTold ? { ...condition, detail: [condition.detail, seen.notLetIn].join('; ') } : condition;
}

function lossOf(job: SeenJob, heads: readonly SeenPod[]): Condition | undefined {
  if (job.isSuspended || job.kueue.length > 0) return { kind: 'lost', ...held(job, 'RayCluster') };
  if (job.excess !== undefined) return refused(job.excess);
  const disrupted = heads.find(({ disruption }) => disruption);
  if (disrupted?.disruption) return lost('preempted', wordsOf(disrupted, disrupted.disruption));
  const ended = heads.find((pod) => pod.ended);
  if (ended?.ended) return endOf(ended, ended.ended, 'ray_cluster.head.memory');
  const { provisionedAt } = job;
  if (provisionedAt === undefined) return undefined;
  const deleted = heads.find(({ isDeleting }) => isDeleting);
  if (deleted) return lost('failed', `the head, pod ${deleted.name}, is being deleted`);
  if (heads.length === 0) return lost('failed', 'the head is gone, and why is not known');
  const anew = heads.find(({ createdAt = 0 }) => createdAt > provisionedAt);
  return anew && lost('failed', `the head is gone, and KubeRay has made another one, pod ${anew.name}`);
}

/**
 * A loss if Ray, or its autoscaler, has ended on a head that was never ready: nothing restarts it. Both give up after half a
 * minute on a node that is too slow (Ray 2.60), so the next slice may succeed.
 */
function startLoss({ pods, events }: Observation): Condition | undefined {
  const ray = events.find(({ message }) => message.includes(RAY_ENDED));
  const text = `${ray?.reason}: ${ray?.message}`;
  if (ray?.message.includes(`${RAY_ENDED} with code ${NO_COMMAND}`)) return refused(`${text}: is ray in the image?`);
  if (ray !== undefined) return lost('failed', text);
  const head = pods.find(({ sidecarEnded }) => sidecarEnded);
  return (
    head?.sidecarEnded &&
    lost('failed', wordsOf(head, { ...head.sidecarEnded, reason: autoscalerEnded(head.sidecarEnded) }))
  );
}

/** Exit code of a shell that does not find the command. */
const NO_COMMAND = 127;

const autoscalerEnded = ({ reason }: Said): string => `Ray's autoscaler has ended (${reason})`;

function readyOf(
  { provisionedAt, workers }: SeenJob,
  { pods, notLetIn }: Observation,
  namespace: string,
): Condition | undefined {
  const head = pods.find(({ index }) => index !== undefined);
  const hosts = head === undefined ? [] : hostOf(head, namespace);
  if (provisionedAt === undefined || head === undefined || hosts.length === 0) return undefined;
  const running = pods.filter(({ phase, isDeleting }) => phase === 'Running' && !isDeleting).length;
  // All pods were ready at `provisionedAt`. If one is unready since before then, the pods were read earlier than their owner, and
  // are outdated.
  const areOlder = pods.some(({ isReady, readySince = Infinity }) => !isReady && readySince <= provisionedAt);
  const shortage = !head.isReady
    ? `the head, pod ${head.name}, is not Ready: Ray has ended on it, or its node ${head.node ?? ''} may not answer`
    : running < workers && `${running - 1} of at least ${workers - 1} workers run`;
  const warning = head.sidecarEnded
    ? `${autoscalerEnded(head.sidecarEnded)}: no workers are added or ended any more`
    : (head.isReady && notLetIn) || (!areOlder && shortage);
  return { kind: 'ready', uid: head.uid, hosts, ...(warning && { warning }) };
}
