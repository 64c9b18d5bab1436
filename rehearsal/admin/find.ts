import type { ComputeCloud } from '../compute/compute-cloud.js';
import type { VmRecord } from '../compute/model.js';
import type { TpuCloud } from '../tpu/cloud.js';
import type { NodeRecord, QueuedResourceRecord } from '../tpu/model.js';
import { lastSegment } from '../tpu/resource-name.js';
import { AdminError } from './admin-error.js';

/** Finds the node with this name, or the node of the queued resource with this name: a full name or its last part. */
export function findNode(cloud: TpuCloud, name: string): NodeRecord {
  const nodes = Object.values(cloud.state.nodes);
  const owners = new Set(requestsNamed(cloud, name).map((record) => record.resource.name));
  const found = nodes.filter(
    ({ resource }) => isNamed(resource.name, name) || owners.has(resource.queuedResource ?? ''),
  );
  return theOne('node', name, found, nodes);
}

/** Finds a queued resource by its full name or the last part. */
export function findQueuedResource(cloud: TpuCloud, name: string): QueuedResourceRecord {
  const all = Object.values(cloud.state.queuedResources);
  return theOne('queued resource', name, requestsNamed(cloud, name), all);
}

/** Finds a Compute Engine VM by its full name or the last part; undefined if there is none. */
export function findVm(compute: ComputeCloud, name: string): VmRecord | undefined {
  return Object.values(compute.state.vms).find(({ path }) => isNamed(path, name));
}

function requestsNamed(cloud: TpuCloud, name: string): readonly QueuedResourceRecord[] {
  return Object.values(cloud.state.queuedResources).filter(({ resource }) => isNamed(resource.name, name));
}

function isNamed(full: string, name: string): boolean {
  return full === name || lastSegment(full) === name;
}

/** Most names that a not-found error lists. */
const NAMES_SHOWN = 20;

function theOne<T extends { readonly resource: { readonly name: string } }>(
  kind: string,
  name: string,
  found: readonly T[],
  all: readonly T[],
): T {
  const [one, ...others] = found;
  if (one === undefined) throw new AdminError(404, `no ${kind} '${name}'; there are: ${namesOf(all)}`);
  if (others.length === 0) return one;
  throw new AdminError(400, `'${name}' is ${found.length} ${kind}s; say which: ${namesOf(found)}`);
}

function namesOf(records: readonly { readonly resource: { readonly name: string } }[]): string {
  const names = records.slice(0, NAMES_SHOWN).map((record) => record.resource.name);
  const more = records.length > NAMES_SHOWN ? ` and ${records.length - NAMES_SHOWN} more` : '';
  return names.length === 0 ? 'none' : `${names.join(', ')}${more}`;
}
