import type { V1ConfigMap, V1Container, V1ObjectMeta, V1PodSpec, V1Volume } from '@kubernetes/client-node';
import { labelsOf } from '../../../domain/identity.js';
import { AGENT_FOLDER } from '../../../domain/machine-kinds/kubernetes/mounts.js';
import type { PodFields, PodSize, PodsRef } from '../../../domain/machine-kinds/kubernetes/words.js';
import type { Ownership } from '../../../domain/slice.js';
import { AGENT } from './agent.js';

/** Parts of pods and objects that all kinds of machines made of pods share. */

/** A label of every object that jobctl makes, in any installation. */
export const MANAGED_BY = 'app.kubernetes.io/managed-by';
export const JOBCTL = 'jobctl';
export const OURS = `${MANAGED_BY}=${JOBCTL}`;
/** The slice's name, which may be longer than the names of its objects. */
export const NAME_LABEL = 'jobctl-name';
/** The kind of machines that an object belongs to, if it is not an Indexed Job. */
export const MACHINES_LABEL = 'jobctl-machines';
/** `gangSeconds` of the request, readable on the owner of the pods. */
export const GANG_ANNOTATION = 'jobctl/gang-seconds';

/** The kubelet's time between TERM and KILL: the command's usual grace, and time to store the rest of its output. */
export const GRACE_SECONDS = 60;

/** @throws RangeError if the ownership does not fit into labels */
export const ownLabels = (ref: Pick<PodsRef, 'name'>, ownership: Ownership): Record<string, string> => ({
  [MANAGED_BY]: JOBCTL,
  ...labelsOf(ownership),
  [NAME_LABEL]: ref.name,
});

/** @param more scripts beside the agent, by their names */
export const agentConfigMap = (metadata: V1ObjectMeta, more: Readonly<Record<string, string>> = {}): V1ConfigMap => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata, immutable: true },
  data: { agent: AGENT, ...more },
});

const AGENT_VOLUME = 'jobctl-agent';

/**
 * Without these tolerations, Kubernetes deletes the pods of a node that does not answer for 5 min. Unknown is not dead: such a
 * node may return with its command running. If the node's object is deleted, its pods are too.
 */
export const UNREACHABLE = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].map((key) => ({
  key,
  operator: 'Exists',
  effect: 'NoExecute',
}));

type Fields = Omit<PodFields, 'context' | 'namespace'>;

/** @param configMap that contains the agent */
export function podSpecOf(
  configMap: string,
  { nodeSelector, tolerations, serviceAccount, priorityClass, secrets, volumes }: Fields,
): Omit<V1PodSpec, 'containers'> {
  return {
    restartPolicy: 'Never',
    enableServiceLinks: false,
    nodeSelector: { ...nodeSelector },
    tolerations: [...tolerations],
    // A job without an account does not need the API, and the namespace's default account may have rights for others.
    ...(serviceAccount === undefined
      ? { automountServiceAccountToken: false }
      : { serviceAccountName: serviceAccount }),
    ...(priorityClass !== undefined && { priorityClassName: priorityClass }),
    volumes: [
      { name: AGENT_VOLUME, configMap: { name: configMap, defaultMode: 0o555 } },
      ...secrets.map((secret, index) => ({
        name: `secret-${index}`,
        secret: { secretName: secret.name, defaultMode: 0o400 },
      })),
      ...volumes.map(volume),
    ],
  };
}

export const mountsOf = ({ secrets, volumes }: Fields): NonNullable<V1Container['volumeMounts']> => [
  { name: AGENT_VOLUME, mountPath: AGENT_FOLDER, readOnly: true },
  ...secrets.map(({ mountPath }, index) => ({ name: `secret-${index}`, mountPath, readOnly: true })),
  ...volumes.map(({ mountPath, readOnly }, index) => ({
    name: `volume-${index}`,
    mountPath,
    ...(readOnly && { readOnly }),
  })),
];

export const agentEnv = (agentHours: number): NonNullable<V1Container['env']> => [
  { name: 'JOBCTL_AGENT_GRACE_SECONDS', value: String(GRACE_SECONDS) },
  { name: 'JOBCTL_AGENT_HOURS', value: String(agentHours) },
];

/** The same values as request and limit. @param more devices beside GPUs */
export function resourcesOf({ cpus, memory, gpus }: PodSize, more: Readonly<Record<string, string>> = {}) {
  const all: Record<string, string> = {
    ...(cpus !== undefined && { cpu: cpus }),
    ...(memory !== undefined && { memory }),
    ...(gpus && { [gpus.resource]: String(gpus.count) }),
    ...more,
  };
  return { requests: all, limits: all };
}

function volume({ claim, emptyDir, hostPath, readOnly }: Fields['volumes'][number], index: number): V1Volume {
  const name = `volume-${index}`;
  if (claim !== undefined) return { name, persistentVolumeClaim: { claimName: claim, ...(readOnly && { readOnly }) } };
  if (hostPath !== undefined) return { name, hostPath: { path: hostPath } };
  const { medium, size } = emptyDir ?? {};
  return {
    name,
    emptyDir: { ...(medium === 'memory' && { medium: 'Memory' }), ...(size !== undefined && { sizeLimit: size }) },
  };
}
