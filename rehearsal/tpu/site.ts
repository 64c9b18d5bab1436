import { ACCELERATOR_TYPES, GENERATION_FACTS } from './accelerators.js';
import type { JsonObject } from '../json.js';
import type { ProjectFacts } from '../project/facts.js';
import { apiErrors } from './api-error.js';
import type { ListHistory } from './list-lag.js';
import { lastSegment, parseLocation } from './resource-name.js';
import { isGoogleZone, TPU_ZONES } from './zones.js';

/** Facts beside the cloud's resources: their hosts' keys, the rehearsed project, and past contents of lists. */
export interface Site {
  /** Public half of each host's key, by the worker's index. Has holes, or is shorter, while the VMs boot. */
  readonly hostKeys: (nodeName: string) => readonly (string | undefined)[];
  /** The present facts. */
  readonly facts: () => Pick<ProjectFacts, 'zones' | 'number'>;
  /** Contents of lists while they lag. Undefined: the present resources. */
  readonly shown?: ListHistory['shown'] | undefined;
}

/**
 * @param name of anything in a location; zone `-` is all zones
 * @throws ApiError if the location is not one of Google's
 */
export function checkLocation(name: string, site: Site): void {
  const [, project = '', collection, zone = ''] = name.split('/');
  if (collection !== 'locations' || zone === '-' || isOffered(zone, site) || isGoogleZone(zone)) return;
  throw apiErrors.unknownZone(project, zone);
}

/** Checks that the zone offers what a node asks for. @throws ApiError */
export function checkOffer(parent: string, node: JsonObject, site: Site): void {
  const { zone } = parseLocation(parent);
  if (!isOffered(zone, site)) throw apiErrors.unsupportedZone(zone);
  const { acceleratorTypes, runtimeVersions } = site.facts().zones[zone] ?? {};
  const { acceleratorType: type, runtimeVersion: version } = node;
  if (typeof type === 'string' && type !== '' && acceleratorTypes?.includes(type) === false) {
    throw apiErrors.unknownAccelerator(type, zone);
  }
  // An empty version is refused as missing.
  if (typeof version !== 'string' || version === '') return;
  const isThere = runtimeVersions?.includes(version) ?? RUNTIME_FAMILIES.some((family) => family.test(version));
  if (!isThere) throw apiErrors.unknownRuntime(version);
}

function isOffered(zone: string, site: Site): boolean {
  return site.facts().zones[zone] !== undefined || TPU_ZONES.has(zone);
}

/**
 * Prefixes of TPU VM images' names (docs.cloud.google.com/tpu/docs/runtimes, 2026-11). New images appear each month, so all names
 * with these prefixes are accepted: a fixed list would refuse jobs that run at Google.
 */
const RUNTIME_FAMILIES: readonly RegExp[] = [/^tpu-ubuntu\d{4}-/, /^tpu-vm-/, /^v2-/, /^cos-/];

export function acceleratorTypes(parent: string, site: Site): readonly Named[] {
  const offered = site.facts().zones[parseLocation(parent).zone]?.acceleratorTypes;
  return ACCELERATOR_TYPES.filter(({ type }) => offered?.includes(type) ?? true).map(
    ({ type, generation, topology }) => ({
      name: `${parent}/acceleratorTypes/${type}`,
      type,
      acceleratorConfigs: [{ type: GENERATION_FACTS[generation].apiEnum, topology }],
    }),
  );
}

export function runtimeVersions(parent: string, site: Site): readonly Named[] {
  const offered = site.facts().zones[parseLocation(parent).zone]?.runtimeVersions;
  const known = Object.values(GENERATION_FACTS).map((facts) => facts.defaultRuntime);
  return [...new Set(offered ?? known)].map((version) => ({ name: `${parent}/runtimeVersions/${version}`, version }));
}

/** @param project `projects/P` */
export function locations(project: string, site: Site): readonly Named[] {
  return Object.keys(site.facts().zones).map((zone) => location(`${project}/locations/${zone}`));
}

/** @param name `projects/P/locations/Z` */
export function findLocation(name: string, site: Site): Named {
  const { project, zone } = parseLocation(name);
  if (!isOffered(zone, site)) throw apiErrors.unknownZone(project, zone);
  return location(name);
}

function location(name: string): Named {
  const zone = lastSegment(name);
  return { name, locationId: zone, labels: { 'cloud.googleapis.com/region': zone.replace(/-[a-z]$/, '') } };
}

/** Any resource with its full name. */
export interface Named extends JsonObject {
  readonly name: string;
}

/** Returns the resource with this name. @throws ApiError */
export function named(all: readonly Named[], name: string): Named {
  const found = all.find((item) => item.name === name);
  if (found === undefined) throw apiErrors.notFound(name);
  return found;
}
