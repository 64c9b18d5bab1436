import type { V1ConfigMap, V1Job, V1PodSpec, V1Service } from '@kubernetes/client-node';
import { AGENT_FOLDER } from '../../../domain/machine-kinds/kubernetes/pod-fields.js';
import { objectName, CONTAINER, type KubernetesPlan } from '../../../domain/machine-kinds/kubernetes/words.js';
import {
  agentConfigMap,
  agentEnv,
  GANG_ANNOTATION,
  GRACE_SECONDS,
  mountsOf,
  ownLabels,
  podSpecOf,
  resourcesOf,
  UNREACHABLE,
} from './pod-template.js';

export const JOB_NAME_LABEL = 'batch.kubernetes.io/job-name';
export const INDEX_LABEL = 'batch.kubernetes.io/job-completion-index';

export interface Manifest {
  readonly configMap: V1ConfigMap;
  readonly service: V1Service;
  readonly job: V1Job;
}

/** The objects of one slice. @throws RangeError if the ownership does not fit into labels */
export function manifestOf(plan: KubernetesPlan): Manifest {
  const { ref, ownership, pods, agentHours } = plan;
  const name = objectName(ref.name);
  const own = ownLabels(ref, ownership);
  const metadata = { name, namespace: ref.namespace, labels: own };
  return {
    configMap: agentConfigMap(metadata),
    service: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      // Names of pods (`NAME-0.NAME`) resolve as soon as the pods have addresses.
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
        // A pod is never replaced; a new slice is made instead.
        backoffLimit: 0,
        podReplacementPolicy: 'Failed',
        // The pod that shows the reason is soon gone; with this rule the Job itself says that it was disrupted.
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
  const { tpu } = pods;
  const { nodeSelector, tolerations, ...spec } = podSpecOf(name, pods);
  return {
    ...spec,
    subdomain: name,
    terminationGracePeriodSeconds: GRACE_SECONDS,
    nodeSelector: {
      ...(tpu && {
        'cloud.google.com/gke-tpu-accelerator': tpu.accelerator,
        'cloud.google.com/gke-tpu-topology': tpu.topology,
      }),
      ...nodeSelector,
    },
    tolerations: [...(tolerations ?? []), ...UNREACHABLE],
    containers: [
      {
        name: CONTAINER,
        image: pods.image,
        command: ['/bin/sh', `${AGENT_FOLDER}/agent`],
        env: agentEnv(agentHours),
        resources: resourcesOf(pods, tpu && { 'google.com/tpu': String(tpu.chips) }),
        volumeMounts: mountsOf(pods),
      },
    ],
  };
}
