import { OLDEST_RAY, isTooOld } from '../../machine-kinds/ray-cluster/words.js';
import { isMapping, type Mapping, valueAt } from '../plain-tree.js';
import { keysBeside, listOf, mappingOf, OPEN, podSizeOf, shownOf, textOf, Translation } from './translation.js';
import { KubeletVariables, putPodVariables } from './variables.js';

/** Advice for files that start Ray by themselves. */
export const RAY = [
  'in a job file: ray_cluster: {image: .., ray_version: .., workers: {max: ..}}, on CPUs or GPUs of a cluster (docs/ray-cluster.md)',
  'on TPUs: tpu: {accelerator: .., zone: ..} and ray: {}, which starts Ray on the hosts of the job (docs/ray.md)',
];

/** The lines of a job file that stand for a RayJob or RayCluster. Only advice for TPU workers, or a cluster in another file. */
export function rayLines(manifest: Mapping): readonly string[] {
  const spec = mappingOf(manifest['spec']);
  const isJob = manifest['kind'] === 'RayJob';
  const cluster = isJob ? mappingOf(spec['rayClusterSpec']) : spec;
  const [group, ...others] = listOf(cluster['workerGroupSpecs']).filter(isMapping);
  const head = podOf(cluster['headGroupSpec']);
  if (head.container === undefined || hasTpus([group, ...others])) return RAY;
  const into = new Translation();
  into.name(valueAt(manifest, ['metadata', 'name']));
  putCluster(into, { cluster, group, head });
  into.lose('a job has one group of workers', ...others.map((one) => `group ${shownOf(one['groupName'])}`));
  const namespace = textOf(valueAt(manifest, ['metadata', 'namespace']));
  if (namespace !== undefined && namespace !== 'default') into.set('ray_cluster.namespace', namespace);
  putPodVariables(into, head.container, { variables: new KubeletVariables(head.container), owner: '' });
  const entry = textOf(spec['entrypoint']);
  if (entry !== undefined) into.script('command.run', entry, 'entrypoint');
  else into.note('without a command the job holds its cluster until it is cancelled: jobctl ssh JOB logs in');
  const { backoffLimit: restarts, activeDeadlineSeconds: seconds } = isJob ? spec : {};
  if (typeof restarts === 'number' && restarts > 0) into.set('retries.task', restarts);
  if (typeof seconds === 'number') into.set('timeouts.run', `${seconds}s`);
  if (isJob) into.lose('', ...keysBeside(KNOWN_OF_JOB, spec));
  into.lose(
    '',
    ...keysBeside(KNOWN_OF_CLUSTER, cluster),
    ...keysBeside(KNOWN_OF_METADATA, mappingOf(manifest['metadata']), 'metadata.'),
  );
  return into.lines();
}

const KNOWN_OF_METADATA = ['name', 'namespace'];
const KNOWN_OF_JOB = [
  ...['entrypoint', 'rayClusterSpec', 'backoffLimit', 'activeDeadlineSeconds'],
  // A job deletes its cluster at its end.
  ...['shutdownAfterJobFinishes', 'ttlSecondsAfterFinished', 'submissionMode', 'suspend'],
];
const KNOWN_OF_CLUSTER = ['rayVersion', 'headGroupSpec', 'workerGroupSpecs', 'enableInTreeAutoscaling'];

interface RayPod {
  readonly pod: Mapping;
  readonly container: Mapping | undefined;
}

function podOf(group: unknown): RayPod {
  const pod = mappingOf(valueAt(group, ['template', 'spec']));
  return { pod, container: listOf(pod['containers']).find(isMapping) };
}

const hasTpus = (groups: readonly (Mapping | undefined)[]): boolean =>
  groups.some((group) => /"(google\.com\/tpu|cloud\.google\.com\/gke-tpu-[a-z]+)":/.test(JSON.stringify(group ?? {})));

interface Cluster {
  readonly cluster: Mapping;
  /** The first group of workers. Undefined: the head is alone. */
  readonly group: Mapping | undefined;
  readonly head: RayPod;
}

function putCluster(into: Translation, { cluster, group, head }: Cluster): void {
  const version = textOf(cluster['rayVersion']);
  const image = textOf(head.container?.['image']);
  const tooOld = version !== undefined && isTooOld(version);
  into.set('ray_cluster.image', image ?? OPEN);
  into.set('ray_cluster.ray_version', tooOld ? OPEN : (version ?? OPEN), tooOld ? tooOldText(version) : undefined);
  const { cpus, memory } = podSizeOf(head.pod, head.container ?? {});
  const ofHead = { ...(cpus !== undefined && { cpus }), ...(memory !== undefined && { memory }) };
  if (Object.keys(ofHead).length > 0) into.set('ray_cluster.head', ofHead);
  const workers = podOf(group);
  into.set('ray_cluster.workers', { ...countsOf(group), ...podSizeOf(workers.pod, workers.container ?? {}) });
  const other = textOf(workers.container?.['image']);
  if (other !== undefined && other !== image) into.lose('all pods have one image', `image ${other} of the workers`);
  for (const [name, { pod, container = {} }] of Object.entries({ head, workers })) {
    into.lose('', ...keysBeside(['containers', 'restartPolicy'], pod).map((key) => `${key} of the ${name}`));
    const known = [
      'name',
      'image',
      'resources',
      'ports',
      'imagePullPolicy',
      ...(name === 'head' ? ['env', 'envFrom'] : []),
    ];
    into.lose('', ...keysBeside(known, container).map((key) => `${key} of the ${name}`));
  }
}

const tooOldText = (version: string): string =>
  `the file has Ray ${version}: ${OLDEST_RAY.join('.')} or later, and an image of it`;

/** Bounds of the number of workers. Without bounds in the file there are always `replicas` workers. */
function countsOf(group: Mapping | undefined): Mapping {
  const [replicas, least, most] = ['replicas', 'minReplicas', 'maxReplicas'].map((key) => group?.[key]);
  const max = most ?? replicas;
  const min = least ?? (most === undefined ? replicas : undefined);
  return { ...(typeof min === 'number' && { min }), max: typeof max === 'number' && max > 0 ? max : OPEN };
}
