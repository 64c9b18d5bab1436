import { type Choice, choiceIf, entryChoices } from '../../choices.js';
import { DEFAULT_CLUSTER, type PodFields, type Toleration } from './words.js';

/** Place of a job's pods, for `[allow] machines`: `kubernetes/CONTEXT/NAMESPACE`. */
export const podsPlace = (section: string, { context, namespace }: Pick<PodFields, 'context' | 'namespace'>): string =>
  [section, context ?? DEFAULT_CLUSTER, namespace].join('/');

/** A Secret of Kubernetes, for `[allow] secrets`: `CONTEXT/NAMESPACE/NAME`. */
export const secretPlace = ({ context, namespace }: Pick<PodFields, 'context' | 'namespace'>, name: string): string =>
  [context ?? DEFAULT_CLUSTER, namespace, name].join('/');

/**
 * A toleration in the form of `kubectl taint`, for `[allow] tolerations`: `KEY=VALUE:EFFECT`, or `KEY:EFFECT` for every value.
 * The words for every key and every effect cannot be names in a taint, so only a pattern of the same width allows them.
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
