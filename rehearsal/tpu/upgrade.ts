import { asObject } from '../json.js';
import type { NodeRecord, QueuedResourceRecord } from './model.js';
import { readScheduling, tierOf } from './requests.js';
import type { CloudState } from './state.js';

/** Converts a state that an older version may have saved, before tiers, multislices and quota, to the present form. */
export function upgraded(state: CloudState): CloudState {
  for (const [name, node] of Object.entries(state.nodes)) state.nodes[name] = upgradedNode(node);
  for (const [name, record] of Object.entries(state.queuedResources)) {
    state.queuedResources[name] = upgradedRequest(record);
  }
  return state;
}

function upgradedNode(node: NodeRecord): NodeRecord {
  const old: Partial<NodeRecord> & { readonly wasPreempted?: boolean } = node;
  const tier = old.tier ?? tierOf(asObject(node.resource['schedulingConfig']));
  return { ...node, tier, isReclaimed: old.isReclaimed ?? old.wasPreempted === true };
}

function upgradedRequest(record: QueuedResourceRecord): QueuedResourceRecord {
  const old: Partial<QueuedResourceRecord> & { readonly node?: string } = record;
  if (old.nodes !== undefined) return record;
  return { ...record, nodes: [old.node ?? ''], tier: tierOf(readScheduling({}, record.resource)), isOverQuota: false };
}
