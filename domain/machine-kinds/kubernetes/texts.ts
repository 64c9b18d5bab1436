import type { NoFlagKey } from '../kind.js';
import { placeOfAccount } from './plan.js';
import type { PodFields, PodsRef } from './words.js';

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
export const podFlags = (section: string): Readonly<Record<'zone' | 'pricing', NoFlagKey>> => ({
  zone: {
    why: 'pods are placed by their cluster',
    instead: `${section}.context names it, and ${section}.node_selector chooses nodes, such as topology.kubernetes.io/zone: us-central1-a`,
  },
  pricing: {
    why: "the nodes of pods are bought by the cluster's owner",
    instead: `${section}.node_selector chooses nodes, such as cloud.google.com/gke-spot: 'true' on GKE`,
  },
});
