import { ACCELERATOR_TYPES, GENERATION_FACTS } from '../../domain/accelerators.js';
import type { JsonObject, JsonValue } from '../json.js';
import { asObject, asString } from '../json.js';
import { ApiError, apiErrors } from './api-error.js';
import type { TpuCloud } from './cloud.js';
import type { Operation } from './model.js';
import { getOperation, listOperations } from './operations.js';
import { lastSegment, parseZone } from './resource-name.js';

/** The answer to a call: an operation (its Any is the codec's to make) or a message in canonical JSON. */
export type Answer =
  | { readonly kind: 'operation'; readonly operation: Operation }
  | { readonly kind: 'operations'; readonly operations: readonly Operation[]; readonly nextPageToken: string }
  | { readonly kind: 'message'; readonly message: JsonObject };

/** The public half of a host's key, by the worker's index; empty while the VMs boot. */
export type HostKeys = (nodeName: string) => readonly string[];

/** What the cloud's resources do not say: their hosts' keys, and which zones offer what. */
export interface Site {
  readonly hostKeys: HostKeys;
  /** As they are now; a zone that is not named offers everything. */
  readonly zones: () => Readonly<Record<string, ZoneOffer>>;
}
export interface ZoneOffer {
  readonly acceleratorTypes?: readonly string[] | undefined;
  readonly runtimeVersions?: readonly string[] | undefined;
}

type Method = (cloud: TpuCloud, request: JsonObject, site: Site) => Answer;

/** Calls by their RPC's name. Requests are the RPC's own messages in proto3 JSON. */
export const METHODS: Readonly<Record<string, Method>> = {
  ListNodes: (cloud, request) => page('nodes', cloud.listNodes(asString(request['parent'])), request),
  GetNode: (cloud, request) => message(cloud.getNode(asString(request['name']))),
  CreateNode: (cloud, request) =>
    operation(cloud.createNode(asString(request['parent']), asString(request['nodeId']), asObject(request['node']))),
  DeleteNode: (cloud, request) => operation(cloud.deleteNode(asString(request['name']))),
  ListQueuedResources: (cloud, request) =>
    page('queuedResources', cloud.listQueuedResources(asString(request['parent'])), request),
  GetQueuedResource: (cloud, request) => message(cloud.getQueuedResource(asString(request['name']))),
  CreateQueuedResource: (cloud, request) =>
    operation(
      cloud.createQueuedResource(
        asString(request['parent']),
        asString(request['queuedResourceId']),
        asObject(request['queuedResource']),
      ),
    ),
  DeleteQueuedResource: (cloud, request) =>
    operation(cloud.deleteQueuedResource(asString(request['name']), request['force'] === true)),
  GetOperation: (cloud, request) => operation(getOperation(cloud.state, asString(request['name']))),
  ListOperations: (cloud, request) => {
    const { items, nextPageToken } = cut(listOperations(cloud.state, asString(request['name'])), request);
    return { kind: 'operations', operations: items, nextPageToken };
  },
  ListAcceleratorTypes: (_cloud, request, site) =>
    page('acceleratorTypes', acceleratorTypes(asString(request['parent']), site), request),
  ListRuntimeVersions: (_cloud, request, site) =>
    page('runtimeVersions', runtimeVersions(asString(request['parent']), site), request),
  ListLocations: (_cloud, request, site) => page('locations', locations(asString(request['name']), site), request),
  GetGuestAttributes: guestAttributes,
};

function acceleratorTypes(parent: string, site: Site): readonly JsonObject[] {
  const offered = site.zones()[parseZone(parent).zone]?.acceleratorTypes;
  return ACCELERATOR_TYPES.filter(({ type }) => offered?.includes(type) ?? true).map(
    ({ type, generation, topology }) => ({
      name: `${parent}/acceleratorTypes/${type}`,
      type,
      acceleratorConfigs: [{ type: GENERATION_FACTS[generation].apiEnum, topology }],
    }),
  );
}

