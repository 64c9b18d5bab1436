import type { Generation } from './accelerators.js';
import { findAccelerator, GENERATION_FACTS } from './accelerators.js';
import type { JsonObject } from '../json.js';
import { asObject, asString } from '../json.js';
import { regionOf } from '../project/facts.js';
import type { ApiError } from './api-error.js';
import { apiErrors } from './api-error.js';
import type { NodeRecord, QueuedResourceRecord } from './model.js';
import { zoneOf } from './resource-name.js';
import type { Settings, Tier } from './settings.js';
import type { CloudState } from './state.js';

/** The limits that a resource draws on. */
export interface Place {
  readonly project: string;
  readonly zone: string;
  readonly generation: string;
  readonly tier: Tier;
}

/** @param name full name of a node or queued resource */
export function placeOf(name: string, acceleratorType: string, tier: Tier): Place {
  const generation = findAccelerator(acceleratorType)?.generation ?? acceleratorType;
  return { project: name.split('/')[1] ?? '', zone: zoneOf(name), generation, tier };
}

/** Key of the chips that all tiers of a generation share: an entry of `Settings.capacity` without a tier. */
export function poolOf({ zone, generation }: Place): string {
  return `${zone}/${generation}`;
}

/** Keys of `Settings.capacity` that apply, including those without a limit. */
export function capacityKeys(place: Place): readonly [pool: string, tier: string] {
  return [poolOf(place), `${poolOf(place)}/${place.tier}`];
}

export function quotaKey({ project, zone, generation, tier }: Place): string {
  return `${project}/${zone}/${generation}/${tier}`;
}

/** Quota of a place. A project without an entry has that of `*`. Undefined: no limit. */
export function quotaLimit(settings: Settings, place: Place): number | undefined {
  return settings.quota[quotaKey(place)] ?? settings.quota[quotaKey({ ...place, project: '*' })];
}

/** The provider's chips that a node holds: 0 after a preemption or a stop. A node in DELETING holds them until it is gone. */
export function capacityOfNode(node: NodeRecord): number {
  const isFree = node.isReclaimed || node.resource.state === 'STOPPED' || node.resource.state === 'TERMINATED';
  return isFree ? 0 : node.chips;
}

/**
 * Chips of the project's quota that a request holds: from its creation until it is gone, even when SUSPENDED or FAILED
 * (marin#87), unless quota itself refused it.
 */
export function quotaOfRequest(record: QueuedResourceRecord): number {
  return record.isOverQuota ? 0 : record.chips;
}

/**
 * Quota chips that a node holds: 0 if its request holds them. Any other node, even a preempted one, holds them until it is gone
 * (skypilot#1468).
 */
export function quotaOfNode(node: NodeRecord, state: Pick<CloudState, 'queuedResources'>): number {
  const owner = state.queuedResources[node.resource.queuedResource ?? ''];
  return owner?.nodes.includes(node.resource.name) === true ? 0 : node.chips;
}

/** @param limit chips */
export function quotaExhausted({ generation, tier, zone }: Place, limit: number): ApiError {
  const api = GENERATION_FACTS[generation as Generation]?.apiEnum ?? generation;
  const tierName = { reserved: 'Reserved', 'on-demand': '', spot: 'Preemptible' }[tier];
  const quota = `TPU${api.replace('_POD', '')}s${tierName}PodPerProjectPerRegionForTPUAPI`;
  return apiErrors.quotaExhausted(quota, limit, regionOf(zone));
}

/**
 * Chips that live nodes of this type's generation hold in the zone, all tiers together. Each call looks at all nodes, so use it
 * only for people.
 */
export function usedChips(state: CloudState, zone: string, acceleratorType: string): number {
  const pool = poolOf(placeOf(`projects//locations/${zone}`, acceleratorType, 'on-demand'));
  const nodes = Object.values(state.nodes).filter((node) => poolOf(placeOfNode(node)) === pool);
  return nodes.reduce((sum, node) => sum + capacityOfNode(node), 0);
}

export function placeOfNode({ resource, tier }: NodeRecord): Place {
  return placeOf(resource.name, resource.acceleratorType, tier);
}

export function placeOfRequest(record: QueuedResourceRecord): Place {
  return placeOf(record.resource.name, acceleratorOf(record), record.tier);
}

/** All nodes of a request have one type. */
export function acceleratorOf(record: QueuedResourceRecord): string {
  return asString(nodesAskedFor(record)[0]?.['acceleratorType']);
}

/** The nodes of the request's specs, in their order. */
export function nodesAskedFor({ resource }: QueuedResourceRecord): readonly JsonObject[] {
  const specs = asObject(resource['tpu'])['nodeSpec'];
  return Array.isArray(specs) ? specs.map(asObject).map((spec) => asObject(spec['node'])) : [];
}
