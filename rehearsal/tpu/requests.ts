import type { AcceleratorType } from './accelerators.js';
import { ACCELERATOR_TYPES, findAccelerator, GENERATION_FACTS } from './accelerators.js';
import type { JsonObject } from '../json.js';
import { asObject, asString } from '../json.js';
import { ApiError, apiErrors } from './api-error.js';
import { checkId } from './resource-name.js';
import type { Tier } from './settings.js';

/** One node of a queued resource's request. */
export interface NodeRequest {
  readonly nodeId: string;
  readonly node: JsonObject;
}

/**
 * The nodes of a CreateQueuedResource request, one or several. A multislice is expanded as the service does, to ids PREFIX-0 to
 * PREFIX-(n-1). If the request has no prefix, the queued resource's id is the prefix.
 * @throws ApiError as the service would
 */
export function readNodeSpecs(queuedResource: JsonObject, parent: string, id: string): readonly NodeRequest[] {
  const specs = asObject(queuedResource['tpu'])['nodeSpec'];
  const requests = Array.isArray(specs) ? specs.map(asObject).flatMap((spec) => expand(spec, parent, id)) : [];
  if (requests.length === 0) throw apiErrors.badRequest('tpu.node_spec must name a node.');
  for (const { nodeId } of requests) checkId('node_spec.node_id', nodeId);
  const ids = requests.map((request) => request.nodeId);
  const twice = ids.find((each, index) => ids.indexOf(each) !== index);
  if (twice !== undefined) throw apiErrors.badRequest(`node_spec.node_id '${twice}' is there twice.`);
  return requests;
}

function expand(spec: JsonObject, parent: string, id: string): readonly NodeRequest[] {
  const wanted = asString(spec['parent']) || parent;
  if (wanted !== parent) throw apiErrors.badRequest(`node_spec.parent '${wanted}' is not the request's '${parent}'.`);
  const node = asObject(spec['node']);
  const several = spec['multisliceParams'];
  if (several === undefined) return [{ nodeId: asString(spec['nodeId']), node }];
  const { nodeCount, nodeIdPrefix } = asObject(several);
  if (typeof nodeCount !== 'number' || !Number.isInteger(nodeCount) || nodeCount < 2) {
    throw apiErrors.badRequest(`multislice_params.node_count must be greater than 1, got ${String(nodeCount)}.`);
  }
  const prefix = asString(nodeIdPrefix) || id;
  return Array.from({ length: nodeCount }, (_, index) => ({
    nodeId: `${prefix}-${index}`,
    node: { ...node, multisliceNode: true },
  }));
}

/** The type that a node asks for, by name or by generation and topology. @throws ApiError if it does not exist */
export function readAccelerator(node: JsonObject, zone: string): AcceleratorType {
  const config = asObject(node['acceleratorConfig']);
  const name = asString(node['acceleratorType']);
  const byConfig = typeOfTopology(asString(config['type']), asString(config['topology']));
  const found = name === '' ? byConfig : findAccelerator(name);
  const label = name === '' ? `${asString(config['type'])} ${asString(config['topology'])}`.trim() : name;
  if (found === undefined) throw apiErrors.unknownAccelerator(label, zone);
  return found;
}

/** The type with this topology, else one with as many chips on as many axes: larger slices come in several shapes. */
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

/** The SchedulingConfig of a node: its own fields and those that its request implies. */
export function readScheduling(node: JsonObject, queuedResource: JsonObject = {}): JsonObject {
  const isReserved =
    asString(queuedResource['reservationName']) !== '' || asObject(queuedResource['guaranteed'])['reserved'] === true;
  return {
    ...asObject(node['schedulingConfig']),
    ...(queuedResource['spot'] !== undefined && { spot: true }),
    ...(queuedResource['bestEffort'] !== undefined && { preemptible: true }),
    ...(isReserved && { reserved: true }),
    ...(queuedResource['provisioningModel'] === 'FLEX_START' && { provisioningModel: 'FLEX_START' }),
  };
}

/** Flex-start uses preemptible quota (cloud.google.com/tpu/docs/request-using-flex-start, 2025-08-19). */
export function tierOf(scheduling: JsonObject): Tier {
  const isFlexStart = scheduling['provisioningModel'] === 'FLEX_START';
  if (scheduling['spot'] === true || scheduling['preemptible'] === true || isFlexStart) return 'spot';
  const isReserved = scheduling['reserved'] === true || asString(scheduling['reservationName']) !== '';
  return isReserved ? 'reserved' : 'on-demand';
}

/** The interval in which a waiting request may be granted (queueing_policy), epoch ms; absent: at any time. */
export interface GrantWindow {
  readonly validFrom?: number | undefined;
  readonly validUntil?: number | undefined;
}

export function readGrantWindow(queuedResource: JsonObject, now: number): GrantWindow {
  const policy = asObject(queuedResource['queueingPolicy']);
  const interval = asObject(policy['validInterval']);
  return {
    validFrom: readTime(interval['startTime'] ?? policy['validAfterTime'], policy['validAfterDuration'], now),
    validUntil: readTime(interval['endTime'] ?? policy['validUntilTime'], policy['validUntilDuration'], now),
  };
}

/** Reads a timestamp, or a duration such as `60s` from now on. */
function readTime(time: JsonObject[string], duration: JsonObject[string], now: number): number | undefined {
  const at = Date.parse(asString(time));
  if (!Number.isNaN(at)) return at;
  const seconds = Number.parseFloat(asString(duration));
  return Number.isNaN(seconds) ? undefined : now + Math.round(seconds * 1000);
}
