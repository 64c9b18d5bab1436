import { asObject, asString } from './json.js';
import { findAccelerator } from './tpu/accelerators.js';
import type { NodeRecord } from './tpu/model.js';
import { lastSegment, zoneOf } from './tpu/resource-name.js';
import type { InstanceFacts, ServiceAccountFacts } from './vm/metadata/instance.js';

/** The project's facts that the VMs' metadata servers show. */
export interface ProjectMetadata {
  readonly number: string;
  /** Metadata of all VMs of the project, such as `ssh-keys`. */
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * The facts that one host's metadata server answers from.
 * @param nodes all nodes of the cloud: they include the other slices of a multislice
 */
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

/** Metadata items that the node was created with or given later. */
export function nodeMetadata(node: NodeRecord): Readonly<Record<string, string>> {
  return asObject(node.resource['metadata']) as Readonly<Record<string, string>>;
}

/** The node's service account, or the project's default one. */
function serviceAccountOf(node: NodeRecord, project: ProjectMetadata): ServiceAccountFacts {
  const given = asObject(node.resource['serviceAccount']);
  const scopes = Array.isArray(given['scope']) ? given['scope'].map(String) : [];
  return {
    email: asString(given['email']) || `${project.number}-compute@developer.gserviceaccount.com`,
    scopes: scopes.length > 0 ? scopes : ['https://www.googleapis.com/auth/cloud-platform'],
  };
}

/** Machine type and id of a Compute Engine VM; undefined for a TPU node. */
function machineOf({ resource }: NodeRecord): InstanceFacts['machine'] {
  const type = resource['machineType'];
  return typeof type === 'string' ? { type, id: resource.id } : undefined;
}

/** The node's position among the slices of its request; undefined if it is the only one. Only existing nodes count. */
function slicesOf(node: NodeRecord, nodes: Iterable<NodeRecord>): InstanceFacts['slices'] {
  const { queuedResource, name } = node.resource;
  if (queuedResource === undefined) return undefined;
  const ofRequest = [...nodes].filter((other) => other.resource.queuedResource === queuedResource);
  const slices = ofRequest.toSorted((one, other) => sliceIndex(one) - sliceIndex(other));
  const coordinator = slices[0]?.hosts[0]?.address;
  if (slices.length < 2 || coordinator === undefined) return undefined;
  return { coordinator, count: slices.length, index: slices.findIndex((slice) => slice.resource.name === name) };
}

/** Cloud TPU names the nodes of a request `prefix-0`, `prefix-1` .. */
function sliceIndex(node: NodeRecord): number {
  return Number(/-(\d+)$/.exec(node.resource.name)?.[1] ?? 0);
}

function topologyOf(acceleratorType: string): string {
  return findAccelerator(acceleratorType)?.topology ?? '';
}
