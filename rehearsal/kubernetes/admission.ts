import { randomInt, randomUUID } from 'node:crypto';
import { refusals } from './api-status.js';
import type { Condition, Job, KubeObject, Pod, PodSpec, RayCluster } from './objects.js';
import { timestamp, withCondition } from './objects.js';
import type { ObjectStore } from './object-store.js';
import { quantityOf } from './quantity.js';
import {
  ACCOUNTS,
  apiVersionOf,
  JOBS,
  NAMESPACES,
  PODS,
  PRIORITY_CLASSES,
  QUOTAS,
  RAY_CLUSTERS,
  type Resource,
} from './resources.js';

/** An object as a client sends it. */
export type Draft = Readonly<Record<string, unknown>> & { readonly metadata?: Partial<KubeObject['metadata']> };

const NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
const NAME_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";

/** No vowels, as in the names that Kubernetes draws. */
const LETTERS = 'bcdfghjklmnpqrstvwxz2456789';
export const randomSuffix = (): string => Array.from({ length: 5 }, () => LETTERS[randomInt(LETTERS.length)]).join('');

/**
 * Creates an object after the checks of a real API server, and with its defaults, as far as they are in this file.
 * @throws ApiRefusal
 */
export function createObject(store: ObjectStore, resource: Resource, namespace: string, draft: Draft): KubeObject {
  const object = admitted(store, resource, namespace, draft);
  if (store.get(resource, namespace, object.metadata.name))
    throw refusals.alreadyExists(resource, object.metadata.name);
  return store.put(resource, object);
}

function admitted(store: ObjectStore, resource: Resource, namespace: string, draft: Draft): KubeObject {
  const { metadata = {} } = draft;
  const name = metadata.name ?? (metadata.generateName ? `${metadata.generateName}${randomSuffix()}` : '');
  if (resource.isNamespaced) checkNamespace(store, resource, namespace, name, metadata.namespace);
  if (name === '')
    throw refusals.invalid(resource, '', ['metadata.name: Required value: name or generateName is required']);
  if (!NAME.test(name))
    throw refusals.invalid(resource, name, [`metadata.name: Invalid value: "${name}": ${NAME_RULE}`]);
  const object: KubeObject = {
    ...draft,
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: {
      ...metadata,
      name,
      ...(resource.isNamespaced && { namespace }),
      uid: randomUUID(),
      resourceVersion: '',
      generation: 1,
      creationTimestamp: timestamp(),
    },
  };
  switch (resource) {
    case JOBS:
      return admittedJob(object as Job);
    case PODS:
      return admittedPod(store, object as Pod);
    case RAY_CLUSTERS:
      return admittedRayCluster(object as RayCluster);
    case NAMESPACES:
      return { ...object, spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } };
    default:
      return object;
  }
}

function checkNamespace(
  store: ObjectStore,
  resource: Resource,
  namespace: string,
  name: string,
  named: string | undefined,
): void {
  if (named !== undefined && named !== namespace)
    throw refusals.badRequest('the namespace of the provided object does not match the namespace sent on the request');
  const found = store.get(NAMESPACES, '', namespace);
  if (found === undefined) throw refusals.notFound(NAMESPACES, namespace);
  if (found.metadata.deletionTimestamp !== undefined)
    throw refusals.forbidden(
      resource,
      name,
      `unable to create new content in namespace ${namespace} because it is being terminated`,
    );
}

// Jobs -----------------------------------------------------------------------------------------------------------------

export const TRACKING = 'batch.kubernetes.io/job-tracking';
export const INDEX_KEY = 'batch.kubernetes.io/job-completion-index';

function admittedJob(job: Job): Job {
  const { name, uid } = job.metadata;
  const template = job.spec?.template;
  const problems = template?.spec === undefined ? ['spec.template.spec: Required value'] : checkPodSpec(template.spec);
  if (template?.spec && !['Never', 'OnFailure'].includes(template.spec.restartPolicy ?? ''))
    problems.push(`spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`);
  if (job.spec?.completionMode !== 'Indexed')
    problems.push('spec.completionMode: Unsupported value: the rehearsed Job controller knows Indexed Jobs alone');
  for (const key of ['completions', 'parallelism'] as const)
    if (!Number.isInteger(job.spec?.[key] ?? 1) || (job.spec?.[key] ?? 1) < 0)
      problems.push(`spec.${key}: Invalid value: ${job.spec[key]}: must be greater than or equal to 0`);
  if (problems.length > 0)
    throw refusals.invalid(
      JOBS,
      name,
      problems.map((each) => each.replace(/^spec\.containers/, 'spec.template.spec.containers')),
    );
  const labels = {
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
  };
  return {
    ...job,
    metadata: { ...job.metadata, labels: { ...template.metadata?.labels, ...labels, ...job.metadata.labels } },
    spec: {
      ...{ suspend: false, podReplacementPolicy: 'TerminatingOrFailed', manualSelector: false, ...job.spec },
      completions: job.spec.completions ?? 1,
      parallelism: job.spec.parallelism ?? 1,
      backoffLimit: job.spec.backoffLimit ?? 6,
      ...{ selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } } },
      template: {
        metadata: { ...template.metadata, labels: { ...template.metadata?.labels, ...labels } },
        spec: withDefaults(template.spec),
      },
    },
    status: {},
  };
}

