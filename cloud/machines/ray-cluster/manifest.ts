import type { V1ConfigMap, V1ObjectMeta, V1PodTemplateSpec } from '@kubernetes/client-node';
import { AGENT_FOLDER } from '../../../domain/machine-kinds/kubernetes/mounts.js';
import { wholeCpus } from '../../../domain/machine-kinds/kubernetes/size.js';
import { CONTAINER } from '../../../domain/machine-kinds/kubernetes/words.js';
import { rayClusterName } from '../../../domain/machine-kinds/ray-cluster/index.js';
import { isScaling, type RayClusterPlan } from '../../../domain/machine-kinds/ray-cluster/words.js';
import {
  agentConfigMap,
  agentEnv,
  GANG_ANNOTATION,
  GRACE_SECONDS,
  MACHINES_LABEL,
  mountsOf,
  ownLabels,
  podSpecOf,
  resourcesOf,
  UNREACHABLE,
} from '../kubernetes/pod-template.js';
import { HEAD, HEAD_READY } from './head-scripts.js';
import { LEASE_GATE } from './lease-gate.js';

/** Labels of KubeRay. */
export const CLUSTER_LABEL = 'ray.io/cluster';
export const NODE_TYPE_LABEL = 'ray.io/node-type';
/** `maxReplicas` as the lease counts it. */
export const MAX_ANNOTATION = 'jobctl/max-workers';

export const MACHINES = 'ray-cluster';

/** Less than the usual 30 s: a worker that Ray ends has no work, and the next one waits for its place. */
const WORKER_GRACE_SECONDS = 10;

/** The fields of `ray.io/v1` (KubeRay v1.5) that jobctl writes and reads. */
export interface RayCluster {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: V1ObjectMeta;
  readonly spec?: {
    readonly rayVersion?: string;
    readonly suspend?: boolean;
    readonly managedBy?: string;
    readonly authOptions?: { readonly mode: 'token' };
    readonly enableInTreeAutoscaling?: boolean;
    readonly autoscalerOptions?: { readonly version: 'v2'; readonly idleTimeoutSeconds: number };
    readonly headGroupSpec?: {
      readonly rayStartParams: Readonly<Record<string, string>>;
      readonly template: V1PodTemplateSpec;
    };
    readonly workerGroupSpecs?: readonly {
      readonly groupName: string;
      readonly replicas?: number;
      readonly minReplicas?: number;
      readonly maxReplicas?: number;
      readonly rayStartParams: Readonly<Record<string, string>>;
      readonly template: V1PodTemplateSpec;
    }[];
  };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly lastTransitionTime?: string;
    }[];
  };
}

export interface RayClusterManifest {
  readonly configMap: V1ConfigMap;
  readonly cluster: RayCluster;
}

/** The objects of one slice. @throws RangeError if the ownership does not fit into labels */
export function rayClusterManifest(plan: RayClusterPlan): RayClusterManifest {
  const { ref, ownership, pods } = plan;
  const { min, max, idleSeconds } = pods.workers;
  const own = { ...ownLabels(ref, ownership), [MACHINES_LABEL]: MACHINES };
  const metadata = { name: rayClusterName(ref.name), namespace: ref.namespace, labels: own };
  const labels = { ...pods.labels, ...own };
  return {
    configMap: agentConfigMap(metadata, { head: HEAD, 'head-ready': HEAD_READY }),
    cluster: {
      apiVersion: 'ray.io/v1',
      kind: 'RayCluster',
      metadata: {
        ...metadata,
        labels,
        annotations: { [GANG_ANNOTATION]: String(pods.gangSeconds), [MAX_ANNOTATION]: String(max) },
      },
      spec: {
        rayVersion: pods.rayVersion,
        authOptions: { mode: 'token' },
        ...(isScaling(pods) && {
          enableInTreeAutoscaling: true,
          autoscalerOptions: { version: 'v2', idleTimeoutSeconds: idleSeconds },
        }),
        headGroupSpec: {
          rayStartParams: { 'num-cpus': '0', ...(pods.dashboard === false && { 'include-dashboard': 'false' }) },
          template: headTemplate(plan, labels),
        },
        workerGroupSpecs: [
          {
            ...{ groupName: 'workers', replicas: min, minReplicas: min, maxReplicas: max },
            // Ray's autoscaler needs this or a CPU limit (Ray 2.60); quota counts the same number.
            rayStartParams: { 'num-cpus': String(wholeCpus(pods.workers)) },
            template: workerTemplate(plan, labels),
          },
        ],
      },
    },
  };
}

type Labels = Readonly<Record<string, string>>;

function headTemplate({ ref, pods, agentHours }: RayClusterPlan, labels: Labels): V1PodTemplateSpec {
  const { automountServiceAccountToken: isMounted, ...spec } = podSpecOf(rayClusterName(ref.name), pods);
  return {
    // Without it `ray start` becomes the first process.
    metadata: { labels: { ...labels }, annotations: { 'ray.io/overwrite-container-cmd': 'true' } },
    spec: {
      ...spec,
      // Ray's autoscaler calls the API from the head, with the account that KubeRay makes only for this RayCluster.
      ...(isMounted !== undefined && !isScaling(pods) && { automountServiceAccountToken: isMounted }),
      terminationGracePeriodSeconds: GRACE_SECONDS,
      tolerations: [...(spec.tolerations ?? []), ...UNREACHABLE],
      containers: [
        {
          name: CONTAINER,
          image: pods.image,
          command: ['/bin/sh', `${AGENT_FOLDER}/head`],
          env: agentEnv(agentHours),
          resources: resourcesOf(pods.head),
          volumeMounts: mountsOf(pods),
          readinessProbe: {
            exec: { command: ['/bin/sh', `${AGENT_FOLDER}/head-ready`] },
            periodSeconds: 2,
            timeoutSeconds: 5,
          },
          // KubeRay's default probe would kill the container, and the command with it, as soon as Ray or its dashboard is slow.
          livenessProbe: { exec: { command: ['/bin/sh', '-c', ':'] }, periodSeconds: 3600, failureThreshold: 100 },
        },
      ],
    },
  };
}

/** KubeRay and Ray provide everything else in it: the command, probes, and the address of the head. */
function workerTemplate({ ref, pods }: RayClusterPlan, labels: Labels): V1PodTemplateSpec {
  return {
    metadata: { labels: { ...labels } },
    spec: {
      ...podSpecOf(rayClusterName(ref.name), pods),
      schedulingGates: [{ name: LEASE_GATE }],
      terminationGracePeriodSeconds: WORKER_GRACE_SECONDS,
      containers: [
        { name: CONTAINER, image: pods.image, resources: resourcesOf(pods.workers), volumeMounts: mountsOf(pods) },
      ],
    },
  };
}
