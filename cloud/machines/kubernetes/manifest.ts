import type { V1ConfigMap, V1Container, V1Job, V1PodSpec, V1Service, V1Volume } from '@kubernetes/client-node';
import { labelsOf } from '../../../domain/identity.js';
import { AGENT_FOLDER } from '../../../domain/machine-kinds/kubernetes/mounts.js';
import { objectName } from '../../../domain/machine-kinds/kubernetes/names.js';
import { CONTAINER, type KubernetesPlan } from '../../../domain/machine-kinds/kubernetes/words.js';
import { AGENT } from './agent.js';

/** What every object of ours carries, whichever installation made it. */
export const MANAGED_BY = 'app.kubernetes.io/managed-by';
export const JOBCTL = 'jobctl';
export const OURS = `${MANAGED_BY}=${JOBCTL}`;
/** The slice's name, which may be longer than the names of its objects. */
export const NAME_LABEL = 'jobctl-name';
/** `gangSeconds` of the request, for whoever looks at the Job. */
export const GANG_ANNOTATION = 'jobctl/gang-seconds';
export const JOB_NAME_LABEL = 'batch.kubernetes.io/job-name';
export const INDEX_LABEL = 'batch.kubernetes.io/job-completion-index';

/** The kubelet's time between TERM and KILL: the command's usual grace, and time to store what is left. */
const GRACE_SECONDS = 60;

export interface Manifest {
  readonly configMap: V1ConfigMap;
  readonly service: V1Service;
  readonly job: V1Job;
}

/** The objects of one slice. @throws RangeError for ownership that labels cannot hold */
export function manifestOf(plan: KubernetesPlan): Manifest {
  const { ref, ownership, pods, agentHours } = plan;
  const name = objectName(ref.name);
  const own = { [MANAGED_BY]: JOBCTL, ...labelsOf(ownership), [NAME_LABEL]: ref.name };
  const metadata = { name, namespace: ref.namespace, labels: own };
  return {
    configMap: { apiVersion: 'v1', kind: 'ConfigMap', metadata, immutable: true, data: { agent: AGENT } },
    service: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      // Names of pods (`NAME-0.NAME`) are known as soon as they have addresses.
      spec: { clusterIP: 'None', publishNotReadyAddresses: true, selector: { [JOB_NAME_LABEL]: name } },
    },
    job: {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: {
        ...metadata,
        labels: { ...pods.labels, ...own },
        annotations: { [GANG_ANNOTATION]: String(pods.gangSeconds) },
      },
      spec: {
        completionMode: 'Indexed',
        completions: pods.workers,
        parallelism: pods.workers,
        // A pod is never replaced: a new slice is.
        backoffLimit: 0,
        podReplacementPolicy: 'Failed',
        // The pod that tells why is soon gone; with this rule the Job itself says that it was disrupted.
        podFailurePolicy: {
          rules: [{ action: 'FailJob', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }],
        },
        template: { metadata: { labels: { ...pods.labels, ...own } }, spec: podSpec(name, pods, agentHours) },
      },
    },
  };
}

type Pods = KubernetesPlan['pods'];

function podSpec(name: string, pods: Pods, agentHours: number): V1PodSpec {
  const { nodeSelector, tpu, serviceAccount, priorityClass } = pods;
  return {
    restartPolicy: 'Never',
    subdomain: name,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: GRACE_SECONDS,
    nodeSelector: {
      ...(tpu && {
        'cloud.google.com/gke-tpu-accelerator': tpu.accelerator,
        'cloud.google.com/gke-tpu-topology': tpu.topology,
      }),
      ...nodeSelector,
    },
    tolerations: [...pods.tolerations, ...UNREACHABLE],
    ...(serviceAccount !== undefined && { serviceAccountName: serviceAccount }),
    ...(priorityClass !== undefined && { priorityClassName: priorityClass }),
    containers: [container(pods, agentHours)],
    volumes: [
      { name: AGENT_VOLUME, configMap: { name, defaultMode: 0o555 } },
      ...pods.secrets.map((secret, index) => ({
        name: `secret-${index}`,
        secret: { secretName: secret.name, defaultMode: 0o400 },
      })),
      ...pods.volumes.map(volume),
    ],
  };
}

const AGENT_VOLUME = 'jobctl-agent';

/**
 * Without these, Kubernetes deletes the pods of a node that does not answer for 5 min. Unknown is not dead: such a node may come
 * back with its command running; when its object is deleted, its pods are too.
 */
const UNREACHABLE = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].map((key) => ({
  key,
  operator: 'Exists',
  effect: 'NoExecute',
}));

function container(pods: Pods, agentHours: number): V1Container {
  const { cpus, memory, gpus, tpu } = pods;
  const resources = {
    ...(cpus !== undefined && { cpu: cpus }),
    ...(memory !== undefined && { memory }),
    ...(gpus && { [gpus.resource]: String(gpus.count) }),
    ...(tpu && { 'google.com/tpu': String(tpu.chips) }),
  };
  return {
    name: CONTAINER,
    image: pods.image,
    command: ['/bin/sh', `${AGENT_FOLDER}/agent`],
    env: [
      { name: 'JOBCTL_AGENT_GRACE_SECONDS', value: String(GRACE_SECONDS) },
      { name: 'JOBCTL_AGENT_HOURS', value: String(agentHours) },
    ],
    resources: { requests: resources, limits: resources },
    volumeMounts: [
      { name: AGENT_VOLUME, mountPath: AGENT_FOLDER, readOnly: true },
      ...pods.secrets.map(({ mountPath }, index) => ({ name: `secret-${index}`, mountPath, readOnly: true })),
      ...pods.volumes.map(({ mountPath, readOnly }, index) => ({
        name: `volume-${index}`,
        mountPath,
        ...(readOnly && { readOnly }),
      })),
    ],
  };
}

function volume({ claim, emptyDir, hostPath, readOnly }: Pods['volumes'][number], index: number): V1Volume {
  const name = `volume-${index}`;
  if (claim !== undefined) return { name, persistentVolumeClaim: { claimName: claim, ...(readOnly && { readOnly }) } };
  if (hostPath !== undefined) return { name, hostPath: { path: hostPath } };
  const { medium, size } = emptyDir ?? {};
  return {
    name,
    emptyDir: { ...(medium === 'memory' && { medium: 'Memory' }), ...(size !== undefined && { sizeLimit: size }) },
  };
}
