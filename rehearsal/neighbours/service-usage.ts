import type { JsonObject } from '../json.js';
import type { ProjectFacts } from '../project/facts.js';
import { regionOf } from '../project/facts.js';
import { ApiError } from '../tpu/api-error.js';
import type { NeighbourCall, NeighbourRoute } from './route.js';

const SERVICE = 'serviceusage.googleapis.com';
const TPU = 'tpu.googleapis.com';
const resource = ({ project = '', service = '' }: Readonly<Record<string, string>>): string =>
  `projects/${project}/services/${service}`;

/** Service Usage v1 and v1beta1 (cloud.google.com/service-usage/docs/reference/rest, 2026-11). */
export const SERVICE_USAGE: readonly NeighbourRoute[] = [
  {
    verb: 'GET',
    path: /^\/v1\/projects\/(?<project>[^/:]+)\/services\/(?<service>[^/:]+)$/,
    service: SERVICE,
    method: 'GetService',
    permission: 'serviceusage.services.get',
    resource,
    deniedText: (_permission, name) => `Permission denied to get service [${name.slice(name.lastIndexOf('/') + 1)}]`,
    answer: ({ facts, path }) => ({
      name: `projects/${facts.number}/services/${path['service']}`,
      parent: `projects/${facts.number}`,
      config: { name: path['service'] },
      state: facts.disabledServices.includes(path['service'] ?? '') ? 'DISABLED' : 'ENABLED',
    }),
  },
  {
    verb: 'GET',
    path: /^\/v1beta1\/projects\/(?<project>[^/:]+)\/services\/(?<service>[^/:]+)\/consumerQuotaMetrics$/,
    service: SERVICE,
    method: 'ListConsumerQuotaMetrics',
    permission: 'serviceusage.quotas.get',
    resource,
    answer: quotaPage,
  },
];

function quotaPage({ facts, path, query }: NeighbourCall): JsonObject {
  const all = path['service'] === TPU ? quotaMetrics(facts, query.get('view') === 'FULL') : [];
  const size = Number(query.get('pageSize') ?? 100);
  const start = Number(query.get('pageToken') ?? 0);
  if (!Number.isInteger(size) || size < 1 || !Number.isInteger(start)) {
    throw new ApiError('INVALID_ARGUMENT', 'Request contains an invalid argument.');
  }
  const metrics = all.slice(start, start + size);
  return { metrics, ...(start + size < all.length && { nextPageToken: String(start + size) }) };
}

function quotaMetrics(facts: ProjectFacts, isFull: boolean): readonly JsonObject[] {
  const parent = `projects/${facts.number}/services/${TPU}/consumerQuotaMetrics`;
  return Object.keys(facts.tpuQuotas).map((name) => {
    const metric = `${TPU}/${name}`;
    const metricName = `${parent}/${encodeURIComponent(metric)}`;
    const consumerQuotaLimits = [quotaLimit(facts, name, metricName, isFull)];
    return { name: metricName, metric, displayName: name, unit: '1', consumerQuotaLimits };
  });
}

function quotaLimit(facts: ProjectFacts, name: string, metricName: string, isFull: boolean): JsonObject {
  const quota = facts.tpuQuotas[name];
  if (quota === undefined) throw new RangeError(`no quota ${name}`);
  const zones = Object.keys(facts.zones);
  const supportedLocations = quota.per === 'zone' ? zones : [...new Set(zones.map(regionOf))];
  // The basic view shows a place only if its limit was changed.
  const places = isFull ? [...new Set([...supportedLocations, ...Object.keys(quota.at)])] : Object.keys(quota.at);
  return {
    name: `${metricName}/limits/%2Fproject%2F${quota.per}`,
    metric: `${TPU}/${name}`,
    unit: `1/{project}/{${quota.per}}`,
    quotaBuckets: [
      bucket(quota.limit, quota.limit, {}),
      ...places.map((place) => bucket(quota.at[place] ?? quota.limit, quota.limit, { [quota.per]: place })),
    ],
    supportedLocations,
  };
}

/** A limit of 0 is left out of the answer, as in every JSON message: readers must take a missing limit for 0. */
function bucket(effective: number, standard: number, dimensions: Readonly<Record<string, string>>): JsonObject {
  return {
    ...(effective !== 0 && { effectiveLimit: String(effective) }),
    ...(standard !== 0 && { defaultLimit: String(standard) }),
    ...(Object.keys(dimensions).length > 0 && { dimensions }),
  };
}
