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
