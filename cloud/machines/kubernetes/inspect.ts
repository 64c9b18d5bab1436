import { apiFailureOf, isNotFound } from './api-failure.js';
import type { Cluster } from './cluster.js';
import { RAY_CLUSTERS } from './namespace-api.js';
import { kueueKeys } from './observation.js';

/** Facts about a cluster for `jobctl doctor --kubernetes`. It only reads. */

/** The answer to a question, or the reason why there is none. */
export type Asked<T> = { readonly known: true; readonly value: T } | { readonly known: false; readonly why: string };

export interface ClusterFacts {
  readonly context: string;
  readonly server: string;
  readonly namespace: string;
  /** Version of the API server, such as `v1.34.4`. */
  readonly version: Asked<string>;
  /** Absent if the first question has no answer. */
  readonly rest?: {
    /** Undefined: the namespace does not exist. */
    readonly labels: Asked<{ readonly kueue: readonly string[] } | undefined>;
    /** For each right the verbs that are not granted. */
    readonly missing: Asked<readonly { readonly right: NeededRight; readonly verbs: readonly string[] }[]>;
    readonly quotas: Asked<readonly QuotaFact[]>;
    readonly nodes: Asked<readonly NodeFact[]>;
    /** The objects that were asked about by name. */
    readonly objects: readonly ObjectFact[];
    /** Whether the cluster knows RayClusters (`ray.io/v1`). Absent: no job wants one. */
    readonly knowsRay?: Asked<boolean>;
  };
}

export interface QuotaFact {
  readonly name: string;
  /** Such as `requests.nvidia.com/gpu`. */
  readonly resource: string;
  readonly hard: string;
  readonly used: string;
}

/** The devices that one node offers to pods. */
export interface NodeFact {
  readonly name: string;
  readonly isReady: boolean;
  readonly gpus: number;
  readonly tpus: number;
  /** From GKE's labels. */
  readonly tpu?: string;
}

export interface ObjectFact {
  /** `Secret x`. */
  readonly what: string;
  readonly isThere: Asked<boolean>;
}

export interface WantedObjects {
  /** The job runs on a RayCluster of KubeRay. */
  readonly isForRay?: boolean;
  readonly serviceAccount?: string;
  readonly priorityClass?: string;
  readonly secrets: readonly string[];
  readonly claims: readonly string[];
}

async function asked<T>(call: () => Promise<T>): Promise<Asked<T>> {
  try {
    return { known: true, value: await call() };
  } catch (error) {
    return { known: false, why: apiFailureOf(error).message };
  }
}

export async function inspectCluster(
  cluster: Cluster,
  namespace: string,
  wanted: WantedObjects,
): Promise<ClusterFacts> {
  const { context, server } = cluster;
  const version = await asked(async () => (await cluster.version.getCode()).gitVersion);
  const first = { context, server, namespace, version };
  if (!version.known) return first;
  const [labels, missing, quotas, nodes, objects, knowsRay] = await Promise.all([
    asked(() => namespaceLabels(cluster, namespace)),
    asked(() => missingRights(cluster, namespace, wanted)),
    asked(() => quotasOf(cluster, namespace)),
    asked(() => nodesOf(cluster)),
    objectsOf(cluster, namespace, wanted),
    wanted.isForRay ? asked(() => knowsRayClusters(cluster)) : undefined,
  ]);
  return { ...first, rest: { labels, missing, quotas, nodes, objects, ...(knowsRay && { knowsRay }) } };
}

/** The object, or undefined if the API server says that it does not exist. */
async function found<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (isNotFound(apiFailureOf(error))) return undefined;
    throw error;
  }
}

async function namespaceLabels({ core }: Cluster, name: string) {
  const namespace = await found(() => core.readNamespace({ name }));
  return namespace && { kueue: kueueKeys({ labels: namespace.metadata?.labels ?? {} }) };
}

async function knowsRayClusters({ custom }: Cluster): Promise<boolean> {
  try {
    const { group, version, plural } = RAY_CLUSTERS;
    const { resources } = await custom.getAPIResources({ group, version });
    return resources.some(({ name }) => name === plural);
  } catch (error) {
    // For an unknown API group, the API server's 404 has no Status.
    if (apiFailureOf(error).status === 404) return false;
    throw error;
  }
}

async function missingRights({ authorization }: Cluster, namespace: string, { isForRay = false }: WantedObjects) {
  const needed = NEEDED_RIGHTS.filter((right) => isForRay || !right.isForRay);
  const looked = needed.map(async (right) => {
    const { group, resource, subresource } = right;
    const answers = right.verbs.map(async (verb) => {
      const resourceAttributes = { namespace, group, resource, verb, ...(subresource && { subresource }) };
      const { status } = await authorization.createSelfSubjectAccessReview({
        body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } },
      });
      return status?.allowed ? [] : [verb];
    });
    return { right, verbs: (await Promise.all(answers)).flat() };
  });
  return (await Promise.all(looked)).filter(({ verbs }) => verbs.length > 0);
}

