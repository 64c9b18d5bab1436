import type { WantedObjects } from '../../cloud/machines/kubernetes/inspect.js';
import { CloudRefused } from '../../cloud/machines/port.js';
import type { KubernetesRequest } from '../../domain/machine-kinds/kubernetes/words.js';
import type { RayClusterRequest } from '../../domain/machine-kinds/ray-cluster/words.js';
import { readJobFile } from '../job/job-file.js';
import { openCluster } from '../place/kubernetes-cluster.js';
import type { Diagnosis, DoctorFlags } from './diagnosis.js';
import { failed } from './finding.js';
import { kubernetesChecks, type WantedPods } from './kubernetes-checks.js';

/** `jobctl doctor --kubernetes`: whether a cluster can run jobs. Flags say more than the job file. */
export async function diagnoseKubernetes(file: string | undefined, flags: DoctorFlags): Promise<Diagnosis> {
  const request = file === undefined ? undefined : await requestOf(file);
  const context = flags.kubeContext ?? request?.context;
  const { inspectCluster } = await import('../../cloud/machines/kubernetes/inspect.js');
  try {
    const cluster = await openCluster(context, {
      ...(flags.kubeconfig !== undefined && { kubeconfig: flags.kubeconfig }),
    });
    const namespace = flags.kubeNamespace ?? request?.namespace ?? cluster.namespace ?? 'default';
    const facts = await inspectCluster(cluster, namespace, objectsOf(request));
    const account = { context: cluster.context, namespace };
    return { account, findings: kubernetesChecks(facts, podsOf(request)) };
  } catch (error) {
    if (!(error instanceof CloudRefused)) throw error;
    const remedy =
      "name a file with --kubeconfig and a context with --kube-context; 'kubectl config get-contexts' lists them";
    return { account: { context: context ?? '' }, findings: [failed('cluster', error.message, remedy)] };
  }
}

type PodsRequest = KubernetesRequest | RayClusterRequest;

/** A job for other machines says nothing about Kubernetes. */
async function requestOf(file: string): Promise<PodsRequest | undefined> {
  const { spec } = await readJobFile(file, { set: [], isDry: true });
  if ('ray_cluster' in spec) return spec.ray_cluster;
  return 'kubernetes' in spec ? spec.kubernetes : undefined;
}

const isRay = (request: PodsRequest): request is RayClusterRequest => 'rayVersion' in request;

const objectsOf = (request: PodsRequest | undefined): WantedObjects => ({
  ...(request?.serviceAccount !== undefined && { serviceAccount: request.serviceAccount }),
  ...(request?.priorityClass !== undefined && { priorityClass: request.priorityClass }),
  secrets: request?.secrets.map(({ name }) => name) ?? [],
  claims: request?.volumes.flatMap(({ claim }) => claim ?? []) ?? [],
  ...(request && isRay(request) && { isForRay: true }),
});

/** The pods that a job asks for. Of a RayCluster, the least that it starts with. */
function podsOf(request: PodsRequest | undefined): WantedPods {
  if (request === undefined) return { workers: 1 };
  const { gpus } = isRay(request) ? request.workers : request;
  return {
    workers: isRay(request) ? request.workers.min : request.workers,
    ...(gpus && { gpus: gpus.count }),
    ...(!isRay(request) && request.tpu && { tpu: { ...request.tpu } }),
  };
}
