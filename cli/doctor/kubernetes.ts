import type {
  WantedObjects,
  Asked,
  ClusterFacts,
  ObjectFact,
  NeededRight,
} from '../../cloud/machines/kubernetes/inspect.js';
import { CloudRefused } from '../../cloud/machines/port.js';
import type { KubernetesRequest } from '../../domain/machine-kinds/kubernetes/words.js';
import type { RayClusterRequest } from '../../domain/machine-kinds/ray-cluster/words.js';
import { readJobFile } from '../job/job-file.js';
import { openCluster } from '../place/kubernetes-cluster.js';
import { type Diagnosis, type DoctorFlags, failed, type Finding, ok, warning } from './finding.js';

/** `jobctl doctor --kubernetes`: checks whether a cluster can run jobs. Flags take precedence over the job file. */
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

/** The job file's request for pods. Undefined: the job is for other machines, so it says nothing about Kubernetes. */
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

/** The pods that a job asks for. For a RayCluster, the fewest that it starts with. */
function podsOf(request: PodsRequest | undefined): WantedPods {
  if (request === undefined) return { workers: 1 };
  const { gpus } = isRay(request) ? request.workers : request;
  return {
    workers: isRay(request) ? request.workers.min : request.workers,
    ...(gpus && { gpus: gpus.count }),
    ...(!isRay(request) && request.tpu && { tpu: { ...request.tpu } }),
  };
}

export interface WantedPods {
  readonly workers: number;
  /** GPUs of each pod. */
  readonly gpus?: number;
  readonly tpu?: { readonly accelerator: string; readonly topology: string; readonly chips: number };
}

/** The oldest version whose Job controller has `podFailurePolicy` and `podReplacementPolicy` switched on. */
const OLDEST_MINOR = 29;

/** Judges the facts for a job's pods, in the order in which a person would fix them. */
export function kubernetesChecks(facts: ClusterFacts, wanted: WantedPods): readonly Finding[] {
  const { rest } = facts;
  const first = reachCheck(facts);
  if (rest === undefined) return [first];
  return [
    first,
    namespaceCheck(facts.namespace, rest.labels),
    ...rightsChecks(facts.namespace, rest.missing),
    ...(rest.knowsRay ? [rayCheck(rest.knowsRay)] : []),
    ...objectsChecks(facts.namespace, rest.objects),
    quotaCheck(facts.namespace, rest.quotas),
    nodesCheck(rest.nodes, wanted),
  ];
}

function reachCheck({ context, server, version }: ClusterFacts): Finding {
  const check = 'cluster';
  if (!version.known) {
    const remedy = 'is the address right, the network up, the login fresh? `kubectl version` asks the same';
    return failed(check, `${context} at ${server}: ${version.why}`, remedy);
  }
  const minor = Number(/^v1\.(\d+)/.exec(version.value)?.[1] ?? Number.NaN);
  const text = `${context} at ${server}: Kubernetes ${version.value}`;
  if (!(minor < OLDEST_MINOR)) return ok(check, text);
  return failed(check, `${text}; jobctl needs 1.${OLDEST_MINOR} or later`, 'update the cluster, or take another');
}

function unknown(check: string, { why }: Extract<Asked<unknown>, { known: false }>): Finding {
  return warning(check, `could not look: ${why}`);
}

function namespaceCheck(namespace: string, labels: NonNullable<ClusterFacts['rest']>['labels']): Finding {
  const check = 'namespace';
  if (!labels.known) return unknown(check, labels);
  if (labels.value === undefined)
    return failed(
      check,
      `${namespace} does not exist`,
      `an administrator runs 'kubectl create namespace ${namespace}'`,
    );
  const { kueue } = labels.value;
  if (kueue.length === 0) return ok(check, `${namespace}, which Kueue does not manage`);
  const what = `Kueue manages ${namespace} (its label ${kueue[0]}), and jobctl's quota has to be the only authority over its jobs`;
  return failed(check, what, 'use another namespace');
}