async function quotasOf({ core }: Cluster, namespace: string): Promise<readonly QuotaFact[]> {
  const { items } = await core.listNamespacedResourceQuota({ namespace });
  return items.flatMap(({ metadata, status }) =>
    Object.entries(status?.hard ?? {}).map(([resource, hard]) => ({
      name: metadata?.name ?? '',
      ...{ resource, hard },
      used: status?.used?.[resource] ?? '0',
    })),
  );
}

async function nodesOf({ core }: Cluster): Promise<readonly NodeFact[]> {
  const { items } = await core.listNode();
  return items.map(({ metadata, status }) => {
    const tpu = metadata?.labels?.['cloud.google.com/gke-tpu-accelerator'];
    const topology = metadata?.labels?.['cloud.google.com/gke-tpu-topology'];
    const count = (resource: string): number => Number(status?.allocatable?.[resource] ?? 0);
    return {
      name: metadata?.name ?? '',
      isReady: status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false,
      gpus: count('nvidia.com/gpu'),
      tpus: count('google.com/tpu'),
      ...(tpu && { tpu: `${tpu} ${topology ?? ''}`.trim() }),
    };
  });
}

/** One separate read for each: an account that may not read secrets may still see a PriorityClass. */
async function objectsOf(cluster: Cluster, namespace: string, wanted: WantedObjects): Promise<readonly ObjectFact[]> {
  const { core, custom } = cluster;
  const { serviceAccount, priorityClass, secrets, claims } = wanted;
  const looks: readonly (readonly [what: string, look: () => Promise<unknown>])[] = [
    ...some(serviceAccount).map(
      (name) => [`ServiceAccount ${name}`, () => core.readNamespacedServiceAccount({ namespace, name })] as const,
    ),
    ...some(priorityClass).map(
      (name) => [`PriorityClass ${name}`, () => custom.getClusterCustomObject({ ...PRIORITY_CLASSES, name })] as const,
    ),
    ...secrets.map((name) => [`Secret ${name}`, () => core.readNamespacedSecret({ namespace, name })] as const),
    ...claims.map(
      (name) =>
        [`PersistentVolumeClaim ${name}`, () => core.readNamespacedPersistentVolumeClaim({ namespace, name })] as const,
    ),
  ];
  return Promise.all(
    looks.map(async ([what, look]) => ({ what, isThere: await asked(async () => (await found(look)) !== undefined) })),
  );
}

const some = <T>(value: T | undefined): readonly T[] => (value === undefined ? [] : [value]);

const PRIORITY_CLASSES = { group: 'scheduling.k8s.io', version: 'v1', plural: 'priorityclasses' } as const;

/** A right of a worker's account in each namespace of jobs. deploy/kubernetes/rbac.yaml grants it, `jobctl doctor` checks it. */
export interface NeededRight {
  /** '' is the core group. */
  readonly group: '' | 'batch' | 'ray.io';
  readonly resource: string;
  readonly subresource?: string;
  readonly verbs: readonly string[];
  /** The purpose, as a verb: `create and remove slices`. */
  readonly use: string;
  /** Needed only for jobs with the section `ray_cluster`. */
  readonly isForRay?: true;
  /** jobctl works without it, but reports less. */
  readonly isOptional?: true;
}

const MADE = ['create', 'get', 'list', 'delete'];

export const NEEDED_RIGHTS: readonly NeededRight[] = [
  { group: 'batch', resource: 'jobs', verbs: MADE, use: 'create, watch and remove slices' },
  {
    group: 'ray.io',
    resource: 'rayclusters',
    verbs: MADE,
    use: 'create, watch and remove RayClusters',
    isForRay: true,
  },
  { group: '', resource: 'configmaps', verbs: MADE, use: "bring the agent into a slice's pods" },
  { group: '', resource: 'services', verbs: MADE, use: "name a slice's pods" },
  { group: '', resource: 'pods', verbs: ['get', 'list', 'delete'], use: 'see how pods start and end' },
  { group: '', resource: 'pods', verbs: ['patch'], use: 'let in the workers that the lease counts', isForRay: true },
  // A WebSocket begins with GET; a server of 1.35 asks for create too.
  { group: '', resource: 'pods', subresource: 'exec', verbs: ['create', 'get'], use: 'set pods up and run commands' },
  {
    group: '',
    resource: 'pods',
    subresource: 'log',
    verbs: ['get'],
    use: "bring what an image's build prints into the job's logs",
    isOptional: true,
  },
  { group: '', resource: 'events', verbs: ['list'], use: 'say why pods do not start', isOptional: true },
  {
    group: '',
    resource: 'namespaces',
    verbs: ['get'],
    use: 'see whether Kueue manages the namespace',
    isOptional: true,
  },
];
