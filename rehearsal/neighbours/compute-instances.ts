import { computeErrors } from '../compute/errors.js';
import { filterOf } from '../compute/filter.js';
import { isOffered } from '../compute/instance.js';
import type { ComputeOperation } from '../compute/model.js';
import type { ComputeService } from '../compute/service.js';
import type { JsonObject } from '../json.js';
import { asString } from '../json.js';
import { ApiError } from '../tpu/api-error.js';
import { refusalError } from '../tpu/faults.js';
import type { NeighbourCall, NeighbourRoute } from './route.js';

const ZONE = String.raw`^/compute/v1/projects/(?<project>[^/:]+)/zones/(?<zone>[^/]+)`;
const deniedText = (permission: string, resource: string): string =>
  `Required '${permission}' permission for '${resource}'`;

/** Permissions that are not named after their method. */
const PERMISSIONS: Readonly<Record<string, string>> = {
  'instances.insert': 'compute.instances.create',
  'instances.aggregatedList': 'compute.instances.list',
};

/** Compute Engine's VMs and their operations (cloud.google.com/compute/docs/reference/rest/v1). */
export const COMPUTE_INSTANCES: readonly NeighbourRoute[] = [
  route('POST', 'instances.insert', `${ZONE}/instances$`, insert),
  route('GET', 'instances.list', `${ZONE}/instances$`, list),
  route(
    'GET',
    'instances.get',
    `${ZONE}/instances/(?<instance>[^/]+)$`,
    ({ path }, { cloud }) => cloud.vm(vmPath(path)).resource,
  ),
  route('DELETE', 'instances.delete', `${ZONE}/instances/(?<instance>[^/]+)$`, ({ path }, { cloud }) =>
    cloud.delete(vmPath(path)),
  ),
  route(
    'GET',
    'instances.getGuestAttributes',
    `${ZONE}/instances/(?<instance>[^/]+)/getGuestAttributes$`,
    guestAttributes,
  ),
  route('GET', 'zoneOperations.list', `${ZONE}/operations$`, operations),
  route('GET', 'zoneOperations.get', `${ZONE}/operations/(?<operation>[^/]+)$`, operation),
  route('POST', 'zoneOperations.wait', `${ZONE}/operations/(?<operation>[^/]+)/wait$`, waited),
  route('GET', 'zones.get', `${ZONE}$`, zone),
  ...(['machineTypes', 'acceleratorTypes'] as const).map((kind) =>
    route('GET', `${kind}.get`, `${ZONE}/${kind}/(?<type>[^/]+)$`, (call) => typeOf(kind, call)),
  ),
  route(
    'GET',
    'instances.aggregatedList',
    String.raw`^/compute/v1/projects/(?<project>[^/:]+)/aggregated/instances$`,
    aggregated,
  ),
];

/** Methods that the admin interface can refuse. */
export const COMPUTE_METHODS: readonly string[] = [
  'instances.insert',
  'instances.list',
  'instances.get',
  'instances.delete',
  'instances.getGuestAttributes',
  'instances.aggregatedList',
  'zoneOperations.get',
  'zoneOperations.list',
];

type Path = NeighbourCall['path'];
type Answer = (call: NeighbourCall, service: ComputeService) => JsonObject | Promise<JsonObject>;

const placeOf = ({ project, zone: name }: Path): string =>
  name === undefined ? `projects/${project}` : `projects/${project}/zones/${name}`;
const vmPath = (path: Path): string => `${placeOf(path)}/instances/${path['instance']}`;

function route(verb: NeighbourRoute['verb'], method: string, path: string, answer: Answer): NeighbourRoute {
  return {
    verb,
    path: new RegExp(path),
    service: 'compute.googleapis.com',
    method: `compute.v1.${method}`,
    permission: PERMISSIONS[method] ?? `compute.${method}`,
    resource: (groups) => (groups['instance'] === undefined ? placeOf(groups) : vmPath(groups)),
    deniedText,
    answer: (call) => answerUnlessRefused(method, call, answer),
  };
}

async function answerUnlessRefused(method: string, call: NeighbourCall, answer: Answer): Promise<JsonObject> {
  const service = call.compute;
  const name =
    method === 'instances.insert'
      ? `${placeOf(call.path)}/instances/${asString(call.body['name'])}`
      : subjectOf(call.path);
  const refusal = service.refusal(method, name);
  if (refusal !== undefined && refusal.as === 'operation') {
    const failed = service.cloud.failInsert(name, { code: refusal.reason ?? refusal.status, message: refusal.message });
    await service.changed();
    return failed;
  }
  if (refusal !== undefined && !refusal.afterEffect) throw refusalError(refusal);
  const { zone: place } = call.path;
  if (place !== undefined) service.cloud.checkZone(place);
  const json = await answer(call, service);
  if (!/\.(get|list|aggregatedList|getGuestAttributes|wait)$/.test(method)) await service.changed();
  if (refusal !== undefined) throw refusalError(refusal);
  return json;
}

const subjectOf = (path: Path): string => (path['instance'] === undefined ? placeOf(path) : vmPath(path));

