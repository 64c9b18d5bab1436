import { gkeSlice } from '../../machine-kinds/kubernetes/tpu.js';
import { shellQuote } from '../../shell-quote.js';
import { type Mapping, valueAt } from '../plain-tree.js';
import { putMounts } from './mounts.js';
import { countOf, keysBeside, listOf, mappingOf, OPEN, shownOf, textOf, type Translation } from './translation.js';
import { KubeletVariables, type Piece, plainText, quotedWord } from './kubelet-variables.js';
import { namesIn, type OfPod, peersIn, putPodVariables } from './pod-variables.js';
import { noteVariables } from './variables.js';

const GKE = 'cloud.google.com/gke-';

/** A set of equal pods of a manifest. */
export interface PodSet {
  /** Its name, if the manifest has several sets. */
  readonly name: string;
  readonly pod: Mapping;
  /** Pods of one slice, if the manifest says how many. */
  readonly pods?: number | undefined;
  readonly slices: number;
  /** The name of the manifest, by which its pods find one another. */
  readonly owner?: string;
}

/** Writes the section `kubernetes` and the command for the pods of a manifest. */
export function putPods(into: Translation, set: PodSet): void {
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

/** Reads the accelerator: GKE names TPUs by node selectors, and a limit counts GPUs. */
function putDevices(into: Translation, { pod, pods }: PodSet, container: Mapping): void {
  const asked = {
    ...mappingOf(valueAt(container, ['resources', 'requests'])),
    ...mappingOf(valueAt(container, ['resources', 'limits'])),
  };
  const selector = mappingOf(pod['nodeSelector']);
  const [accelerator, topology] = ['tpu-accelerator', 'tpu-topology'].map((key) => textOf(selector[`${GKE}${key}`]));
  const chips = textOf(asked['google.com/tpu']);
  if (accelerator !== undefined || chips !== undefined) {
    into.set('kubernetes.tpu', { accelerator: accelerator ?? OPEN, topology: topology ?? OPEN });
    compareChips(into, { type: gkeSlice(accelerator ?? '', topology ?? ''), pods: pods ?? 1, chips: Number(chips) });
  } else if (pods !== undefined && pods > 1) into.set('kubernetes.workers', pods);
  const gpus = textOf(asked['nvidia.com/gpu']);
  if (gpus !== undefined && gpus !== '0') {
    into.set('kubernetes.gpus', countOf(gpus) ?? OPEN);
    into.set('kubernetes.gpu_type', textOf(selector[`${GKE}accelerator`])?.replace(/^nvidia-(tesla-)?/, '') ?? OPEN);
  }
  for (const [key, of] of [
    ['cpus', 'cpu'],
    ['memory', 'memory'],
  ] as const) {
    const value = textOf(asked[of]);
    if (value !== undefined) into.set(`kubernetes.${key}`, /^\d+$/.test(value) ? Number(value) : value);
  }
  into.lose('', ...keysBeside(['google.com/tpu', 'nvidia.com/gpu', 'cpu', 'memory'], asked, 'resources.'));
}

interface Chips {
  readonly type: ReturnType<typeof gkeSlice>;
  readonly pods: number;
  /** Number for one pod; NaN if the manifest does not say. */
  readonly chips: number;
}

/** Notes a manifest whose chips and topology differ: one of both is a slip, and the topology decides. */
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

/** A script for bash is the command itself; other words are quoted one by one. Undefined if a part of it is not known. */
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
