import type { Draft } from './admission.js';
import type { Container, EnvVar, KubeObject, PodTemplate, RayCluster, WorkerGroup } from './objects.js';
import { quantityOf } from './quantity.js';

/** The objects that KubeRay v1.5 makes for a RayCluster, adapted to pods that share this computer. */

export const CLUSTER_LABEL = 'ray.io/cluster';
export const NODE_TYPE_LABEL = 'ray.io/node-type';
export const GROUP_LABEL = 'ray.io/group';
export const HEAD = 'head';
export const WORKER = 'worker';
type NodeType = typeof HEAD | typeof WORKER;

const VERSION = 'v1.5.1';
/** Annotation: the container's command is left as it is, and the command for Ray is only in the environment. */
const OVERWRITE = 'ray.io/overwrite-container-cmd';
const AGENT_PORT = '52365';
const METRICS_PORT = '8080';
/** Names of pods get 13 more characters. */
const MOST_PREFIX = 50;

export const headService = (cluster: string): string => `${cluster}-head-svc`;

const identifier = (cluster: string, type: NodeType): string => `${cluster}-${type}`.slice(-63);

function ownLabels(cluster: string, type: NodeType): Record<string, string> {
  return {
    [CLUSTER_LABEL]: cluster,
    [NODE_TYPE_LABEL]: type,
    'ray.io/identifier': identifier(cluster, type),
    'app.kubernetes.io/name': 'kuberay',
    'app.kubernetes.io/created-by': 'kuberay-operator',
  };
}

export const ownerReference = ({ metadata: { name, uid } }: KubeObject) => ({
  ...{ apiVersion: 'ray.io/v1', kind: 'RayCluster', name, uid, controller: true, blockOwnerDeletion: true },
});

/** @param port of GCS. All pods share this computer's network, so each RayCluster has a port of its own in place of 6379. */
export function serviceDraft(cluster: RayCluster, port: number): Draft {
  const labels = ownLabels(cluster.metadata.name, HEAD);
  return {
    metadata: { name: headService(cluster.metadata.name), labels, ownerReferences: [ownerReference(cluster)] },
    spec: {
      ...{ clusterIP: 'None', publishNotReadyAddresses: true, selector: labels },
      ports: [{ name: GCS, port, targetPort: port, protocol: 'TCP', appProtocol: 'tcp' }],
    },
  };
}

const GCS = 'gcs-server';

export function portOf(service: KubeObject): number {
  const { ports } = service['spec'] as { readonly ports: readonly { readonly name: string; readonly port: number }[] };
  return ports.find(({ name }) => name === GCS)?.port ?? 0;
}

export const secretDraft = (cluster: RayCluster, token: string): Draft => ({
  metadata: {
    name: cluster.metadata.name,
    labels: { [CLUSTER_LABEL]: cluster.metadata.name },
    ownerReferences: [ownerReference(cluster)],
  },
  type: 'Opaque',
  data: { auth_token: Buffer.from(token).toString('base64') },
});

export function headDraft(cluster: RayCluster, port: number): Draft {
  const { template, rayStartParams = {} } = cluster.spec.headGroupSpec;
  const params = { port: String(port), 'dashboard-host': '0.0.0.0', ...rayStartParams };
  return podDraft(cluster, { type: HEAD, group: 'headgroup', template, params, address: `127.0.0.1:${port}` });
}

export function workerDraft(cluster: RayCluster, port: number, group: WorkerGroup): Draft {
  const { name, namespace } = cluster.metadata;
  const address = `${headService(name)}.${namespace}.svc.cluster.local:${port}`;
  const params = { address, ...group.rayStartParams };
  return podDraft(cluster, { type: WORKER, group: group.groupName, template: group.template, params, address });
}

interface PodPlan {
  readonly type: NodeType;
  readonly group: string;
  readonly template: PodTemplate;
  /** Parameters of `ray start`. */
  readonly params: Readonly<Record<string, string>>;
  /** Address of GCS, as its processes reach it. */
  readonly address: string;
}

function podDraft(cluster: RayCluster, plan: PodPlan): Draft {
  const { type, group, template } = plan;
  const { name } = cluster.metadata;
  const prefix = type === HEAD ? name : `${name}-${group}`;
  const [main, ...others] = template.spec.containers;
  return {
    metadata: {
      generateName: `${prefix.slice(0, MOST_PREFIX)}-${type}-`.toLowerCase(),
      labels: {
        ...ownLabels(name, type),
        'ray.io/is-ray-node': 'yes',
        ...template.metadata?.labels,
        ...{ [CLUSTER_LABEL]: name, [NODE_TYPE_LABEL]: type, [GROUP_LABEL]: group },
      },
      annotations: { ...template.metadata?.annotations, ...(type === HEAD && { 'ray.io/ft-enabled': 'false' }) },
      ownerReferences: [ownerReference(cluster)],
    },
    spec: { ...template.spec, containers: [...(main ? [containerOf(cluster, plan, main)] : []), ...others] },
  };
}

