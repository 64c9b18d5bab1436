import { contentHash } from '../../content-hash.js';
import type { SlicePlace } from '../kind.js';
import { DEFAULT_CLUSTER, type KubernetesPlan, type KubernetesRef, type KubernetesSection } from './words.js';

/** The Indexed Job of one generation of one slice. */
export function podsPlan({ kubernetes }: KubernetesSection, place: SlicePlace): KubernetesPlan {
  const { context, namespace, ...pods } = kubernetes;
  return {
    ref: refIn({ ...(context === undefined ? {} : { context }), namespace }, place.name),
    ownership: {
      owner: place.owner,
      job: place.job,
      run: place.run,
      generation: place.generation,
      spec: contentHash(pods).slice(0, 16),
    },
    pods,
  };
}

export interface KubernetesPlace {
  readonly context?: string;
  readonly namespace: string;
}

export const refIn = ({ context, namespace }: KubernetesPlace, name: string): KubernetesRef => ({
  kind: 'kubernetes',
  ...(context === undefined ? {} : { context }),
  namespace,
  zone: zoneOf(context),
  name,
});

export const zoneOf = (context: string | undefined): string => context ?? DEFAULT_CLUSTER;

// A namespace has no slash; a context may have any character. In the store an account is the last part of an object's name.

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