function runtimeVersions(parent: string, site: Site): readonly JsonObject[] {
  const offered = site.zones()[parseZone(parent).zone]?.runtimeVersions;
  const known = Object.values(GENERATION_FACTS).map((facts) => facts.defaultRuntime);
  return [...new Set(offered ?? known)].map((version) => ({ name: `${parent}/runtimeVersions/${version}`, version }));
}

/** @param project `projects/P` */
function locations(project: string, site: Site): readonly JsonObject[] {
  return Object.keys(site.zones()).map((zone) => ({ name: `${project}/locations/${zone}`, locationId: zone }));
}

/** Host keys as the guest agent posts them: namespace `hostkeys`, key `ssh-ed25519`. No worker ids, or "", means all. */
function guestAttributes(cloud: TpuCloud, request: JsonObject, { hostKeys }: Site): Answer {
  const node = cloud.getNode(asString(request['name']));
  const ids = Array.isArray(request['workerIds']) ? request['workerIds'].map((id: JsonValue) => String(id)) : [];
  const keys = hostKeys(node.name);
  const wanted = ids.length === 0 || ids.includes('') ? keys.map((_, index) => index) : ids.map(Number);
  const unknown = wanted.find(
    (index) => !Number.isInteger(index) || index < 0 || index >= node.networkEndpoints.length,
  );
  if (unknown !== undefined) throw new ApiError('INVALID_ARGUMENT', `worker ${unknown} is not one of ${node.name}`);
  const attributes = wanted.flatMap((index) => {
    const key = keys[index];
    if (key === undefined) return [];
    const items = [{ namespace: 'hostkeys', key: 'ssh-ed25519', value: lastWord(key) }];
    return [{ queryPath: 'hostkeys/', queryValue: { items } }];
  });
  return message({ guestAttributes: attributes });
}

function lastWord(publicKey: string): string {
  return publicKey.slice(publicKey.lastIndexOf(' ') + 1);
}

function message(content: JsonObject): Answer {
  return { kind: 'message', message: content };
}

function operation(content: Operation): Answer {
  return { kind: 'operation', operation: content };
}

function page(field: string, all: readonly JsonObject[], request: JsonObject): Answer {
  const { items, nextPageToken } = cut(all as readonly (JsonObject & { readonly name: string })[], request);
  return message({ [field]: items, ...(nextPageToken === '' ? {} : { nextPageToken }) });
}

/**
 * One page of a listing in order of names. The token is the last name handed out, so that a page is right whatever was
 * added or deleted meanwhile. Real pages are 1000 at most.
 */
function cut<T extends { readonly name: string }>(
  all: readonly T[],
  request: JsonObject,
): { readonly items: readonly T[]; readonly nextPageToken: string } {
  const size = Math.min(Number(request['pageSize'] ?? 0) || 1000, 1000);
  if (size < 0) throw new ApiError('INVALID_ARGUMENT', `page_size ${size} is negative`);
  const token = asString(request['pageToken']);
  const after = token === '' ? '' : decodeToken(token);
  const rest = all.filter((item) => item.name > after).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const items = rest.slice(0, size);
  const last = items.at(-1);
  const isLast = items.length === rest.length || last === undefined;
  return { items, nextPageToken: isLast ? '' : Buffer.from(last.name).toString('base64url') };
}

function decodeToken(token: string): string {
  const name = Buffer.from(token, 'base64url').toString();
  if (!name.startsWith('projects/')) throw new ApiError('INVALID_ARGUMENT', `page_token '${token}' is not valid`);
  return name;
}

/** What a call is about, for the journal and the rules of refusals: the resource's full name, or a listing's parent. */
export function subjectOf(method: string, request: JsonObject): string {
  const parent = asString(request['parent']);
  if (method === 'CreateNode') return `${parent}/nodes/${asString(request['nodeId'])}`;
  if (method === 'CreateQueuedResource') return `${parent}/queuedResources/${asString(request['queuedResourceId'])}`;
  return asString(request['name']) || parent;
}

export function methodOf(name: string): Method {
  const method = METHODS[name];
  if (method === undefined) throw apiErrors.unimplemented(lastSegment(name));
  return method;
}
