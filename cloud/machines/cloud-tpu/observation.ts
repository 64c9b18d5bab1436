import type { protos } from '@google-cloud/tpu';
import { adoptionFrom } from '../../../domain/machine-kinds/cloud-tpu/adoption.js';
import { findAccelerator } from '../../../domain/accelerators.js';
import { ownershipFrom, runSecondsFrom } from '../../../domain/identity.js';
import type { SliceHost } from '../../../domain/slice.js';
import type { EpochMs } from '../../../domain/units.js';
import type { CloudTpuRef } from '../../../domain/machine-kinds/cloud-tpu/words.js';
import type { OwnedResource } from '../port.js';
import type { Observation } from './condition.js';

export type ApiNode = protos.google.cloud.tpu.v2.INode;
export type ApiQueuedResource = protos.google.cloud.tpu.v2.IQueuedResource;
export type ObservedNode = Exclude<Observation['node'], string>;
export type ObservedQueuedResource = Exclude<Observation['queuedResource'], string>;

/** `projects/p/locations/z/nodes/n` is project p, zone z, name n. @throws TypeError for a name of another form */
export function pathParts(path: string | null | undefined): { googleProject: string; zone: string; name: string } {
  const [projects, googleProject, locations, zone, , name] = (path ?? '').split('/');
  if (projects !== 'projects' || locations !== 'locations' || !googleProject || !zone || !name) {
    throw new TypeError(`Cloud TPU named a resource '${path}': wanted projects/P/locations/ZONE/KIND/NAME`);
  }
  return { googleProject, zone, name };
}

/** The client gives enum names in unary answers, but numbers in operations and for values that it does not know. */
function enumName(value: string | number | null | undefined, names: Readonly<Record<number, string>>): string {
  if (typeof value === 'number') return names[value] ?? String(value);
  return value ?? 'STATE_UNSPECIFIED';
}

export function observedNode(node: ApiNode): ObservedNode {
  const health = enumName(node.health, HEALTH);
  const ownership = ownershipFrom(node.labels);
  const adoption = adoptionFrom(node.labels);
  const accelerator = findAccelerator(node.acceleratorType ?? '');
  return {
    state: enumName(node.state, NODE_STATE),
    health: /UNSPECIFIED/.test(health) ? '' : health,
    ...(node.healthDescription && { healthDescription: node.healthDescription }),
    nodeId: String(node.id ?? ''),
    hosts: hostsOf(node),
    ...(accelerator && { hostCount: accelerator.hosts }),
    ...(ownership && { ownership }),
    ...(adoption && { adoption }),
    ...(node.createTime?.seconds && { createdAt: Number(node.createTime.seconds) * 1000 }),
  };
}

/** A host keeps its index even if another host has no address yet. */
function hostsOf(node: ApiNode): readonly SliceHost[] {
  return (node.networkEndpoints ?? []).flatMap((endpoint, index) => {
    const externalIp = endpoint.accessConfig?.externalIp;
    if (!endpoint.ipAddress) return [];
    return [{ reach: 'ssh', index, internalIp: endpoint.ipAddress, ...(externalIp && { externalIp }) }];
  });
}

/** A queued resource has no labels; those of its first node name the owner. */
export function observedQueuedResource(resource: ApiQueuedResource): ObservedQueuedResource {
  const failure = resource.state?.failedData?.error;
  const labels = resource.tpu?.nodeSpec?.[0]?.node?.labels;
  const ownership = ownershipFrom(labels);
  const runSeconds = runSecondsFrom(labels);
  const validUntil = deadlineOf(resource);
  const byUser = enumName(resource.state?.stateInitiator, INITIATOR) === 'USER';
  return {
    state: enumName(resource.state?.state, QUEUED_RESOURCE_STATE),
    ...(failure && { error: { code: failure.code ?? 0, message: failure.message ?? '' } }),
    ...(ownership && { ownership }),
    ...(validUntil !== undefined && { validUntil }),
    ...(runSeconds !== undefined && !byUser && { runSeconds }),
  };
}

