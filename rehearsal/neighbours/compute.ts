import { createHash } from 'node:crypto';
import type { JsonObject } from '../json.js';
import type { ProjectFacts } from '../project/facts.js';
import { regionOf } from '../project/facts.js';
import { ApiError } from '../tpu/api-error.js';
import type { NeighbourCall, NeighbourRoute } from './route.js';

const BASE = String.raw`^/compute/v1/projects/(?<project>[^/:]+)`;
const deniedText = (permission: string, resource: string): string =>
  `Required '${permission}' permission for '${resource}'`;

/**
 * The part of Compute Engine v1 that tells whether a TPU VM could be reached (cloud.google.com/compute/docs/reference/rest/v1).
 */
export const COMPUTE: readonly NeighbourRoute[] = [
  route(
    '',
    'compute.projects.get',
    ({ project = '' }) => `projects/${project}`,
    ({ facts, path }) => ({
      kind: 'compute#project',
      id: idOf(facts.id),
      name: path['project'],
      defaultServiceAccount: `${facts.number}-compute@developer.gserviceaccount.com`,
      // gcloud crashes on a fingerprint that is not base64 (docs/facts.md, "gcloud and the VMs").
      commonInstanceMetadata: {
        kind: 'compute#metadata',
        fingerprint: Buffer.from('rehearsal').toString('base64'),
        items: Object.entries(facts.metadata).map(([key, value]) => ({ key, value })),
      },
      quotas: quotasOf(facts.regionQuotas['any'] ?? {}, true),
    }),
  ),
  route('/global/networks/(?<network>[^/]+)', 'compute.networks.get', pathOf('global/networks', 'network'), network),
  route('/global/firewalls', 'compute.firewalls.list', ({ project = '' }) => `projects/${project}`, firewalls),
  route('/regions/(?<region>[^/]+)', 'compute.regions.get', pathOf('regions', 'region'), region),
  route(
    '/regions/(?<region>[^/]+)/subnetworks/(?<subnetwork>[^/]+)',
    'compute.subnetworks.get',
    ({ project, region: place, subnetwork: name }) => `projects/${project}/regions/${place}/subnetworks/${name}`,
    subnetwork,
  ),
];

type Path = Readonly<Record<string, string>>;

function route(
  path: string,
  permission: string,
  resource: (path: Path) => string,
  answer: (call: NeighbourCall) => JsonObject,
): NeighbourRoute {
  const [, kind = '', verb = ''] = permission.split('.');
  const method = `compute.v1.${kind}.${verb}`;
  const pattern = new RegExp(`${BASE}${path}$`);
  return {
    verb: 'GET',
    path: pattern,
    service: 'compute.googleapis.com',
    method,
    permission,
    resource,
    deniedText,
    answer,
  };
}

function pathOf(collection: string, name: string): (path: Path) => string {
  return (path) => `projects/${path['project']}/${collection}/${path[name]}`;
}

function network({ facts, path }: NeighbourCall): JsonObject {
  const name = path['network'] ?? '';
  const found = facts.networks[name];
  const resource = `projects/${path['project']}/global/networks/${name}`;
  if (found === undefined) throw notFound(resource);
  const { autoCreateSubnetworks } = found;
  return { kind: 'compute#network', id: idOf(resource), name, selfLink: url(resource), autoCreateSubnetworks };
}

function subnetwork({ facts, path }: NeighbourCall): JsonObject {
  const { region: place = '', subnetwork: name = '', project } = path;
  const resource = `projects/${project}/regions/${place}/subnetworks/${name}`;
  const found = findSubnetwork(facts, place, name);
  if (found === undefined) throw notFound(resource);
  return {
    kind: 'compute#subnetwork',
    id: idOf(resource),
    name,
    selfLink: url(resource),
    network: url(`projects/${project}/global/networks/${found.network}`),
    region: url(`projects/${project}/regions/${place}`),
    ipCidrRange: found.ipCidrRange,
    privateIpGoogleAccess: found.privateIpGoogleAccess,
  };
}

