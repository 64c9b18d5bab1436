import type { JsonObject, JsonValue } from '../json.js';
import { asObject, asString } from '../json.js';
import { apiErrors } from './api-error.js';
import type { TpuCloud } from './cloud.js';
import { guestAttributes } from './guest-attributes.js';
import { pageOf } from './listing.js';
import type { Operation } from './model.js';
import { getOperation, listOperations } from './operations.js';
import { isIn, lastSegment, parentOf, parseLocation, zoneOf } from './resource-name.js';
import type { Named, Site } from './site.js';
import { acceleratorTypes, checkOffer, findLocation, locations, named, runtimeVersions } from './site.js';
import { readUpdate } from './update-mask.js';

/** The answer to a call, in canonical JSON. The codec packs the result of an operation into an Any. */
export type Answer =
  | { readonly kind: 'operation'; readonly operation: Operation }
  | { readonly kind: 'operations'; readonly operations: readonly Operation[]; readonly nextPageToken: string }
  | { readonly kind: 'message'; readonly message: JsonObject };

type Method = (cloud: TpuCloud, request: JsonObject, site: Site) => Answer;

/** Calls by the RPC's name. Requests are the RPC's own messages in proto3 JSON. */
export const METHODS: Readonly<Record<string, Method>> = {
  ListNodes: (cloud, request, site) =>
    reachable(cloud, 'nodes', lagging(cloud, site, 'node', request) ?? cloud.listNodes(parentIn(request)), request),
  GetNode: (cloud, request) => message(cloud.getNode(nameIn(request))),
  CreateNode(cloud, request, site) {
    const node = asObject(request['node']);
    checkOffer(parentIn(request), node, site);
    return operation(cloud.createNode(parentIn(request), asString(request['nodeId']), node));
  },
  DeleteNode: (cloud, request) => operation(cloud.deleteNode(nameIn(request))),
  StopNode: (cloud, request) => operation(cloud.stopNode(nameIn(request))),
  StartNode: (cloud, request) => operation(cloud.startNode(nameIn(request))),
  UpdateNode(cloud, request) {
    const { name, node, mask } = readUpdate(request);
    return operation(cloud.updateNode(name, node, mask));
  },
  PerformMaintenance: (cloud, request) => operation(cloud.performMaintenance(nameIn(request))),
  SimulateMaintenanceEvent: (cloud, request) =>
    operation(cloud.simulateMaintenanceEvent(nameIn(request), texts(request['workerIds']))),
  GetGuestAttributes: (cloud, request, site) => message(guestAttributes(cloud, request, site)),

  ListQueuedResources: (cloud, request, site) =>
    reachable(
      cloud,
      'queuedResources',
      lagging(cloud, site, 'queued-resource', request) ?? cloud.listQueuedResources(parentIn(request)),
      request,
    ),
  GetQueuedResource: (cloud, request) => message(cloud.getQueuedResource(nameIn(request))),
  CreateQueuedResource(cloud, request, site) {
    const wanted = asObject(request['queuedResource']);
    for (const node of nodesOf(wanted)) checkOffer(parentIn(request), node, site);
    return operation(cloud.createQueuedResource(parentIn(request), asString(request['queuedResourceId']), wanted));
  },
  DeleteQueuedResource: (cloud, request) =>
    operation(cloud.deleteQueuedResource(nameIn(request), request['force'] === true)),
  ResetQueuedResource: (cloud, request) => operation(cloud.resetQueuedResource(nameIn(request))),
  PerformMaintenanceQueuedResource: (cloud, request) =>
    operation(cloud.performMaintenanceQueuedResource(nameIn(request), texts(request['nodeNames']))),

  GetOperation: (cloud, request) => operation(getOperation(cloud.state, nameIn(request))),
  // The gateway waits for the operation's end.
  WaitOperation: (cloud, request) => operation(getOperation(cloud.state, nameIn(request))),
  ListOperations(cloud, request) {
    const { items, nextPageToken } = pageOf(listOperations(cloud.state, nameIn(request)), request);
    return { kind: 'operations', operations: items, nextPageToken };
  },
  CancelOperation(cloud, request) {
    cloud.cancelOperation(nameIn(request));
    return message({});
  },
  DeleteOperation(cloud, request) {
    cloud.deleteOperation(nameIn(request));
    return message({});
  },

  ListAcceleratorTypes: (_cloud, request, site) =>
    page('acceleratorTypes', acceleratorTypes(parentIn(request), site), request),
  GetAcceleratorType: (_cloud, request, site) =>
    message(named(acceleratorTypes(parentOf(nameIn(request)), site), nameIn(request))),
  ListRuntimeVersions: (_cloud, request, site) =>
    page('runtimeVersions', runtimeVersions(parentIn(request), site), request),
  GetRuntimeVersion: (_cloud, request, site) =>
    message(named(runtimeVersions(parentOf(nameIn(request)), site), nameIn(request))),
  ListReservations: (cloud, request) =>
    page('reservations', cloud.listReservations(parentIn(request)) as readonly Named[], request),
  ListLocations: (_cloud, request, site) => page('locations', locations(nameIn(request), site), request),
  GetLocation: (_cloud, request, site) => message(findLocation(nameIn(request), site)),
  // The service agent that reads users' disks and networks (docs.cloud.google.com/iam/docs/service-agents).
  GenerateServiceIdentity: (_cloud, _request, site) =>
    message({ identity: { email: `service-${site.facts().number}@cloud-tpu.iam.gserviceaccount.com` } }),
};

