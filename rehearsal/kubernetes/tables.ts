import { GATED } from './admission.js';
import type { Job, KubeObject, Pod } from './objects.js';
import { isTrue } from './objects.js';
import {
  EVENTS,
  JOBS,
  NAMESPACES,
  NODES,
  PODS,
  RAY_CLUSTERS,
  type Resource,
  SERVICES,
  CONFIG_MAPS,
} from './resources.js';

/** Tables that `kubectl get` prints: the API server makes the cells. */

interface Column {
  readonly name: string;
  /** Shown only with `-o wide`. */
  readonly isWide?: true;
  readonly cell: (object: KubeObject) => string | number;
}

const AGE: Column = { name: 'Age', cell: ({ metadata }) => ageOf(metadata.creationTimestamp) };
const NAME: Column = { name: 'Name', cell: ({ metadata }) => metadata.name };

const podColumn = (name: string, cell: (pod: Pod) => string | number, isWide?: true): Column => ({
  ...{ name, cell: (object) => cell(object as Pod), ...(isWide && { isWide }) },
});
const jobColumn = (name: string, cell: (job: Job) => string, isWide?: true): Column => ({
  ...{ name, cell: (object) => cell(object as Job), ...(isWide && { isWide }) },
});
const column = (name: string, path: string, otherwise = '<none>'): Column => ({
  name,
  cell: (object) => {
    const value = path
      .split('.')
      .reduce((at: unknown, key) => (at as Record<string, unknown> | undefined)?.[key], object);
    return value === undefined || value === '' ? otherwise : String(value);
  },
});

const COLUMNS: ReadonlyMap<Resource, readonly Column[]> = new Map([
  [
    PODS,
    [
      NAME,
      podColumn('Ready', (pod) => {
        const all = pod.status.containerStatuses ?? [];
        return `${all.filter(({ ready }) => ready).length}/${pod.spec.containers.length}`;
      }),
      podColumn('Status', podState),
      podColumn('Restarts', () => '0'),
      AGE,
      podColumn('IP', ({ status }) => status.podIP ?? '<none>', true),
      podColumn('Node', ({ spec }) => spec.nodeName ?? '<none>', true),
      podColumn('Nominated Node', () => '<none>', true),
      podColumn('Readiness Gates', () => '<none>', true),
    ],
  ],
  [
    JOBS,
    [
      NAME,
      jobColumn('Status', jobState),
      jobColumn('Completions', ({ spec, status }) => `${status.succeeded ?? 0}/${spec.completions}`),
      jobColumn('Duration', ({ status }) => (status.startTime ? ageOf(status.startTime, status.completionTime) : '')),
      AGE,
      jobColumn('Containers', ({ spec }) => spec.template.spec.containers.map(({ name }) => name).join(','), true),
      jobColumn('Images', ({ spec }) => spec.template.spec.containers.map(({ image }) => image).join(','), true),
    ],
  ],
  [
    SERVICES,
    [
      ...[NAME, column('Type', 'spec.type', 'ClusterIP'), column('Cluster-IP', 'spec.clusterIP')],
      ...[column('External-IP', 'spec.externalName'), column('Port(s)', 'spec.port'), AGE],
    ],
  ],
  [
    CONFIG_MAPS,
    [NAME, { name: 'Data', cell: (object) => Object.keys((object['data'] as object | undefined) ?? {}).length }, AGE],
  ],
  [
    EVENTS,
    [
      { name: 'Last Seen', cell: (event) => ageOf(String(event['lastTimestamp'])) },
      ...[column('Type', 'type'), column('Reason', 'reason')],
      {
        name: 'Object',
        cell: (event) => {
          const { kind = '', name = '' } = event['involvedObject'] as { kind?: string; name?: string };
          return `${kind.toLowerCase()}/${name}`;
        },
      },
      column('Message', 'message'),
    ],
  ],
  [
    NODES,
    [
      NAME,
      { name: 'Status', cell: () => 'Ready' },
      { name: 'Roles', cell: () => '<none>' },
      AGE,
      column('Version', 'status.nodeInfo.kubeletVersion'),
    ],
  ],
  [NAMESPACES, [NAME, column('Status', 'status.phase'), AGE]],
  [
    RAY_CLUSTERS,
    [
      ...[NAME, column('Desired Workers', 'status.desiredWorkerReplicas', '')],
      ...[column('Available Workers', 'status.availableWorkerReplicas', ''), column('Status', 'status.state', ''), AGE],
    ],
  ],
]);

/** Whether the client accepts a table, such as by `Accept: application/json;as=Table;v=v1;g=meta.k8s.io, application/json`. */
export const wantsTable = (accept: string | undefined): boolean =>
  /^[^,]*;as=Table;v=v1(;|,|$)/.test((accept ?? '').replaceAll(' ', ''));

/** @param metadata the list's resourceVersion and continue */
export function tableOf(resource: Resource, objects: readonly KubeObject[], metadata: object): object {
  const columns = COLUMNS.get(resource) ?? [NAME, AGE];
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: columns.map(({ name, isWide }) => ({
      ...{ name, type: 'string', format: name === 'Name' ? 'name' : '', description: '', priority: isWide ? 1 : 0 },
    })),
    rows: objects.map((object) => ({
      cells: columns.map(({ cell }) => cell(object)),
      object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata },
    })),
  };
}

function podState({ metadata, spec, status }: Pod): string {
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  const { waiting, terminated } = status.containerStatuses?.[0]?.state ?? {};
  const gated = (spec.schedulingGates ?? []).length > 0 ? GATED.reason : undefined;
  return status.reason ?? gated ?? waiting?.reason ?? terminated?.reason ?? status.phase;
}

function jobState({ metadata, spec, status }: Job): string {
  if (isTrue(status.conditions, 'Complete')) return 'Complete';
  if (isTrue(status.conditions, 'Failed')) return 'Failed';
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (spec.suspend === true) return 'Suspended';
  return isTrue(status.conditions, 'FailureTarget') ? 'FailureTarget' : 'Running';
}

/** Formats a duration as Kubernetes does: `45s`, `3m20s`, `47m`, `5h10m`, `30h`, `3d4h`, `20d`. */
function ageOf(from: string, to?: string): string {
  const seconds = Math.max(0, Math.floor(((to ? Date.parse(to) : Date.now()) - Date.parse(from)) / 1000));
  const [minutes, hours, days] = [Math.floor(seconds / 60), Math.floor(seconds / 3600), Math.floor(seconds / 86_400)];
  const two = (big: number, unit: string, small: number, smaller: string): string =>
    `${big}${unit}${small > 0 ? `${small}${smaller}` : ''}`;
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's');
  if (hours < 3) return `${minutes}m`;
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  return days < 8 ? two(days, 'd', hours % 24, 'h') : `${days}d`;
}