function rightsChecks(namespace: string, missing: NonNullable<ClusterFacts['rest']>['missing']): readonly Finding[] {
  const check = 'rights';
  if (!missing.known) return [unknown(check, missing)];
  if (missing.value.length === 0) return [ok(check, `all that jobctl needs in ${namespace}`)];
  return missing.value.map(({ right, verbs }) => {
    const what = `may not ${verbs.join(', ')} ${nameOf(right)} in ${namespace}, needed to ${right.use}`;
    const remedy = `an administrator runs 'kubectl apply -n ${namespace} -f deploy/kubernetes/rbac.yaml' and binds the role`;
    return right.isOptional ? warning(check, what, remedy) : failed(check, what, remedy);
  });
}

const nameOf = ({ resource, subresource }: NeededRight): string =>
  subresource === undefined ? resource : `${resource}/${subresource}`;

function rayCheck(knows: Asked<boolean>): Finding {
  const check = 'KubeRay';
  if (!knows.known) return unknown(check, knows);
  if (knows.value) return ok(check, 'the cluster knows RayClusters (ray.io/v1)');
  const remedy = 'an administrator installs KubeRay v1.5 or later, its operator and its resource definitions';
  return failed(check, 'the cluster knows no RayClusters (ray.io/v1)', remedy);
}

function objectsChecks(namespace: string, objects: readonly ObjectFact[]): readonly Finding[] {
  const check = 'objects';
  const absent = objects.flatMap(({ what, isThere }) => (isThere.known && !isThere.value ? [what] : []));
  const unseen = objects.flatMap(({ what, isThere }) => (isThere.known ? [] : [`${what}: ${isThere.why}`]));
  const findings = [
    ...(absent.length > 0
      ? [failed(check, `not there, for ${namespace}: ${absent.join(', ')}`, 'make them, or correct the names')]
      : []),
    ...(unseen.length > 0 ? [warning(check, `could not look for ${unseen.join(', ')}`)] : []),
  ];
  return findings.length > 0 ? findings : [ok(check, 'what the job file names is there')];
}

function quotaCheck(namespace: string, quotas: NonNullable<ClusterFacts['rest']>['quotas']): Finding {
  const check = 'quota';
  if (!quotas.known) return unknown(check, quotas);
  if (quotas.value.length === 0) return ok(check, `no ResourceQuota in ${namespace}`);
  const all = quotas.value.map(({ resource, used, hard }) => `${resource} ${used} of ${hard}`).join(', ');
  return ok(check, `in use: ${all}`);
}

function nodesCheck(nodes: NonNullable<ClusterFacts['rest']>['nodes'], { workers, gpus, tpu }: WantedPods): Finding {
  const check = 'nodes';
  if (!nodes.known) return unknown(check, nodes);
  const ready = nodes.value.filter(({ isReady }) => isReady);
  const sum = (count: (node: (typeof ready)[number]) => number): number =>
    ready.reduce((total, node) => total + count(node), 0);
  const seen = `${ready.length} of ${nodes.value.length} nodes are Ready, with ${sum((node) => node.gpus)} GPUs and ${sum((node) => node.tpus)} TPU chips`;
  const autoscaler = 'an autoscaler may add nodes; else take other machines';
  if (gpus !== undefined) {
    const pods = sum((node) => Math.floor(node.gpus / gpus));
    if (pods < workers)
      return failed(check, `${seen}: room for ${pods} of ${workers} pods of ${gpus} GPUs`, autoscaler);
  }
  if (tpu !== undefined) {
    const kind = `${tpu.accelerator} ${tpu.topology}`;
    const fit = ready.filter((node) => node.tpu === kind && node.tpus >= tpu.chips).length;
    if (fit < workers) return failed(check, `${seen}: ${fit} of ${workers} nodes of ${kind}`, autoscaler);
  }
  return ready.length > 0 ? ok(check, seen) : failed(check, seen, autoscaler);
}