/** Contents of a listing while lists lag (an admin verb); undefined: what exists. */
function lagging(
  cloud: TpuCloud,
  site: Site,
  kind: 'node' | 'queued-resource',
  request: JsonObject,
): readonly Named[] | undefined {
  const shown = site.shown?.(kind, cloud.now()) as readonly Named[] | undefined;
  return shown?.filter(({ name }) => isIn(name, parentIn(request)));
}

function nodesOf(queuedResource: JsonObject): readonly JsonObject[] {
  const specs = asObject(queuedResource['tpu'])['nodeSpec'];
  return Array.isArray(specs) ? specs.map((spec: JsonValue) => asObject(asObject(spec)['node'])) : [];
}

function nameIn(request: JsonObject): string {
  return asString(request['name']);
}

function parentIn(request: JsonObject): string {
  return asString(request['parent']);
}

function texts(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.map((item: JsonValue) => String(item)) : [];
}

function message(content: JsonObject): Answer {
  return { kind: 'message', message: content };
}

function operation(content: Operation): Answer {
  return { kind: 'operation', operation: content };
}

function page(field: string, all: readonly Named[], request: JsonObject): Answer {
  const { items, nextPageToken } = pageOf(all, request);
  return message({ [field]: items, ...(nextPageToken === '' ? {} : { nextPageToken }) });
}

/** A page of the resources that a listing reaches. It names the unreachable zones of its parent. */
function reachable(cloud: TpuCloud, field: string, all: readonly Named[], request: JsonObject): Answer {
  const { unreachableZones } = cloud.state.settings;
  const { project, zone } = parseLocation(parentIn(request));
  const missing = unreachableZones.filter((each) => zone === '-' || zone === each);
  if (missing.length === 0) return page(field, all, request);
  const reached = all.filter(({ name }) => !missing.includes(zoneOf(name)));
  const { items, nextPageToken } = pageOf(reached, request);
  const unreachable = missing.map((each) => `projects/${project}/locations/${each}`);
  return message({ [field]: items, ...(nextPageToken === '' ? {} : { nextPageToken }), unreachable });
}

/** The subject of a call, for the journal and for refusals: the resource's full name, or a listing's parent. */
export function subjectOf(method: string, request: JsonObject): string {
  const parent = parentIn(request);
  if (method === 'CreateNode') return `${parent}/nodes/${asString(request['nodeId'])}`;
  if (method === 'CreateQueuedResource') return `${parent}/queuedResources/${asString(request['queuedResourceId'])}`;
  if (method === 'UpdateNode') return asString(asObject(request['node'])['name']);
  return nameIn(request) || parent;
}

export function methodOf(name: string): Method {
  const method = METHODS[name];
  if (method === undefined) throw apiErrors.unimplemented(lastSegment(name));
  return method;
}
