import { gkeSlice } from '../../machine-kinds/kubernetes/size.js';
import { shellQuote } from '../../shell-quote.js';
import { isMapping, type Mapping, valueAt } from '../plain-tree.js';
import {
  askedOf,
  GKE,
  podSizeOf,
  keysBeside,
  listOf,
  mappingOf,
  shownOf,
  textOf,
  Translation,
  OPEN,
} from './translation.js';
import { rayLines } from './ray.js';
import {
  KubeletVariables,
  type Piece,
  plainText,
  quotedWord,
  namesIn,
  type OfPod,
  peersIn,
  putPodVariables,
  noteVariables,
} from './variables.js';

/**
 * The lines of a job file that stand for a manifest of Kubernetes (docs/kubernetes.md).
 * @param beside other manifests of its file
 */
export function manifestLines(manifest: Mapping, beside: readonly Mapping[] = []): readonly string[] {
  if (isOfRay(manifest)) return rayLines(manifest);
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
  if (isPodSpec(spec)) return [{ name: kind, pod: spec, slices: 1, policy: policyOf(spec) }];
  if (isMapping(spec['jobTemplate'])) return podSetsOf({ ...mappingOf(spec['jobTemplate']), kind });
  const replicated = listOf(spec['replicatedJobs']).filter(isMapping);
  if (replicated.length > 0) return replicated.flatMap(ofReplicatedJob);
  const byRole = Object.entries(spec).find(([key]) => key.endsWith('ReplicaSpecs'))?.[1];
  if (isMapping(byRole)) return Object.entries(byRole).flatMap(([name, role]) => ofRole(name, mappingOf(role)));
  return ofTemplate(spec, { name: kind, slices: 1 });
}

const isPodSpec = (spec: Mapping): boolean => Array.isArray(spec['containers']);

/** A role of a Kubeflow job has `restartPolicy` beside its pods. The operator's default differs by the job's kind. */
const ofRole = (name: string, role: Mapping): readonly PodSet[] =>
  ofTemplate(role, { name, slices: 1 }).map((set) => ({
    ...set,
    policy: textOf(role['restartPolicy'] ?? set.pod['restartPolicy']),
  }));

const policyOf = (pod: Mapping): string => textOf(pod['restartPolicy']) ?? 'Always';

function ofReplicatedJob(job: Mapping): readonly PodSet[] {
  const replicas = job['replicas'];
  const slices = typeof replicas === 'number' ? replicas : 1;
  return ofTemplate(mappingOf(valueAt(job, ['template', 'spec'])), { name: shownOf(job['name']), slices });
}

const COUNTS = ['completions', 'parallelism', 'replicas'] as const;

function ofTemplate(owner: Mapping, set: { readonly name: string; readonly slices: number }): readonly PodSet[] {
  const pod = mappingOf(valueAt(owner, ['template', 'spec']));
  const pods = COUNTS.map((key) => owner[key]).find((count) => typeof count === 'number');
  return isPodSpec(pod) ? [{ ...set, pod, pods, policy: policyOf(pod) }] : [];
}

/** Carries over the keys of the Job, JobSet or other owner of the pods, except the number of pods. */
function putOwner(into: Translation, manifest: Mapping): void {
  const written = mappingOf(manifest['spec']);
  const spec = { ...written, ...mappingOf(valueAt(written, ['jobTemplate', 'spec'])) };
  const [jobSet] = listOf(spec['replicatedJobs']).filter(isMapping);
  const job = jobSet === undefined ? spec : mappingOf(valueAt(jobSet, ['template', 'spec']));
  const isJob = jobSet !== undefined || ['Job', 'CronJob'].includes(shownOf(manifest['kind']));
  const run = mappingOf(spec['runPolicy']);
  const given = valueAt(spec, ['failurePolicy', 'maxRestarts']) ?? job['backoffLimit'] ?? run['backoffLimit'];
  const restarts = given ?? (isJob ? USUAL_RESTARTS : undefined);
  if (typeof restarts === 'number' && restarts > 0)
    into.set('retries.task', restarts, given === undefined ? 'the backoffLimit of a Job that names none' : undefined);
  const policies = new Set(podSetsOf(manifest).flatMap(({ policy }) => policy ?? []));
  policies.delete('Never');
  if (restarts === undefined)
    into.lose(
      'retries: {task: N} runs a failed command again',
      ...[...policies].map((policy) => `restartPolicy ${policy}`),
    );
  const { completions, parallelism } = job;
  const seconds = job['activeDeadlineSeconds'] ?? run['activeDeadlineSeconds'];
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
  into.lose('', ...keysBeside(KNOWN_OF_RUN, run, 'runPolicy.'));
  const roles = Object.keys(spec).filter((key) => key.endsWith('ReplicaSpecs'));
  into.lose('', ...keysBeside([...KNOWN_OF_OWNER, ...roles], jobSet === undefined ? spec : { ...spec, ...job }));
}

