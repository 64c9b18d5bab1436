import { isMapping, type Mapping, valueAt } from '../plain-tree.js';
import { type PodSet, putPods } from './pods.js';
import { keysBeside, listOf, mappingOf, shownOf, textOf, Translation } from './translation.js';

/** The lines of a job file that stand for a manifest of Kubernetes (docs/kubernetes.md). @param beside other manifests of its file */
export function manifestLines(manifest: Mapping, beside: readonly Mapping[] = []): readonly string[] {
  if (isOfRay(manifest)) return RAY;
  const sets = podSetsOf(manifest);
  const [only, ...others] = sets;
  if (only === undefined) return NO_PODS;
  if (others.some(({ pod }) => commandOf(pod) !== commandOf(only.pod)))
    return [
      `its ${sets.length} sets of pods are different: ${sets.map(({ name }) => name).join(', ')}`,
      'a job of jobctl runs one command in equal pods: write a job file for the set that trains',
    ];
  const into = new Translation();
  into.name(nameOf(manifest));
  const slices = only.slices;
  if (slices > 1) into.set('slices', slices);
  putPods(into, { ...only, pods: others.length === 0 ? only.pods : sumOf(sets), owner: nameOf(manifest) });
  putOwner(into, manifest);
  into.lose(
    '',
    ...beside.map((one) => `${shownOf(one['kind'])} ${shownOf(valueAt(one, ['metadata', 'name']) ?? '')}`.trim()),
  );
  return into.lines();
}

/** Advice for files that start Ray by themselves. */
export const RAY = [
  'in a job file: ray_cluster: {image: .., ray_version: .., workers: {max: ..}}, on CPUs or GPUs of a cluster (docs/ray-cluster.md)',
  'on TPUs: tpu: {accelerator: .., zone: ..} and ray: {}, which starts Ray on the hosts of the job (docs/ray.md)',
];
const isOfRay = ({ kind }: Mapping): boolean => kind === 'RayCluster' || kind === 'RayJob';

const NO_PODS = [
  'it has no pods of a job: a job file names the image and the command of its own',
  'in a job file: kubernetes: {image: ..} and command: {run: ..}',
];

const nameOf = ({ metadata }: Mapping): string =>
  textOf(mappingOf(metadata)['name'] ?? mappingOf(metadata)['generateName']) ?? '';
const commandOf = (pod: Mapping): string =>
  JSON.stringify(['image', 'command', 'args'].map((key) => valueAt(pod, ['containers', 0, key])));
const sumOf = (sets: readonly PodSet[]): number => sets.reduce((sum, { pods = 1 }) => sum + pods, 0);

/** Whether a manifest has pods that run a command. */
export const hasPods = (manifest: Mapping): boolean => podSetsOf(manifest).length > 0 || isOfRay(manifest);

function podSetsOf(manifest: Mapping): readonly PodSet[] {
  const spec = mappingOf(manifest['spec']);
  const kind = shownOf(manifest['kind']);
  if (isPodSpec(spec)) return [{ name: kind, pod: spec, slices: 1 }];
  if (isMapping(spec['jobTemplate'])) return podSetsOf({ ...mappingOf(spec['jobTemplate']), kind });
  const replicated = listOf(spec['replicatedJobs']).filter(isMapping);
  if (replicated.length > 0) return replicated.flatMap(ofReplicatedJob);
  const byRole = Object.entries(spec).find(([key]) => key.endsWith('ReplicaSpecs'))?.[1];
  if (isMapping(byRole))
    return Object.entries(byRole).flatMap(([name, role]) => ofTemplate(mappingOf(role), { name, slices: 1 }));
  return ofTemplate(spec, { name: kind, slices: 1 });
}

const isPodSpec = (spec: Mapping): boolean => Array.isArray(spec['containers']);

function ofReplicatedJob(job: Mapping): readonly PodSet[] {
  const replicas = job['replicas'];
  const slices = typeof replicas === 'number' ? replicas : 1;
  return ofTemplate(mappingOf(valueAt(job, ['template', 'spec'])), { name: shownOf(job['name']), slices });
}

