import { VERSION } from './nodes.js';
import type { ObjectStore } from './object-store.js';
import { DEFINITIONS, PODS, qualified, RAY_CLUSTERS, RESOURCES, type Resource } from './resources.js';

const VERBS = ['create', 'delete', 'get', 'list', 'watch'];

/** Answers what clients ask first: versions, groups, and the resources of each. Undefined for other paths. */
export function discovered(path: string, store: ObjectStore): object | undefined {
  const groups = isDefined(store, RAY_CLUSTERS) ? [...GROUPS, RAY_CLUSTERS.group] : GROUPS;
  switch (path) {
    case '/version':
      return {
        ...{ major: '1', minor: VERSION.split('.')[1] ?? '', gitVersion: VERSION, gitCommit: '', gitTreeState: '' },
        ...{ buildDate: '1970-01-01T00:00:00Z', goVersion: '', compiler: '', platform: 'linux/amd64' },
      };
    case '/api':
      return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
    case '/apis':
      return {
        kind: 'APIGroupList',
        apiVersion: 'v1',
        groups: groups.map((name) => {
          const version = { groupVersion: `${name}/v1`, version: 'v1' };
          return { name, versions: [version], preferredVersion: version };
        }),
      };
    case '/api/v1':
      return resourcesOf('');
    default: {
      const group = /^\/apis\/([^/]+)\/v1$/.exec(path)?.[1];
      return group !== undefined && groups.includes(group) ? resourcesOf(group) : undefined;
    }
  }
}

/** Whether the API server knows the resource. It knows RayClusters only while their definition exists. */
export const isDefined = (store: ObjectStore, resource: Resource): boolean =>
  resource !== RAY_CLUSTERS || store.get(DEFINITIONS, '', qualified(resource)) !== undefined;

const GROUPS: readonly string[] = ['apiextensions.k8s.io', 'authorization.k8s.io', 'batch', 'scheduling.k8s.io'];

function resourcesOf(group: string): object {
  const own = RESOURCES.filter((resource) => resource.group === group);
  const plain = own.map((resource) => {
    const { plural, singular, kind, isNamespaced, shortNames, isInAll } = resource;
    const verbs = resource === PODS ? [...VERBS, 'patch'] : VERBS;
    return {
      ...{ name: plural, singularName: singular, namespaced: isNamespaced, kind, verbs },
      ...(shortNames && shortNames.length > 0 && { shortNames }),
      ...(isInAll && { categories: ['all'] }),
    };
  });
  const sub = (name: string, kind: string, verbs: readonly string[], more: object = {}): object => ({
    ...{ name, singularName: '', namespaced: true, kind, verbs, ...more },
  });
  const subresources =
    group === ''
      ? [
          sub('pods/exec', 'PodExecOptions', ['create', 'get']),
          sub('pods/log', 'Pod', ['get']),
          sub('pods/eviction', 'Eviction', ['create'], { group: 'policy', version: 'v1' }),
        ]
      : group === 'authorization.k8s.io'
        ? [{ ...sub('selfsubjectaccessreviews', 'SelfSubjectAccessReview', ['create']), namespaced: false }]
        : [];
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: group === '' ? 'v1' : `${group}/v1`,
    resources: [...plain, ...subresources],
  };
}