/** Default of a Job's `backoffLimit` (kubernetes.io/docs/concepts/workloads/controllers/job). */
const USUAL_RESTARTS = 6;
const QUEUE = 'kueue.x-k8s.io/queue-name';
const KNOWN_OF_METADATA = ['name', 'generateName', 'namespace', 'labels'];
const KNOWN_OF_RUN = ['backoffLimit', 'activeDeadlineSeconds', 'ttlSecondsAfterFinished', 'cleanPodPolicy', 'suspend'];
const KNOWN_OF_OWNER = [
  'runPolicy',
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

/** A set of equal pods of a manifest. */
interface PodSet {
  /** Its name, if the manifest has several sets. */
  readonly name: string;
  readonly pod: Mapping;
  /** Pods of one slice, if the manifest says how many. */
  readonly pods?: number | undefined;
  readonly slices: number;
  /** `restartPolicy` as the file has it, or Kubernetes' own default. Undefined: neither is known. */
  readonly policy?: string | undefined;
  /** The name of the manifest, by which its pods find one another. */
  readonly owner?: string;
}

/** Writes the section `kubernetes` and the command for the pods of a manifest. */
function putPods(into: Translation, set: PodSet): void {
  const { pod } = set;
  const [container, ...others] = listOf(pod['containers']).map(mappingOf);
  if (container === undefined) return;
  const named = [...others, ...listOf(pod['initContainers'])].map(
    (one) => `container ${shownOf(mappingOf(one)['name'])}`,
  );
  into.lose('a pod of a job has one container', ...named);
  const image = textOf(container['image']) ?? OPEN;
  if (image.includes('$')) into.set('kubernetes.image', OPEN, `${image}, with the names filled in`);
  else into.set('kubernetes.image', image);
  putDevices(into, set, container);
  putPlacement(into, pod);
  putMounts(into, pod, container);
  const ofPod = { variables: new KubeletVariables(container), owner: set.owner ?? '' };
  putPodVariables(into, container, ofPod);
  putCommand(into, container, ofPod);
  into.lose('', ...keysBeside(KNOWN_OF_POD, pod), ...keysBeside(KNOWN_OF_CONTAINER, container));
}

const KNOWN_OF_POD = [
  ...['containers', 'initContainers', 'nodeSelector', 'tolerations', 'serviceAccountName', 'serviceAccount', 'volumes'],
  ...['priorityClassName', 'restartPolicy', 'terminationGracePeriodSeconds', 'subdomain', 'activeDeadlineSeconds'],
];
const KNOWN_OF_CONTAINER = [
  ...['name', 'image', 'command', 'args', 'env', 'envFrom', 'resources', 'volumeMounts', 'ports', 'imagePullPolicy'],
];

/** Writes the accelerator: on GKE, node selectors name TPUs, and a limit counts GPUs. */
function putDevices(into: Translation, { pod, pods }: PodSet, container: Mapping): void {
  const asked = askedOf(container);
  const selector = mappingOf(pod['nodeSelector']);
  const [accelerator, topology] = ['tpu-accelerator', 'tpu-topology'].map((key) => textOf(selector[`${GKE}${key}`]));
  const chips = textOf(asked['google.com/tpu']);
  if (accelerator !== undefined || chips !== undefined) {
    into.set('kubernetes.tpu', { accelerator: accelerator ?? OPEN, topology: topology ?? OPEN });
    compareChips(into, { type: gkeSlice(accelerator ?? '', topology ?? ''), pods: pods ?? 1, chips: Number(chips) });
  } else if (pods !== undefined && pods > 1) into.set('kubernetes.workers', pods);
  for (const [key, value] of Object.entries(podSizeOf(pod, container))) into.set(`kubernetes.${key}`, value);
  into.lose('', ...keysBeside(['google.com/tpu', 'nvidia.com/gpu', 'cpu', 'memory'], asked, 'resources.'));
}

interface Chips {
  readonly type: ReturnType<typeof gkeSlice>;
  readonly pods: number;
  /** Number for one pod; NaN if the manifest does not say. */
  readonly chips: number;
}

/** Notes a manifest whose number of chips does not fit its topology: one of the two is a mistake, and the topology counts. */
function compareChips(into: Translation, { type, pods, chips }: Chips): void {
  if (type === undefined || Number.isNaN(chips) || (pods * chips === type.chips && pods === type.hosts)) return;
  const wanted = `${type.hosts} ${type.hosts === 1 ? 'pod' : 'pods'} with ${type.chips / type.hosts} each`;
  into.note(
    `its pods ask for ${pods} x ${chips} chips, and ${type.topology} is a ${type.type}: ${wanted}; the topology counts`,
  );
}

function putPlacement(into: Translation, pod: Mapping): void {
  const selector = Object.entries(mappingOf(pod['nodeSelector'])).filter(
    ([key]) => !/gke-(tpu-|accelerator)/.test(key),
  );
  if (selector.length > 0) into.set('kubernetes.node_selector', Object.fromEntries(selector));
  const tolerations = listOf(pod['tolerations']).map((one) =>
    Object.fromEntries(Object.entries(mappingOf(one)).filter(([key]) => TOLERATION_KEYS.includes(key))),
  );
  if (tolerations.length > 0) into.set('kubernetes.tolerations', tolerations);
  const [account, priority] = [
    textOf(pod['serviceAccountName'] ?? pod['serviceAccount']),
    textOf(pod['priorityClassName']),
  ];
  if (account !== undefined && account !== 'default') into.set('kubernetes.service_account', account);
  if (priority !== undefined) into.set('kubernetes.priority_class', priority);
  const { terminationGracePeriodSeconds: grace, activeDeadlineSeconds: seconds } = pod;
  if (typeof grace === 'number' && grace > 0) into.set('grace', grace);
  if (typeof seconds === 'number') into.set('timeouts.run', `${seconds}s`);
}

const TOLERATION_KEYS = ['key', 'operator', 'value', 'effect'];

function putCommand(into: Translation, container: Mapping, { variables, owner }: OfPod): void {
  const words = [...listOf(container['command']), ...listOf(container['args'])].map((word) =>
    variables.read(shownOf(word)),
  );
  const line = lineOf(words);
  const pieces = words.flat();
  if (words.length === 0) into.set('command.run', OPEN, 'what the image starts by itself');
  else if (line === undefined) into.set('command.run', OPEN, `the command, with ${namesIn(pieces)} filled in`);
  else into.script('command.run', line, 'the command');
  const opened = pieces.flatMap((piece) => ('open' in piece ? [`$(${piece.open})`] : []));
  into.lose('the pod of Kubernetes has it', ...opened);
  const texts = words.map((word) => plainText(word) ?? '');
  noteVariables(into, 'pods', ...texts);
  const [peer] = texts.flatMap((word) => peersIn(word, owner));
  if (peer !== undefined)
    into.note(`${peer} is a pod of the manifest: the first host is in $JOBCTL_COORDINATOR_ADDRESS`);
}

/** The command line. A shell's script is taken as it is, other words are quoted each. Undefined if a part is not known. */
function lineOf(words: readonly (readonly Piece[])[]): string | undefined {
  const [shell = '', option = '', ...rest] = words.map(plainText);
  const isScript = /(^|\/)(ba)?sh$/.test(shell) && /^-[a-z]*c$/.test(option) && words.length === 3;
  if (isScript && rest[0] === undefined) return undefined;
  if (words.flat().some((piece) => 'open' in piece)) return undefined;
  if (!isScript)
    return words
      .map((word) => {
        const text = plainText(word);
        return text === undefined ? quotedWord(word) : shellQuote(text);
      })
      .join(' ');
  const set = option.slice(1).replace('c', '');
  return set === '' ? rest[0] : `set -${set}\n${rest[0]}`;
}

/** Writes the volumes that a container mounts. A volume without a counterpart is reported by its path in the container. */
function putMounts(into: Translation, pod: Mapping, container: Mapping): void {
  const volumes: Mapping[] = [];
  const secrets: Mapping[] = [];
  for (const mount of listOf(container['volumeMounts']).map(mappingOf)) {
    const path = textOf(mount['mountPath']);
    const volume = mappingOf(listOf(pod['volumes']).find((one) => mappingOf(one)['name'] === mount['name']));
    const source = Object.keys(volume).find((key) => key !== 'name') ?? 'no volume';
    const read = READ[source]?.(mappingOf(volume[source]));
    const shown = `volume ${path ?? shownOf(mount['name'])}`;
    if (path === undefined || read === undefined || mount['subPath'] !== undefined)
      into.lose(INSTEAD[source] ?? '', shown);
    else if (source === 'secret') secrets.push({ ...read, mount_path: path });
    else volumes.push({ mount_path: path, ...read, ...(mount['readOnly'] === true && { read_only: true }) });
  }
  if (volumes.length > 0) into.set('kubernetes.volumes', volumes);
  if (secrets.length > 0) into.set('kubernetes.secrets', secrets);
}

const READ: Readonly<Record<string, (source: Mapping) => Mapping | undefined>> = {
  emptyDir: ({ medium, sizeLimit }) => {
    const size = textOf(sizeLimit);
    const keys = { ...(medium === 'Memory' && { medium: 'memory' }), ...(size !== undefined && { size }) };
    return { empty_dir: Object.keys(keys).length === 0 ? true : keys };
  },
  hostPath: ({ path }) => ({ host_path: path }),
  persistentVolumeClaim: ({ claimName }) => ({ claim: claimName }),
  secret: ({ secretName, items }) => (items === undefined ? { name: secretName } : undefined),
};

const INSTEAD: Readonly<Record<string, string>> = {
  configMap: 'bring its files by bundle or files',
  csi: 'a PersistentVolumeClaim of the same driver is volumes: [{claim: NAME, mount_path: ..}]',
};
