import { randomBytes } from 'node:crypto';
import type { AcceleratorType } from '../../domain/accelerators.js';
import { ACCELERATOR_TYPES, findAccelerator, GENERATION_FACTS } from '../../domain/accelerators.js';
import type { JsonObject } from '../json.js';
import { asObject, asString } from '../json.js';
import { ApiError, apiErrors } from './api-error.js';
import type { HostRecord, NodeResource } from './model.js';
import { checkId, zoneOf } from './resource-name.js';

/** What one queued resource asks for: exactly one node, in this version. */
export interface NodeRequest {
  readonly nodeId: string;
  readonly node: JsonObject;
}

/** The one node of a CreateQueuedResource request. Throws ApiError as the service would. */
export function readNodeSpec(queuedResource: JsonObject, parent: string): NodeRequest {
  const specs = asObject(queuedResource['tpu'])['nodeSpec'];
  const [spec, ...others] = Array.isArray(specs) ? specs.map(asObject) : [];
  if (spec === undefined) throw apiErrors.badRequest('tpu.node_spec must name a node.');
  if (others.length > 0 || spec['multisliceParams'] !== undefined || spec['multiNodeParams'] !== undefined) {
    throw apiErrors.unimplemented('A queued resource of several nodes (multislice)');
  }
  const wanted = asString(spec['parent']) || parent;
  if (wanted !== parent) throw apiErrors.badRequest(`node_spec.parent '${wanted}' is not the request's '${parent}'.`);
  const nodeId = asString(spec['nodeId']);
  checkId('node_spec.node_id', nodeId);
  return { nodeId, node: asObject(spec['node']) };
}

/** The type a node asks for, by name or by generation and topology. Throws ApiError if there is none such. */
export function readAccelerator(node: JsonObject, zone: string): AcceleratorType {
  const config = asObject(node['acceleratorConfig']);
  const name = asString(node['acceleratorType']);
  const byConfig = typeOfTopology(asString(config['type']), asString(config['topology']));
  const found = name === '' ? byConfig : findAccelerator(name);
  const label = name === '' ? `${asString(config['type'])} ${asString(config['topology'])}`.trim() : name;
  if (found === undefined) throw apiErrors.unknownAccelerator(label, zone);
  return found;
}

/** Of its own topology, else of as many chips on as many axes: larger slices come in several shapes. */
function typeOfTopology(generation: string, topology: string): AcceleratorType | undefined {
  const types = ACCELERATOR_TYPES.filter((type) => GENERATION_FACTS[type.generation].apiEnum === generation);
  const axes = (topology.split('_')[0] ?? '').split('x').map(Number);
  const chips = axes.reduce((product, axis) => product * axis, 1);
  const isOfThatSize = (type: AcceleratorType): boolean =>
    type.chips === chips && type.topology.split('x').length === axes.length;
  return types.find((type) => type.topology === topology) ?? types.find(isOfThatSize);
}

export function checkRuntime(node: JsonObject): void {
  if (asString(node['runtimeVersion']) === '') {
    throw new ApiError('INVALID_ARGUMENT', 'Field runtime_version is required and was empty');
  }
}

/** The node as it is first seen: CREATING, with its endpoints. Fields of the request that nobody here knows stay. */
export function makeNode(name: string, request: JsonObject, hosts: readonly HostRecord[], now: number): NodeResource {
  const accelerator = readAccelerator(request, zoneOf(name));
  const network = asObject(request['networkConfig']);
  return {
    ...request,
    name,
    state: 'CREATING',
    id: random63(),
    acceleratorType: accelerator.type,
    acceleratorConfig: {
      type: GENERATION_FACTS[accelerator.generation].apiEnum,
      topology: asString(asObject(request['acceleratorConfig'])['topology']) || accelerator.topology,
    },
    createTime: new Date(now).toISOString(),
    networkConfig: { network: 'default', subnetwork: 'default', ...network },
    networkEndpoints: hosts.map((host) => ({
      ipAddress: host.address,
      port: 8470,
      ...(network['enableExternalIps'] === true ? { accessConfig: { externalIp: host.address } } : {}),
    })),
    labels: request['labels'] ?? {},
    metadata: request['metadata'] ?? {},
    health: 'HEALTHY',
    // gcloud drops a node whose version is missing or starts with V1 (facts/cloud-tpu.md 1.3).
    apiVersion: 'V2',
  };
}

/** When a waiting request expires (queueing_policy), epoch ms, or undefined. */
export function readValidUntil(queuedResource: JsonObject, now: number): number | undefined {
  const policy = asObject(queuedResource['queueingPolicy']);
  const time = Date.parse(asString(policy['validUntilTime']));
  const seconds = Number.parseFloat(asString(policy['validUntilDuration']));
  if (!Number.isNaN(time)) return time;
  return Number.isNaN(seconds) ? undefined : now + seconds * 1000;
}

// Sequential ids would clash with the known_hosts entries that gcloud builds from them.
function random63(): string {
  const bits = randomBytes(8).readBigUInt64BE() >> 1n;
  return String(bits === 0n ? 1n : bits);
}