function insert({ path, query, body }: NeighbourCall, { cloud }: ComputeService): ComputeOperation {
  const { project = '', zone: name = '' } = path;
  return cloud.insert(project, name, body, query.get('requestId') ?? undefined);
}

function list({ path, query }: NeighbourCall, { cloud }: ComputeService): JsonObject {
  const { project = '', zone: name = '' } = path;
  return page(
    cloud.vmsIn(project, name).map(({ resource }) => resource),
    query,
    'compute#instanceList',
  );
}

/** Grouped by zone, as Google answers. An empty list has a warning. */
function aggregated({ path, query }: NeighbourCall, { cloud }: ComputeService): JsonObject {
  const { project = '' } = path;
  const all = cloud.vmsIn(project).map(({ resource }) => resource);
  const { items = [], ...rest } = page(all, query, 'compute#instanceAggregatedList') as {
    items?: readonly JsonObject[];
  };
  const zones = new Map<string, JsonObject[]>();
  for (const item of items) {
    const scope = `zones/${asString(item['zone']).split('/').at(-1)}`;
    zones.set(scope, [...(zones.get(scope) ?? []), item]);
  }
  const empty = {
    warning: { code: 'NO_RESULTS_ON_PAGE', message: "There are no results for scope 'global' on this page." },
  };
  const scoped = [...zones].map(([scope, instances]) => [scope, { instances }] as const);
  return { ...rest, items: scoped.length === 0 ? { global: empty } : Object.fromEntries(scoped) };
}

function operations({ path, query }: NeighbourCall, { cloud }: ComputeService): JsonObject {
  const prefix = `${placeOf(path)}/operations/`;
  const all = Object.entries(cloud.state.operations).filter(([name]) => name.startsWith(prefix));
  return page(
    all.map(([, each]) => each),
    query,
    'compute#operationList',
  );
}

function operation({ path }: NeighbourCall, { cloud }: ComputeService): ComputeOperation {
  return cloud.operation(`${placeOf(path)}/operations/${path['operation']}`);
}

/** Longest wait and check interval, wall ms. Google's own limit is two minutes. */
const LONGEST_WAIT_MS = 30_000;
const LOOK_MS = 25;

async function waited(call: NeighbourCall, service: ComputeService): Promise<ComputeOperation> {
  for (const until = Date.now() + LONGEST_WAIT_MS; ;) {
    const found = operation(call, service);
    if (found.status === 'DONE' || Date.now() >= until) return found;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function zone({ path }: NeighbourCall): JsonObject {
  const { zone: name = '' } = path;
  return { kind: 'compute#zone', name, status: 'UP', region: name.replace(/-[a-z]$/, '') };
}

/** GPUs that can be attached: those of N1 (cloud.google.com/compute/docs/gpus). */
const ATTACHABLE = /^nvidia-tesla-(t4|p4|p100|v100)$/;

function typeOf(kind: 'machineTypes' | 'acceleratorTypes', { facts, path }: NeighbourCall): JsonObject {
  const { zone: place = '', type = '' } = path;
  const isThere = kind === 'machineTypes' ? isOffered(type, facts.zones[place]?.machineTypes) : ATTACHABLE.test(type);
  const resource = `${placeOf(path)}/${kind}/${type}`;
  if (!isThere) throw computeErrors.notFound(resource);
  return { kind: kind === 'machineTypes' ? 'compute#machineType' : 'compute#acceleratorType', name: type, zone: place };
}

/** The host key that the VM's agent publishes once the VM is up, if the VM's metadata allows that. */
function guestAttributes({ path }: NeighbourCall, { cloud, hostKey }: ComputeService): JsonObject {
  const vm = cloud.vm(vmPath(path));
  const key = hostKey(vm.path);
  const items = (vm.resource['metadata'] as { items?: readonly { key?: string; value?: string }[] }).items ?? [];
  const isOn = items.some(({ key: name, value = '' }) => name === 'enable-guest-attributes' && /^true$/i.test(value));
  if (!isOn || key === undefined) throw computeErrors.notFound(`${vm.path}/guestAttributes/hostkeys/`);
  const [type = '', value = ''] = key.split(' ');
  return {
    kind: 'compute#guestAttributes',
    queryPath: 'hostkeys/',
    queryValue: { items: [{ namespace: 'hostkeys', key: type, value }] },
  };
}

function page(all: readonly JsonObject[], query: URLSearchParams, kind: string): JsonObject {
  const matches = filterOf(query.get('filter') ?? '');
  const found = all.filter(matches);
  const size = Number(query.get('maxResults') ?? 500);
  const start = Number(query.get('pageToken') ?? 0);
  if (!(size >= 1 && size <= 500) || !Number.isInteger(start))
    throw new ApiError('INVALID_ARGUMENT', `Invalid value for field 'maxResults': '${size}'. Must be 1 to 500.`);
  const items = found.slice(start, start + size);
  return {
    kind,
    ...(items.length > 0 && { items }),
    ...(start + size < found.length && { nextPageToken: String(start + size) }),
  };
}
