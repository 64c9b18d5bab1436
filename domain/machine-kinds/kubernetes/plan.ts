import { contentHash } from '../../content-hash.js';
import type { Ownership } from '../../slice.js';
import { type Choice, choiceIf, entryChoices } from '../../choices.js';
import type { Holding, SlicePlace, NoFlagKey } from '../kind.js';
import {
  DEFAULT_CLUSTER,
  type KubernetesPlan,
  type KubernetesSection,
  type PodsRef,
  type PodFields,
  type Toleration,
} from './words.js';

/** The Indexed Job of one generation of one slice. */
export function podsPlan(spec: KubernetesSection & Holding, place: SlicePlace): KubernetesPlan {
  const { context, namespace, ...pods } = spec.kubernetes;
  return {
    ref: refIn('kubernetes', { ...(context === undefined ? {} : { context }), namespace }, place.name),
    ownership: ownershipOf(place, pods),
    pods,
    agentHours: agentHours(spec),
  };
}

/** @param pods fields whose change makes it another slice */
export const ownershipOf = ({ owner, job, run, generation }: SlicePlace, pods: object): Ownership => ({
  ...{ owner, job, run, generation },
  spec: contentHash(pods).slice(0, 16),
});

/**
 * Least life of idle pods: a week, which is longer than the defaults of `keep` and `timeouts.stop`. Without workers, nothing
 * else frees the pods' resources.
 */
const LEAST_AGENT_HOURS = 168;
/**
 * Life of idle pods of a job without a command, which holds its pods until it is cancelled: a year. No job is held so long by
 * mistake.
 */
const HELD_HOURS = 365 * 24;
/** Added to the longest hold, so that jobctl's own clean-up comes first. */
const SPARE_HOURS = 24;

/** Hours after which idle pods end by themselves: more than jobctl itself keeps them while nothing runs on them. */
export function agentHours({ command, keep, timeouts }: Holding): number {
  if (command === undefined) return HELD_HOURS;
  const idleSeconds = Math.max(keep?.seconds ?? 0, timeouts?.stop ?? 0);
  return Math.max(LEAST_AGENT_HOURS, Math.ceil(idleSeconds / 3600) + SPARE_HOURS);
}

export interface KubernetesPlace {
  readonly context?: string;
  readonly namespace: string;
}

export const refIn = <Kind extends string>(
  kind: Kind,
  { context, namespace }: KubernetesPlace,
  name: string,
): PodsRef & { readonly kind: Kind } => ({
  kind,
  ...(context === undefined ? {} : { context }),
  namespace,
  zone: zoneOf(context),
  name,
});

export const zoneOf = (context: string | undefined): string => context ?? DEFAULT_CLUSTER;

// A namespace has no slash, but a context may have any character. In the store an account is the last part of an object's name.

/** `CONTEXT/NAMESPACE`, the context percent-encoded and empty for the worker's default cluster. */
export const accountIn = ({ context = '', namespace }: KubernetesPlace): string =>
  `${encodeURIComponent(context)}/${namespace}`;

/** @throws RangeError for a text that `accountIn` does not make */
export function placeOfAccount(account: string): KubernetesPlace {
  const [context = '', namespace = '', ...rest] = account.split('/');
  if (namespace === '' || rest.length > 0)
    throw new RangeError(`'${account}' is no account of Kubernetes: wanted CONTEXT/NAMESPACE, or /NAMESPACE`);
  return { ...(context === '' ? {} : { context: decodeURIComponent(context) }), namespace };
}

/** Sentences for people about places and pods, shared by all kinds of machines made of pods. */

const ofCluster = (context: string | undefined): string => (context === undefined ? '' : `, cluster ${context}`);

export const placeText = ({ context, namespace }: Pick<PodsRef, 'context' | 'namespace'>): string =>
  `namespace ${namespace}${ofCluster(context)}`;

export function accountText(account: string): string {
  const { context, namespace } = placeOfAccount(account);
  return `namespace ${namespace} of ${context === undefined ? "the worker's cluster" : `cluster ${context}`}`;
}

