import { findAccelerator } from '../../domain/accelerators.js';
import type { NodeRecord, QueuedResourceRecord } from './model.js';
import { zoneOf } from './resource-name.js';
import type { CloudState } from './state.js';

/** The key of `Settings.capacity` that a slice of this type in this zone draws on. */
export function capacityKey(zone: string, acceleratorType: string): string {
  return `${zone}/${findAccelerator(acceleratorType)?.generation ?? acceleratorType}`;
}

/** True if `chips` more fit beside what the zone's live nodes hold; a node counts until it is gone or was preempted. */
export function fits(state: CloudState, zone: string, acceleratorType: string, chips: number): boolean {
  const limit = state.settings.capacity[capacityKey(zone, acceleratorType)];
  return limit === undefined || usedChips(state, zone, acceleratorType) + chips <= limit;
}

export function usedChips(state: CloudState, zone: string, acceleratorType: string): number {
  const key = capacityKey(zone, acceleratorType);
  return Object.values(state.nodes)
    .filter((node) => !node.wasPreempted && keyOfNode(node) === key)
    .reduce((sum, node) => sum + node.chips, 0);
}

/** Requests whose turn comes before others': by time of creation, then name. */
export function inQueueOrder(records: readonly QueuedResourceRecord[]): readonly QueuedResourceRecord[] {
  const key = (record: QueuedResourceRecord): string =>
    `${String(record.resource['createTime'])} ${record.resource.name}`;
  return records.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

function keyOfNode(node: NodeRecord): string {
  return capacityKey(zoneOf(node.resource.name), node.resource.acceleratorType);
}
