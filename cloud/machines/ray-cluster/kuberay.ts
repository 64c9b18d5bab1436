import { refIn } from '../../../domain/machine-kinds/kubernetes/plan.js';
import { rayClusterName } from '../../../domain/machine-kinds/ray-cluster/index.js';
import type { RayClusterPlan } from '../../../domain/machine-kinds/ray-cluster/words.js';
import type { CreateAnswer } from '../../../domain/slice.js';
import { read } from '../kubernetes/api-failure.js';
import type { Cluster } from '../kubernetes/cluster.js';
import { createObjects } from '../kubernetes/create-pods.js';
import { allOf, RAY_CLUSTERS } from '../kubernetes/namespace-api.js';
import type { PodOwner } from '../kubernetes/pod-owner.js';
import { MACHINES_LABEL } from '../kubernetes/pod-template.js';
import { type KubernetesOptions, SlicesOfPods } from '../kubernetes/slices-of-pods.js';
import type { Machines } from '../port.js';
import { rayClusterCondition } from './condition.js';
import { openGates, workersWithPlace } from './lease-gate.js';
import { CLUSTER_LABEL, MACHINES, type RayCluster, rayClusterManifest } from './manifest.js';
import { seenCluster, seenRayPod } from './observation.js';

/** RayClusters of KubeRay as machines, one per slice (docs/adr/0069). Connects at the first call. */
export const createRayClusters = (options: KubernetesOptions = {}): Machines<'ray-cluster'> =>
  new SlicesOfPods(RAY_CLUSTER, options);

const RAY_CLUSTER: PodOwner<'ray-cluster'> = {
  resource: 'RayCluster',
  podLabel: CLUSTER_LABEL,
  selector: `${MACHINES_LABEL}=${MACHINES}`,
  nameOf: ({ name }) => rayClusterName(name),
  refIn: (place, name) => refIn('ray-cluster', place, name),
  create,
  read: async ({ custom }, place) => {
    const found: unknown = await read(() => custom.getNamespacedCustomObject({ ...RAY_CLUSTERS, ...place }));
    return found === undefined ? undefined : seenCluster(found as RayCluster);
  },
  list: async ({ custom }, place) => {
    const clusters = await allOf(async (page) => {
      const list = (await custom.listNamespacedCustomObject({ ...RAY_CLUSTERS, ...place, ...page })) as RayClusterList;
      const { continue: _continue } = list.metadata;
      return { items: list.items, metadata: { ...(_continue && { _continue }) } };
    });
    return clusters.map((cluster) => ({
      ...(cluster.metadata && { metadata: cluster.metadata }),
      seen: seenCluster(cluster),
    }));
  },
  seenPod: seenRayPod,
  letIn: (cluster, namespace, seen) => openGates(cluster, namespace, workersWithPlace(seen)),
  conditionOf: rayClusterCondition,
};

/** The list as it is on the wire: the client has no model of it. */
interface RayClusterList {
  readonly items: readonly RayCluster[];
  readonly metadata: { readonly continue?: string };
}

async function create(cluster: Cluster, plan: RayClusterPlan): Promise<CreateAnswer> {
  const answer = await createObjects(cluster, plan, () => {
    const { core, custom } = cluster;
    const { namespace } = plan.ref;
    const manifest = rayClusterManifest(plan);
    return {
      parts: [
        { what: 'ConfigMap', create: () => core.createNamespacedConfigMap({ namespace, body: manifest.configMap }) },
      ],
      owner: {
        name: rayClusterName(plan.ref.name),
        create: () => custom.createNamespacedCustomObject({ ...RAY_CLUSTERS, namespace, body: manifest.cluster }),
      },
    };
  });
  if (answer.kind !== 'refused' || !NO_RESOURCE.test(answer.message)) return answer;
  const message = `the cluster knows no RayCluster (${answer.message}): install KubeRay v1.5 or later, its operator and its resource definitions`;
  return { kind: 'refused', scope: 'request', message };
}

/** The API server's 404 for an undefined resource, which has no Status. */
const NO_RESOURCE = /^404 page not found/;
