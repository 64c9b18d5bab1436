/** A kind of objects that the rehearsed API server keeps. */
export interface Resource {
  /** '' is the core group. */
  readonly group: '' | 'apiextensions.k8s.io' | 'batch' | 'ray.io' | 'scheduling.k8s.io';
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly shortNames?: readonly string[];
  /** Shown by `kubectl get all`. */
  readonly isInAll?: true;
}

const core = (kind: string, plural: string, shortNames: readonly string[] = []): Resource => ({
  ...{ group: '', kind, plural, singular: kind.toLowerCase(), isNamespaced: true, shortNames },
});

export const PODS: Resource = { ...core('Pod', 'pods', ['po']), isInAll: true };
export const NAMESPACES: Resource = { ...core('Namespace', 'namespaces', ['ns']), isNamespaced: false };
export const NODES: Resource = { ...core('Node', 'nodes', ['no']), isNamespaced: false };
export const CONFIG_MAPS = core('ConfigMap', 'configmaps', ['cm']);
export const SECRETS = core('Secret', 'secrets');
export const CLAIMS = core('PersistentVolumeClaim', 'persistentvolumeclaims', ['pvc']);
export const ACCOUNTS = core('ServiceAccount', 'serviceaccounts', ['sa']);
export const QUOTAS = core('ResourceQuota', 'resourcequotas', ['quota']);
export const EVENTS = core('Event', 'events', ['ev']);
export const SERVICES: Resource = { ...core('Service', 'services', ['svc']), isInAll: true };
export const JOBS: Resource = {
  ...{ group: 'batch', kind: 'Job', plural: 'jobs', singular: 'job', isNamespaced: true, isInAll: true },
};
export const PRIORITY_CLASSES: Resource = {
  ...{ group: 'scheduling.k8s.io', kind: 'PriorityClass', plural: 'priorityclasses', singular: 'priorityclass' },
  ...{ isNamespaced: false, shortNames: ['pc'] },
};

export const DEFINITIONS: Resource = {
  ...{ group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition', plural: 'customresourcedefinitions' },
  ...{ singular: 'customresourcedefinition', isNamespaced: false, shortNames: ['crd'] },
};
/** Stored only while their definition exists. A new cluster has the definition. */
export const RAY_CLUSTERS: Resource = {
  ...{ group: 'ray.io', kind: 'RayCluster', plural: 'rayclusters', singular: 'raycluster', isNamespaced: true },
};

export const RESOURCES: readonly Resource[] = [
  ...[NAMESPACES, NODES, PODS, CONFIG_MAPS, SECRETS, CLAIMS, ACCOUNTS, QUOTAS, EVENTS, SERVICES, JOBS],
  ...[PRIORITY_CLASSES, DEFINITIONS, RAY_CLUSTERS],
];

export const apiVersionOf = ({ group }: Resource): string => (group === '' ? 'v1' : `${group}/v1`);

/** The name in Kubernetes' messages, such as `jobs.batch`. */
export const qualified = ({ group, plural }: Resource): string => (group === '' ? plural : `${plural}.${group}`);
