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