const COUNTS = ['completions', 'parallelism', 'replicas'] as const;

function ofTemplate(owner: Mapping, set: { readonly name: string; readonly slices: number }): readonly PodSet[] {
  const pod = mappingOf(valueAt(owner, ['template', 'spec']));
  const pods = COUNTS.map((key) => owner[key]).find((count) => typeof count === 'number');
  return isPodSpec(pod) ? [{ ...set, pod, pods }] : [];
}

/** Carries over what the Job, JobSet or other owner of the pods says beside their number. */
function putOwner(into: Translation, manifest: Mapping): void {
  const written = mappingOf(manifest['spec']);
  const spec = { ...written, ...mappingOf(valueAt(written, ['jobTemplate', 'spec'])) };
  const [jobSet] = listOf(spec['replicatedJobs']).filter(isMapping);
  const job = jobSet === undefined ? spec : mappingOf(valueAt(jobSet, ['template', 'spec']));
  const isJob = jobSet !== undefined || ['Job', 'CronJob'].includes(shownOf(manifest['kind']));
  const given = valueAt(spec, ['failurePolicy', 'maxRestarts']) ?? job['backoffLimit'];
  const restarts = given ?? (isJob ? USUAL_RESTARTS : undefined);
  if (typeof restarts === 'number' && restarts > 0)
    into.set('retries.task', restarts, given === undefined ? 'the backoffLimit of a Job that names none' : undefined);
  const policy = textOf(valueAt(podSetsOf(manifest)[0]?.pod, ['restartPolicy'])) ?? 'Always';
  if (!isJob && policy !== 'Never')
    into.lose('retries: {task: N} runs a failed command again', `restartPolicy ${policy}`);
  const { activeDeadlineSeconds: seconds, completions, parallelism } = job;
  if (typeof seconds === 'number') into.set('timeouts.run', `${seconds}s`);
  if (typeof parallelism === 'number' && typeof completions === 'number' && parallelism < completions)
    into.lose('all pods of a job start together', `parallelism: ${parallelism}`);
  const namespace = textOf(valueAt(manifest, ['metadata', 'namespace']));
  if (namespace !== undefined && namespace !== 'default') into.set('kubernetes.namespace', namespace);
  into.lose('', ...keysBeside(KNOWN_OF_METADATA, mappingOf(manifest['metadata']), 'metadata.'));
  const { [QUEUE]: queue, ...labels } = mappingOf(valueAt(manifest, ['metadata', 'labels']));
  if (Object.keys(labels).length > 0) into.set('kubernetes.labels', labels);
  const byKueue = 'the quota of its pool queues it; a namespace that Kueue manages is refused';
  if (queue !== undefined) into.lose(byKueue, `${QUEUE}: ${shownOf(queue)}`);
  into.lose('', ...(spec['schedule'] === undefined ? [] : ['schedule']));
  into.lose('', ...keysBeside(KNOWN_OF_OWNER, jobSet === undefined ? spec : { ...spec, ...job }));
}

/** `backoffLimit` of a Job without one (kubernetes.io/docs/concepts/workloads/controllers/job). */
const USUAL_RESTARTS = 6;
const QUEUE = 'kueue.x-k8s.io/queue-name';
const KNOWN_OF_METADATA = ['name', 'generateName', 'namespace', 'labels'];
const KNOWN_OF_OWNER = [
  ...COUNTS,
  ...['template', 'replicatedJobs', 'backoffLimit', 'activeDeadlineSeconds', 'completionMode', 'suspend', 'containers'],
  ...['failurePolicy', 'ttlSecondsAfterFinished', 'jobTemplate', 'schedule', 'selector', 'serviceName', 'network'],
  // Keys of pods, which putPods reads.
  ...[
    'initContainers',
    'volumes',
    'nodeSelector',
    'tolerations',
    'restartPolicy',
    'serviceAccountName',
    'priorityClassName',
  ],
];