// RayClusters ----------------------------------------------------------------------------------------------------------

/** Checks the pods' templates, and more thoroughly than KubeRay's definition. That definition also checks many other fields. */
function admittedRayCluster(cluster: RayCluster): RayCluster {
  const { headGroupSpec, workerGroupSpecs = [] } = cluster.spec ?? {};
  const templates = [
    ['spec.headGroupSpec', headGroupSpec?.template] as const,
    ...workerGroupSpecs.map(({ template }, index) => [`spec.workerGroupSpecs[${index}]`, template] as const),
  ];
  const problems = templates.flatMap(([at, template]) =>
    template?.spec === undefined
      ? [`${at}.template: Required value`]
      : checkPodSpec(template.spec).map((problem) => problem.replace(/^spec/, `${at}.template.spec`)),
  );
  if (problems.length > 0) throw refusals.invalid(RAY_CLUSTERS, cluster.metadata.name, problems);
  return cluster;
}

// Pods -----------------------------------------------------------------------------------------------------------------

const RESOURCE_NAME = /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?\/)?[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?$/;
const STANDARD = /^(cpu|memory|ephemeral-storage|hugepages-.+)$/;

/** Problems of a pod's spec, such as `spec.containers[0].image: Required value`. */
function checkPodSpec({ containers = [], volumes = [] }: Partial<PodSpec>): string[] {
  const problems: string[] = [];
  if (containers.length !== 1)
    problems.push(
      containers.length === 0
        ? 'spec.containers: Required value'
        : 'spec.containers: Too many: the rehearsed kubelet runs one container a pod',
    );
  for (const [index, { name, image, resources = {}, volumeMounts = [] }] of containers.entries()) {
    const at = `spec.containers[${index}]`;
    if (!name) problems.push(`${at}.name: Required value`);
    if (!image) problems.push(`${at}.image: Required value`);
    for (const key of ['limits', 'requests'] as const)
      for (const [resource, amount] of Object.entries(resources[key] ?? {})) {
        const field = `${at}.resources.${key}[${resource}]: Invalid value: "${resource}"`;
        if (!RESOURCE_NAME.test(resource))
          problems.push(
            `${field}: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character`,
          );
        else if (!resource.includes('/') && !STANDARD.test(resource))
          problems.push(`${field}: must be a standard resource type or fully qualified`);
        else if (quantityOf(amount) === undefined)
          problems.push(`${at}.resources.${key}[${resource}]: Invalid value: "${amount}": must be a quantity`);
      }
    for (const [number, mount] of volumeMounts.entries())
      if (!volumes.some((volume) => volume.name === mount.name))
        problems.push(`${at}.volumeMounts[${number}].name: Not found: "${mount.name}"`);
  }
  return problems;
}

const withDefaults = (spec: PodSpec): PodSpec => ({
  ...{ dnsPolicy: 'ClusterFirst', schedulerName: 'default-scheduler', restartPolicy: 'Always', securityContext: {} },
  ...spec,
  terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds ?? 30,
  containers: spec.containers.map((container) => ({ imagePullPolicy: 'IfNotPresent', ...container })),
});

export const GATED: Condition = {
  ...{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' },
  message: 'Scheduling is blocked due to non-empty scheduling gates',
};

function admittedPod(store: ObjectStore, pod: Pod): Pod {
  const { namespace = '' } = pod.metadata;
  // Admission runs before a name is drawn.
  const name = pod.metadata.generateName ?? pod.metadata.name;
  if (pod.spec === undefined) throw refusals.invalid(PODS, name, ['spec.containers: Required value']);
  const problems = checkPodSpec(pod.spec);
  if (problems.length > 0) throw refusals.invalid(PODS, name, problems);
  const account = pod.spec.serviceAccountName ?? 'default';
  if (!store.get(ACCOUNTS, namespace, account)) {
    const what = `error looking up service account ${namespace}/${account}: serviceaccount "${account}" not found`;
    throw refusals.forbidden(PODS, name, what);
  }
  const priority = pod.spec.priorityClassName;
  if (priority !== undefined && !store.get(PRIORITY_CLASSES, '', priority))
    throw refusals.forbidden(PODS, name, `no PriorityClass with name ${priority} was found`);
  checkQuota(store, namespace, name);
  const spec = { ...withDefaults(pod.spec), serviceAccountName: account };
  const conditions = (spec.schedulingGates ?? []).length > 0 && { conditions: withCondition(undefined, GATED) };
  return { ...pod, spec, status: { phase: 'Pending', qosClass: 'Burstable', ...conditions } };
}

/** Checks the number of pods, the only limit of a ResourceQuota that is known here. */
function checkQuota(store: ObjectStore, namespace: string, name: string): void {
  const used = store.list<Pod>(PODS, namespace).filter(({ status }) => !/Succeeded|Failed/.test(status.phase)).length;
  for (const quota of store.list(QUOTAS, namespace)) {
    const { pods } = (quota['spec'] as { readonly hard?: Readonly<Record<string, string>> } | undefined)?.hard ?? {};
    if (pods !== undefined && used + 1 > (quantityOf(pods) ?? Infinity)) {
      const counts = `requested: pods=1, used: pods=${used}, limited: pods=${pods}`;
      throw refusals.forbidden(PODS, name, `exceeded quota: ${quota.metadata.name}, ${counts}`);
    }
  }
}
