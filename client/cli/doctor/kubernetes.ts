import type { WantedObjects } from '../../../cloud/machines/kubernetes/inspect.js';
import { CloudRefused } from '../../../cloud/machines/port.js';
import type { KubernetesRequest } from '../../../domain/machine-kinds/kubernetes/words.js';
import { readJobFile } from '../job-file.js';
import { openCluster } from '../kubernetes-cluster.js';
import type { Diagnosis, DoctorFlags } from './diagnosis.js';
import { failed } from './finding.js';
import { kubernetesChecks, type WantedPods } from './kubernetes-checks.js';

/** `jobctl doctor --kubernetes`: whether a cluster can run jobs. Flags say more than the job file. */
export async function diagnoseKubernetes(file: string | undefined, flags: DoctorFlags): Promise<Diagnosis> {
  const request = file === undefined ? undefined : await requestOf(file);
  const context = flags.kubeContext ?? request?.context;
  const { inspectCluster } = await import('../../../cloud/machines/kubernetes/inspect.js');
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

/** A job for other machines says nothing about Kubernetes. */
async function requestOf(file: string): Promise<KubernetesRequest | undefined> {
  const { spec } = await readJobFile(file, { set: [], isDry: true });
  return 'kubernetes' in spec ? spec.kubernetes : undefined;
}

const objectsOf = (request: KubernetesRequest | undefined): WantedObjects => ({
  ...(request?.serviceAccount !== undefined && { serviceAccount: request.serviceAccount }),
  secrets: request?.secrets.map(({ name }) => name) ?? [],
  claims: request?.volumes.flatMap(({ claim }) => claim ?? []) ?? [],
});

const podsOf = (request: KubernetesRequest | undefined): WantedPods => ({
  workers: request?.workers ?? 1,
  ...(request?.gpus && { gpus: request.gpus.count }),
  ...(request?.tpu && { tpu: { ...request.tpu } }),
});
