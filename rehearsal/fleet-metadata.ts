import { asObject, asString } from './json.js';
import { findAccelerator } from './tpu/accelerators.js';
import type { NodeRecord } from './tpu/model.js';
import { lastSegment, zoneOf } from './tpu/resource-name.js';
import type { InstanceFacts, ServiceAccountFacts } from './vm/metadata/instance.js';

/** What the VMs' metadata servers know of the project. */
export interface ProjectMetadata {
  readonly number: string;
  /** Of all its VMs: `ssh-keys` .. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** What the metadata server of one host answers from. @param nodes all there are: the other slices of a multislice too. */
export function instanceFacts(
  node: NodeRecord,
  workerIndex: number,
  project: ProjectMetadata,
  nodes: Iterable<NodeRecord>,
): InstanceFacts {
  const { resource, notice } = node;
  const { name, id: nodeId, acceleratorType } = resource;
  const isTold = notice !== undefined && (notice.workers?.includes(workerIndex) ?? true);
  const scheduling = asObject(resource['schedulingConfig']);
  return {
    project: { id: name.split('/')[1] ?? '', number: project.number },
    projectAttributes: project.metadata,
    zone: zoneOf(name),
    nodeId,
    nodeName: lastSegment(name),
    acceleratorType,
    topology: asString(asObject(resource['acceleratorConfig'])['topology']) || topologyOf(acceleratorType),
    runtimeVersion: asString(resource['runtimeVersion']),
    attributes: nodeMetadata(node),
    workerIndex,
    addresses: node.hosts.map((host) => host.address),
    hostname: node.hosts[workerIndex]?.hostname ?? '',
    isPreemptible: scheduling['spot'] === true || scheduling['preemptible'] === true,
    isPreempted: isTold && notice.kind === 'preemption',
    isMaintained: isTold && notice.kind === 'maintenance',
    slices: slicesOf(node, nodes),
    machine: machineOf(node),
    serviceAccount: serviceAccountOf(node, project),
  };
}

/** The items that the node was created with, or given later. */
export function nodeMetadata(node: NodeRecord): Readonly<Record<string, string>> {
  return asObject(node.resource['metadata']) as Readonly<Record<string, string>>;
}

/** The node's, or the one that every project has. */
function serviceAccountOf(node: NodeRecord, project: ProjectMetadata): ServiceAccountFacts {
  const given = asObject(node.resource['serviceAccount']);
  const scopes = Array.isArray(given['scope']) ? given['scope'].map(String) : [];
  return {
    email: asString(given['email']) || `${project.number}-compute@developer.gserviceaccount.com`,
    scopes: scopes.length > 0 ? scopes : ['https://www.googleapis.com/auth/cloud-platform'],
  };
}

/** Of a VM of Compute Engine. */
function machineOf({ resource }: NodeRecord): InstanceFacts['machine'] {
  const type = resource['machineType'];
  return typeof type === 'string' ? { type, id: resource.id } : undefined;
}

/** Where the node is one of several slices of one request; nodes of it that are not there yet are not counted. */
function slicesOf(node: NodeRecord, nodes: Iterable<NodeRecord>): InstanceFacts['slices'] {
  const { queuedResource, name } = node.resource;
  if (queuedResource === undefined) return undefined;
  const ofRequest = [...nodes].filter((other) => other.resource.queuedResource === queuedResource);
  const slices = ofRequest.toSorted((one, other) => sliceIndex(one) - sliceIndex(other));
  const coordinator = slices[0]?.hosts[0]?.address;
  if (slices.length < 2 || coordinator === undefined) return undefined;
  return { coordinator, count: slices.length, index: slices.findIndex((slice) => slice.resource.name === name) };
}

/** Cloud TPU calls them `prefix-0`, `prefix-1` .. */
function sliceIndex(node: NodeRecord): number {
  return Number(/-(\d+)$/.exec(node.resource.name)?.[1] ?? 0);
}

function topologyOf(acceleratorType: string): string {
  return findAccelerator(acceleratorType)?.topology ?? '';
}