/** The service may answer with the requested duration or with the time that it computed from it. */
function deadlineOf({ createTime, queueingPolicy }: ApiQueuedResource): EpochMs | undefined {
  const { validUntilTime, validUntilDuration } = queueingPolicy ?? {};
  const seconds = validUntilTime
    ? Number(validUntilTime.seconds)
    : Number(createTime?.seconds ?? NaN) + Number(validUntilDuration?.seconds ?? NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

// Numbers of the v2 protos (docs/facts.md, "Cloud TPU").
const NODE_STATE = {
  1: 'CREATING',
  2: 'READY',
  3: 'RESTARTING',
  4: 'REIMAGING',
  5: 'DELETING',
  6: 'REPAIRING',
  8: 'STOPPED',
  9: 'STOPPING',
  10: 'STARTING',
  11: 'PREEMPTED',
  12: 'TERMINATED',
  13: 'HIDING',
  14: 'HIDDEN',
  15: 'UNHIDING',
  16: 'UNKNOWN',
};
const INITIATOR = { 1: 'USER', 2: 'SERVICE' };
const HEALTH = { 0: '', 1: 'HEALTHY', 3: 'TIMEOUT', 4: 'UNHEALTHY_TENSORFLOW', 5: 'UNHEALTHY_MAINTENANCE' };
const QUEUED_RESOURCE_STATE = {
  1: 'CREATING',
  2: 'ACCEPTED',
  3: 'PROVISIONING',
  4: 'FAILED',
  5: 'DELETING',
  6: 'ACTIVE',
  7: 'SUSPENDING',
  8: 'SUSPENDED',
  9: 'WAITING_FOR_RESOURCES',
};

/**
 * Returns everything in a listing that carries our labels, each by the ref of the request through which it is deleted. A queued
 * resource of several nodes and each of its nodes give the same ref, even if only some of them are left.
 */
export function ownedIn(
  queuedResources: readonly ApiQueuedResource[],
  nodes: readonly ApiNode[],
): readonly OwnedResource<CloudTpuRef>[] {
  const adopted = nodes.flatMap(adoptedNode);
  const found = [...adopted, ...queuedResources.flatMap(ownedQueuedResource), ...nodes.flatMap(ownedNode)];
  const slices = new Map<string, number>();
  for (const { ref } of found)
    if (ref.slices !== undefined) slices.set(keyOf(ref), Math.max(ref.slices, slices.get(keyOf(ref)) ?? 0));
  return found.map(({ ref, ownership }) => {
    const most = slices.get(keyOf(ref));
    return { ref: most === undefined ? ref : { ...ref, slices: most }, ownership };
  });
}

/** An adopted node, by the name of its slice. Of one that Google has taken nothing is left but a name, which is its owner's. */
function adoptedNode(node: ApiNode): OwnedResource<CloudTpuRef>[] {
  const { adoption, state } = observedNode(node);
  if (adoption === undefined || isOver(state)) return [];
  const { owner, job, run, generation, spec, slice } = adoption;
  const { googleProject, zone, name: adopts } = pathParts(node.name);
  return [
    {
      ref: { kind: 'cloud-tpu', googleProject, zone, name: slice, mode: 'tpu-vm', adopts },
      ownership: { owner, job, run, generation, spec },
    },
  ];
}

/** Whether a node in this state is no machine any more and takes no update. */
export const isOver = (state: string): boolean => ['PREEMPTED', 'TERMINATED'].includes(state);

const keyOf = ({ googleProject, zone, name }: CloudTpuRef): string => `${googleProject}/${zone}/${name}`;

function ownedQueuedResource(resource: ApiQueuedResource): OwnedResource<CloudTpuRef>[] {
  const { ownership } = observedQueuedResource(resource);
  const ref = { kind: 'cloud-tpu', ...pathParts(resource.name), mode: 'queued-resources' } as const;
  const slices = nodeCount(resource);
  return ownership === undefined ? [] : [{ ref: slices > 1 ? { ...ref, slices } : ref, ownership }];
}

/** The service makes one node spec for each node of a multislice; until then the single spec gives their number. */
function nodeCount({ tpu }: ApiQueuedResource): number {
  const specs = tpu?.nodeSpec ?? [];
  return specs.reduce((sum, { multisliceParams }) => sum + (multisliceParams?.nodeCount || 1), 0);
}

function ownedNode(node: ApiNode): OwnedResource<CloudTpuRef>[] {
  const ownership = ownershipFrom(node.labels);
  if (ownership === undefined) return [];
  const place = { kind: 'cloud-tpu', ...pathParts(node.name) } as const;
  if (!node.queuedResource) return [{ ref: { ...place, mode: 'tpu-vm' }, ownership }];
  // A node of a queued resource is deleted through it.
  const queued = { ...place, mode: 'queued-resources' } as const;
  const { name: request } = pathParts(node.queuedResource);
  const number = numberIn(place.name, request);
  return [{ ref: number === undefined ? queued : { ...queued, name: request, slices: number + 1 }, ownership }];
}

/** The number of a node `<request>-<number>`; undefined if the node has another name, such as the request's. */
function numberIn(node: string, request: string): number | undefined {
  const end = node.startsWith(`${request}-`) ? node.slice(request.length + 1) : '';
  return /^\d{1,3}$/.test(end) ? Number(end) : undefined;
}