function containerOf(cluster: RayCluster, plan: PodPlan, main: Container): Container {
  const start = startCommand(plan, main);
  const isOwn = plan.template.metadata?.annotations?.[OVERWRITE] === 'true';
  const wait = `until ray health-check --address ${plan.address} > /dev/null 2>&1; do sleep 1; done`;
  // The rehearsed kubelet has no init containers, where KubeRay waits.
  const line = ['ulimit -n 65536', start];
  return {
    ...main,
    env: [...(main.env ?? []), ...environment(cluster, plan, start)],
    ...(!isOwn && {
      command: ['/bin/bash', '-c', '--'],
      args: [(plan.type === WORKER ? [wait, ...line] : line).join('; ')],
    }),
    readinessProbe: main.readinessProbe ?? RAYLET_PROBE,
  };
}

/** Stands in for KubeRay's probe of Ray's HTTP ports, which the pods of this computer would share. */
const RAYLET_PROBE = {
  exec: { command: ['/bin/sh', '-c', 'kill -0 "$(cat /tmp/ray/raylet.pid)"'] },
  periodSeconds: 1,
};

function environment({ metadata, spec }: RayCluster, { type, address }: PodPlan, start: string): readonly EnvVar[] {
  const label = (key: string) => ({ fieldRef: { fieldPath: `metadata.labels['${key}']` } });
  const [host = '', port = ''] = address.split(':');
  const token = { name: 'RAY_AUTH_TOKEN', valueFrom: { secretKeyRef: { name: metadata.name, key: 'auth_token' } } };
  return [
    ...(spec.authOptions?.mode === 'token' ? [{ name: 'RAY_AUTH_MODE', value: 'token' }, token] : []),
    ...(type === WORKER
      ? [
          { name: 'FQ_RAY_IP', value: host },
          { name: 'RAY_IP', value: host.split('.')[0] ?? '' },
        ]
      : []),
    { name: 'RAY_CLUSTER_NAME', valueFrom: label(CLUSTER_LABEL) },
    { name: 'RAY_CLOUD_INSTANCE_ID', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'RAY_NODE_TYPE_NAME', valueFrom: label(GROUP_LABEL) },
    { name: 'KUBERAY_GEN_RAY_START_CMD', value: start },
    { name: 'RAY_PORT', value: port },
    { name: 'RAY_ADDRESS', value: address },
    { name: 'RAY_USAGE_STATS_KUBERAY_IN_USE', value: '1' },
    ...(type === HEAD
      ? [{ name: 'RAY_USAGE_STATS_EXTRA_TAGS', value: `kuberay_version=${VERSION};kuberay_crd=RayCluster` }]
      : []),
    { name: 'RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE', value: '1' },
  ];
}

function startCommand({ type, params }: PodPlan, { resources }: Container): string {
  const { limits = {}, requests = {} } = resources ?? {};
  const whole = (amount: string | number | undefined): string | undefined => {
    const quantity = amount === undefined ? undefined : quantityOf(amount);
    return quantity ? String(Math.ceil(quantity)) : undefined;
  };
  const gpus = Object.keys(limits).find((resource) => resource.endsWith('gpu'));
  const all: Readonly<Record<string, string | undefined>> = {
    'num-cpus': whole(limits['cpu'] ?? requests['cpu']),
    memory: whole(limits['memory']),
    'num-gpus': gpus === undefined ? undefined : whole(limits[gpus]),
    ...{ 'metrics-export-port': METRICS_PORT, 'dashboard-agent-listen-port': AGENT_PORT, ...params, block: 'true' },
  };
  const flags = Object.entries(all)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([key, value]) => (value === undefined ? [] : flag(key, value)));
  return ['ray start', ...(type === HEAD ? ['--head'] : []), ...flags].join(' ');
}

/** Parameters of `ray start` that take true and false as values. All others are switches. */
const WITH_TRUTH = new Set(['log-color', 'include-dashboard']);

const flag = (key: string, value: string): readonly string[] =>
  WITH_TRUTH.has(key) || !/^(true|false)$/i.test(value)
    ? [`--${key}=${value}`]
    : value.toLowerCase() === 'true'
      ? [`--${key}`]
      : [];