/** Rows of `jobctl validate`. */
export const placeFacts = ({
  context,
  namespace,
  gangSeconds,
}: Pick<PodFields, 'context' | 'namespace' | 'gangSeconds'>): readonly (readonly [string, string])[] => [
  ['namespace', `${namespace}${context === undefined ? " of the worker's cluster" : ofCluster(context)}`],
  ['gang timeout', `${gangSeconds} s`],
];

export const kubectlHint = ({ context, namespace }: Pick<PodsRef, 'context' | 'namespace'>, words: string): string =>
  `\`kubectl${context === undefined ? '' : ` --context ${context}`} -n ${namespace} ${words}\` shows Kubernetes' own state`;

/** The flags that say nothing about pods. */
export const podFlags = (section: string): Readonly<Record<'zone' | 'pricing' | 'adopt', NoFlagKey>> => ({
  zone: {
    why: 'pods are placed by their cluster',
    instead: `${section}.context names it, and ${section}.node_selector chooses nodes, such as topology.kubernetes.io/zone: us-central1-a`,
  },
  pricing: {
    why: "the nodes of pods are bought by the cluster's owner",
    instead: `${section}.node_selector chooses nodes, such as cloud.google.com/gke-spot: 'true' on GKE`,
  },
  adopt: {
    why: 'only a node of Cloud TPU is adopted',
    instead: `a node pool of one's own: ${section}.node_selector chooses its nodes`,
  },
});

/** Place of a job's pods, for `[allow] machines`: `kubernetes/CONTEXT/NAMESPACE`. */
export const podsPlace = (section: string, { context, namespace }: Pick<PodFields, 'context' | 'namespace'>): string =>
  [section, context ?? DEFAULT_CLUSTER, namespace].join('/');

/** A Secret of Kubernetes, for `[allow] secrets`: `CONTEXT/NAMESPACE/NAME`. */
export const secretPlace = ({ context, namespace }: Pick<PodFields, 'context' | 'namespace'>, name: string): string =>
  [context ?? DEFAULT_CLUSTER, namespace, name].join('/');

/**
 * A toleration in the form of `kubectl taint`, for `[allow] tolerations`: `KEY=VALUE:EFFECT`, or `KEY:EFFECT` for every value.
 * The words for every key and for every effect cannot be a taint's names, so only a pattern of the list allows them.
 */
function taintText({ key, value, effect }: Toleration): string {
  return `${key ?? '/every key/'}${value === undefined ? '' : `=${value}`}:${effect ?? 'every effect'}`;
}

/** A job's choices in a cluster. The namespace's own service account is not one: its rights come from the namespace. */
export function podChoices(section: string, pods: PodFields): readonly Choice[] {
  return [
    { key: 'machines', path: [section, 'namespace'], value: podsPlace(section, pods) },
    { key: 'images', path: [section, 'image'], value: pods.image },
    ...choiceIf('service_accounts', [section, 'service_account'], pods.serviceAccount),
    ...pods.secrets.map(({ name }, index): Choice => {
      return { key: 'secrets', path: [section, 'secrets', index, 'name'], value: secretPlace(pods, name) };
    }),
    ...pods.volumes.flatMap(({ claim, hostPath }, index) => [
      ...choiceIf('data_disks', [section, 'volumes', index, 'claim'], claim),
      ...choiceIf('data_disks', [section, 'volumes', index, 'host_path'], hostPath),
    ]),
    // Network policies and Services select pods by labels, as firewall rules select by tags.
    ...entryChoices('labels', [section, 'labels'], pods.labels),
    ...entryChoices('node_selectors', [section, 'node_selector'], pods.nodeSelector),
    ...pods.tolerations.map((toleration, index): Choice => {
      return { key: 'tolerations', path: [section, 'tolerations', index], value: taintText(toleration) };
    }),
    ...choiceIf('priority_classes', [section, 'priority_class'], pods.priorityClass),
  ];
}
