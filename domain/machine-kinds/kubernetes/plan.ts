import { contentHash } from '../../content-hash.js';
import type { Ownership } from '../../slice.js';
import type { Holding, SlicePlace } from '../kind.js';
import { DEFAULT_CLUSTER, type KubernetesPlan, type KubernetesSection, type PodsRef } from './words.js';

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

/** A week: longer than `keep` and `timeouts.stop` without a time. Without workers, nothing else frees the pods' resources. */
const LEAST_AGENT_HOURS = 168;
/** Longer than a slice is held by mistake. */
const HELD_HOURS = 365 * 24;
/** Lets jobctl's own clean-up come first. */
const SPARE_HOURS = 24;

/** Longer than jobctl itself keeps the job's pods while nothing runs on them. */
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
