import { ownershipFrom } from '../../../domain/identity.js';
import type { CloudTpuRef } from '../../../domain/machine-kinds/cloud-tpu/words.js';
import type { OwnedResource } from '../port.js';
import { type ApiNode, type ApiQueuedResource, observedQueuedResource, pathParts } from './observation.js';

/**
 * Returns everything in a listing that carries our labels, each by the ref of the request through which it is deleted. A queued
 * resource of several nodes and each of its nodes give the same ref, even if only some of them are left.
 */
export function ownedIn(
  queuedResources: readonly ApiQueuedResource[],
  nodes: readonly ApiNode[],
): readonly OwnedResource<CloudTpuRef>[] {
  const found = [...queuedResources.flatMap(ownedQueuedResource), ...nodes.flatMap(ownedNode)];
  const slices = new Map<string, number>();
  for (const { ref } of found)
    if (ref.slices !== undefined) slices.set(keyOf(ref), Math.max(ref.slices, slices.get(keyOf(ref)) ?? 0));
  return found.map(({ ref, ownership }) => {
    const most = slices.get(keyOf(ref));
    return { ref: most === undefined ? ref : { ...ref, slices: most }, ownership };
  });
}

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
