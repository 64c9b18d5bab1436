import type { V1ConfigMap, V1ObjectMeta, V1PodTemplateSpec } from '@kubernetes/client-node';
import { AGENT_FOLDER } from '../../../domain/machine-kinds/kubernetes/pod-fields.js';
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
import { apiFailureOf, isNotFound } from '../kubernetes/api-failure.js';
import type { Cluster } from '../kubernetes/cluster.js';
import type { Observation, SeenPod } from '../kubernetes/observation.js';

/** Labels of KubeRay. */
export const CLUSTER_LABEL = 'ray.io/cluster';
export const NODE_TYPE_LABEL = 'ray.io/node-type';
/** `maxReplicas` as the lease counts it. */
export const MAX_ANNOTATION = 'jobctl/max-workers';

export const MACHINES = 'ray-cluster';

/**
 * Grace of a worker's pod. It is less than the usual 30 s, since a worker that Ray ends has no work, and the next one waits for
 * its place.
 */
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

interface RayClusterManifest {
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

/** Ray's own processes on the head, beside jobctl's agent (docs/adr/0069). */

/** Created when Ray has ended, with its exit code. Ray itself needs /tmp, so the folder exists. */
const ENDED = '/tmp/jobctl-ray-ended';

/** Created when Ray has answered for the first time. */
const READY = '/tmp/jobctl-ray-ready';

/** The beginning of the probe's event for a head on which Ray has ended. */
export const RAY_ENDED = 'jobctl: Ray has ended on the head';

/**
 * The first process of the head, in POSIX sh. KubeRay's command becomes a child of the agent, so that its end does not end the
 * pod. KubeRay runs it in bash with the same limit of open files. If Ray ends after it was ready once, the head has lost what the
 * job's command works with: the agent is told to end, and the run ends with it.
 */
const HEAD = `#!/bin/sh
# jobctl: starts Ray as KubeRay would, and stays as jobctl's agent.
(
  ulimit -n 65536 2> /dev/null
  bash -c "$KUBERAY_GEN_RAY_START_CMD"
  echo "${RAY_ENDED} with code $?" > ${ENDED}
  cat ${ENDED}
  [ -f ${READY} ] || exit 0
  { cat ${ENDED} > /dev/termination-log; } 2> /dev/null
  kill -s TERM 1
) &
exec /bin/sh /jobctl/agent
`;

/** Checks whether Ray's first service (GCS) answers. Its output is shown as an event of the pod. */
const HEAD_READY = `#!/bin/sh
[ ! -f ${ENDED} ] || { cat ${ENDED}; exit 1; }
bash -c 'exec 3<> "/dev/tcp/127.0.0.1/\${RAY_PORT:-6379}"' 2> /dev/null && { true > ${READY}; exit 0; }
echo "jobctl: Ray does not answer on the head yet"
exit 1
`;

/**
 * The scheduling gate with which every worker is made. A worker holds no resources until jobctl removes the gate ("Pod Scheduling
 * Readiness", on since Kubernetes 1.27). KubeRay counts a worker that it deletes as gone at once, and would make the next one
 * beside it, which would exceed the lease (docs/adr/0069).
 */
export const LEASE_GATE = 'jobctl/lease';

/**
 * Workers for which the lease has a place, the oldest first. A worker keeps its place until it is seen gone or its containers
 * have ended. The order is always the same, so a late look opens no gate that an earlier one left closed.
 */
export function workersWithPlace({ job, pods }: Observation): readonly SeenPod[] {
  if (job === 'not-found' || job.isDeleting || job.mostWorkers === undefined) return [];
  const workers = pods.filter(({ jobUid, index }) => jobUid === job.uid && index === undefined);
  const placed = workers.filter(({ gate, phase }) => gate === undefined && phase !== 'Succeeded' && phase !== 'Failed');
  const waiting = workers
    .filter(({ gate, isDeleting }) => gate !== undefined && !isDeleting)
    .toSorted((a, b) => (a.createdAt ?? 0) - (b.createdAt ?? 0) || (a.name < b.name ? -1 : 1));
  return waiting.slice(0, Math.max(0, job.mostWorkers - placed.length));
}

/** Lets these pods be scheduled. @returns the reason why one could not be let in; the next look tries again */
export async function openGates(
  { core }: Cluster,
  namespace: string,
  pods: readonly SeenPod[],
): Promise<string | undefined> {
  const failures = await Promise.all(
    pods.map(async ({ name, gate = 0 }) => {
      const path = `/spec/schedulingGates/${gate}`;
      const body = [
        { op: 'test', path: `${path}/name`, value: LEASE_GATE },
        { op: 'remove', path },
      ];
      try {
        await core.patchNamespacedPod({ name, namespace, body });
        return undefined;
      } catch (error) {
        const failure = apiFailureOf(error);
        return isNotFound(failure) || failure.status === GATE_IS_OPEN
          ? undefined
          : `worker ${name} waits: ${failure.message}`;
      }
    }),
  );
  return failures.find((failure) => failure !== undefined);
}

/** HTTP status if the patch's test failed, because the gate is open already. */
const GATE_IS_OPEN = 422;
