import type { Journal } from '../journal.js';
import { usedChips } from '../tpu/capacity.js';
import type { TpuCloud } from '../tpu/cloud.js';
import type { NodeRecord } from '../tpu/model.js';
import { zoneOf } from '../tpu/resource-name.js';
import type { HostFleet } from './parts.js';

interface StatusParts {
  readonly cloud: TpuCloud;
  readonly fleet: HostFleet;
  readonly journal: Journal;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** The whole cloud at this moment, for people and tests. */
export function statusOf({ cloud, fleet, journal, facts }: StatusParts): object {
  const { settings, refusals, holds, listLag, queuedResources, nodes } = cloud.state;
  return {
    ...facts,
    journalSeq: journal.lastSeq,
    settings,
    refusals,
    holds,
    ...(listLag !== undefined && { listLag }),
    queuedResources: Object.values(queuedResources).map(({ resource, chips, nodes: made }) => {
      return {
        name: resource.name,
        state: resource.state.state,
        initiator: resource.state.stateInitiator,
        chips,
        node: made[0],
        nodes: made,
      };
    }),
    nodes: Object.values(nodes).map((node) => ({
      ...nodeStatus(node),
      chipsUsedInZone: usedChips(cloud.state, zoneOf(node.resource.name), node.resource.acceleratorType),
      hosts: hostsStatus(node, fleet),
    })),
    vms: Object.values(cloud.state.compute.vms).map(({ path, resource, machineType, host }) => {
      const [vm] = fleet.vmsOf(path);
      const { id, status: state } = resource;
      const labels = resource['labels'] ?? {};
      return { name: path, id, state, machineType, labels, ...host, init: vm?.initPid };
    }),
  };
}

function nodeStatus({ resource, chips }: NodeRecord): object {
  const { name, id, state, health, acceleratorType } = resource;
  return { name, id, state, health, acceleratorType, chips, labels: resource['labels'] ?? {} };
}

function hostsStatus(node: NodeRecord, fleet: HostFleet): readonly object[] {
  const vms = fleet.vmsOf(node.resource.name);
  return node.hosts.map((host, index) => {
    const vm = vms[index];
    const process = vm === undefined ? 'none' : vm.isAlive() ? 'running' : 'dead';
    return { ...host, process, init: vm?.initPid, isAdopted: vm?.isAdopted };
  });
}
