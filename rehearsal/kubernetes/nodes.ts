import { z } from 'zod';
import type { KubeObject, Pod } from './objects.js';
import { isOver, timestamp } from './objects.js';
import type { ObjectStore } from './object-store.js';
import { quantityOf } from './quantity.js';
import { NODES, PODS } from './resources.js';

const quantity = z.union([z.string(), z.number()]).refine((value) => quantityOf(value) !== undefined, 'a quantity');

/** Resources of the rehearsed nodes, as POST /admin/kubernetes takes them. */
export const kubernetesSettings = z.strictObject({
  nodes: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/),
        cpus: quantity.default(16),
        memory: quantity.default('64Gi'),
        /** Number of `nvidia.com/gpu`. */
        gpus: z.int().min(0).default(0),
        /** Other resources, such as `google.com/tpu: 4`. */
        resources: z.record(z.string(), quantity).default({}),
        labels: z.record(z.string(), z.string()).default({}),
      }),
    )
    .max(1_000),
});

export type KubernetesSettings = z.output<typeof kubernetesSettings>;

/** Amounts are only counted: the pods share this computer's CPUs, memory and devices. */
export const DEFAULT_SETTINGS: KubernetesSettings = kubernetesSettings.parse({
  nodes: [0, 1, 2, 3].map((index) => ({ name: `rehearsed-${index}`, gpus: 8 })),
});

const PODS_PER_NODE = 110;
export const VERSION = 'v1.34.4';
/** The address that all nodes report. */
export const NODE_ADDRESS = '127.0.0.1';

export function nodeObject({
  name,
  cpus,
  memory,
  gpus,
  resources,
  labels,
}: KubernetesSettings['nodes'][number]): object {
  const amounts = Object.entries({ ...(gpus > 0 && { 'nvidia.com/gpu': gpus }), ...resources });
  const offered = {
    ...{ cpu: String(cpus), memory: String(memory), pods: String(PODS_PER_NODE) },
    ...Object.fromEntries(amounts.map(([resource, amount]) => [resource, String(amount)])),
  };
  const since = timestamp();
  const condition = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'rehearsed node' };
  return {
    metadata: { name, labels: { ...labels, 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' } },
    spec: {},
    status: {
      capacity: offered,
      allocatable: offered,
      conditions: [{ ...condition, lastHeartbeatTime: since, lastTransitionTime: since }],
      addresses: [
        { type: 'InternalIP', address: NODE_ADDRESS },
        { type: 'Hostname', address: name },
      ],
      nodeInfo: { kubeletVersion: VERSION, osImage: 'rehearsal', operatingSystem: 'linux', architecture: 'amd64' },
    },
  };
}

/** Resources that a pod asks for. The pod itself counts as 1 of the resource `pods`. */
export function requestsOf({ spec }: Pick<Pod, 'spec'>): ReadonlyMap<string, number> {
  const sums = new Map<string, number>([['pods', 1]]);
  for (const { resources } of spec.containers)
    // A limit without a request counts as a request.
    for (const [name, amount] of Object.entries({ ...resources?.limits, ...resources?.requests }))
      sums.set(name, (sums.get(name) ?? 0) + (quantityOf(amount) ?? 0));
  return sums;
}

interface Room {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly free: Map<string, number>;
}

/** Free resources of each node. */
export function roomOf(store: ObjectStore): readonly Room[] {
  const pods = store.list<Pod>(PODS).filter((pod) => !isOver(pod));
  return store.list(NODES).map((node: KubeObject): Room => {
    const { allocatable } = node['status'] as { readonly allocatable: Readonly<Record<string, string>> };
    const free = new Map(Object.entries(allocatable).map(([name, amount]) => [name, quantityOf(amount) ?? 0]));
    const { name, labels = {} } = node.metadata;
    for (const pod of pods) if (pod.spec.nodeName === name) takeRoom({ free }, requestsOf(pod));
    return { name, labels, free };
  });
}

export function takeRoom({ free }: Pick<Room, 'free'>, wanted: ReadonlyMap<string, number>): void {
  for (const [name, amount] of wanted) free.set(name, (free.get(name) ?? 0) - amount);
}