function findSubnetwork(
  facts: ProjectFacts,
  place: string,
  name: string,
): ProjectFacts['subnetworks'][string] | undefined {
  const own = facts.subnetworks[`${place}/${name}`];
  const auto = facts.networks[name];
  if (own !== undefined || auto?.autoCreateSubnetworks !== true || !isRegion(place)) return own;
  return { network: name, ipCidrRange: '10.128.0.0/20', privateIpGoogleAccess: auto.privateIpGoogleAccess };
}

function firewalls({ facts, path, query }: NeighbourCall): JsonObject {
  // Ignoring a filter would silently return a wrong list.
  if (query.has('filter')) throw new ApiError('UNIMPLEMENTED', 'firewalls.list: the rehearsal cloud has no filters');
  const all = Object.entries(facts.firewalls).map(([name, rule]) => firewallOf(path['project'] ?? '', name, rule));
  const size = Number(query.get('maxResults') ?? 500);
  const start = Number(query.get('pageToken') ?? 0);
  const items = all.slice(start, start + size);
  return {
    kind: 'compute#firewallList',
    ...(items.length > 0 && { items }),
    ...(start + size < all.length && { nextPageToken: String(start + size) }),
  };
}

function firewallOf(project: string, name: string, rule: ProjectFacts['firewalls'][string]): JsonObject {
  const { network: where, allowed, denied, targetTags, ...rest } = rule;
  const resource = `projects/${project}/global/firewalls/${name}`;
  return {
    kind: 'compute#firewall',
    id: idOf(resource),
    name,
    selfLink: url(resource),
    network: url(`projects/${project}/global/networks/${where}`),
    ...rest,
    ...(targetTags !== undefined && { targetTags }),
    ...(allowed.length > 0 && { allowed: allowed.map(protocolOf) }),
    ...(denied.length > 0 && { denied: denied.map(protocolOf) }),
  };
}

/** `tcp:22,80` -> `{IPProtocol: 'tcp', ports: ['22', '80']}` */
function protocolOf(text: string): JsonObject {
  const [protocol = '', ports] = text.split(':');
  return { IPProtocol: protocol, ...(ports !== undefined && { ports: ports.split(',') }) };
}

function region({ facts, path }: NeighbourCall): JsonObject {
  const { region: name = '', project } = path;
  const resource = `projects/${project}/regions/${name}`;
  if (!isRegion(name)) throw notFound(resource);
  const quotas = { ...facts.regionQuotas['any'], ...facts.regionQuotas[name] };
  const zones = Object.keys(facts.zones).filter((zone) => regionOf(zone) === name);
  return {
    kind: 'compute#region',
    id: idOf(resource),
    name,
    status: 'UP',
    selfLink: url(resource),
    zones: zones.map((zone) => url(`projects/${project}/zones/${zone}`)),
    quotas: quotasOf(quotas, false),
  };
}

/** Quotas of all regions belong to the project, not to a region. */
const quotasOf = (quotas: ProjectFacts['regionQuotas'][string], isOfAllRegions: boolean): readonly JsonObject[] =>
  Object.entries(quotas)
    .filter(([metric]) => metric.endsWith('_ALL_REGIONS') === isOfAllRegions)
    .map(([metric, { limit, usage }]) => ({ metric, limit, usage }));

const isRegion = (name: string): boolean => /^[a-z]+-[a-z]+\d+$/.test(name);

function notFound(resource: string): ApiError {
  return new ApiError('NOT_FOUND', `The resource '${resource}' was not found`);
}

function url(resource: string): string {
  return `https://www.googleapis.com/compute/v1/${resource}`;
}

/** The same id for the same resource; a number like Google's. */
function idOf(resource: string): string {
  return String(createHash('sha256').update(resource).digest().readBigUInt64BE() >> 1n);
}
