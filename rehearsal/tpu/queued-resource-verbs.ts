import type { AcceleratorType } from './accelerators.js';
import type { JsonObject } from '../json.js';
import { asObject } from '../json.js';
import { ApiError, apiErrors, statusOf } from './api-error.js';
import { acceleratorOf, placeOf, quotaExhausted } from './capacity.js';
import type { Lifecycle } from './lifecycle.js';
import type { Operation, QueuedResource, QueuedResourceRecord } from './model.js';
import type { NodeVerbs } from './node-verbs.js';
import { isFlexStartRefused } from './provisioning-model.js';
import type { Records } from './records.js';
import type { NodeRequest } from './requests.js';
import { checkRuntime, readAccelerator, readGrantWindow, readNodeSpecs, readScheduling, tierOf } from './requests.js';
import { checkId, parentOf, parseZone, zoneOf } from './resource-name.js';
import { draw } from './settings.js';

/** States in which a queued resource may be deleted without force. */
const DELETABLE: readonly string[] = ['ACCEPTED', 'WAITING_FOR_RESOURCES', 'SUSPENDED', 'FAILED'];

/**
 * Generations without multislice. Google's team of maxtext: "We do not support Multislice on v2. Only v4+ is supported"
 * (AI-Hypercomputer/maxtext#158).
 */
const OF_ONE_SLICE: readonly AcceleratorType['generation'][] = ['v2', 'v3'];

/** The verbs of queued resources, one per RPC. They throw ApiError. */
export class QueuedResourceVerbs {
  readonly #records: Records;
  readonly #nodes: NodeVerbs;
  readonly #lifecycle: () => Lifecycle;

  constructor(records: Records, nodes: NodeVerbs, lifecycle: () => Lifecycle) {
    this.#records = records;
    this.#nodes = nodes;
    this.#lifecycle = lifecycle;
  }

  create(parent: string, id: string, request: JsonObject): Operation {
    const { zone } = parseZone(parent);
    checkId('queued_resource_id', id);
    const specs = readNodeSpecs(request, parent, id);
    const accelerators = specs.map(({ node }) => readAccelerator(node, zone));
    for (const { node } of specs) checkRuntime(node);
    const [accelerator] = accelerators;
    if (accelerator === undefined || accelerators.some(({ type }) => type !== accelerator.type)) {
      throw apiErrors.badRequest('All nodes of a queued resource must be of one accelerator type.');
    }
    if (specs.length > 1 && OF_ONE_SLICE.includes(accelerator.generation)) throw apiErrors.multisliceRefused();
    const name = `${parent}/queuedResources/${id}`;
    if (this.#records.state.queuedResources[name] !== undefined) throw apiErrors.alreadyExists(name);
    for (const { nodeId } of specs) this.#nodes.refuseTaken(`${parent}/nodes/${nodeId}`);
    if (isFlexStartRefused(request, accelerator, zone)) {
      const { operations } = this.#records;
      const error = statusOf(apiErrors.flexStartRefused(accelerator.type, zone));
      return operations.endAtOnce(operations.start('create', name), { error });
    }
    return this.#queue(name, request, specs, accelerator);
  }

  /** A second delete joins the first. Without force, the state must be DELETABLE. PROVISIONING refuses even force for a while. */
  delete(record: QueuedResourceRecord, force: boolean): Operation {
    const { name, state } = record.resource;
    const isHeld = state.state === 'PROVISIONING' && this.#records.now < (record.undeletableUntil ?? 0);
    if (isHeld || (!force && !DELETABLE.includes(state.state))) throw apiErrors.deleteRefused(state.state);
    const operation = this.#records.operations.start('delete', name);
    const { nodes, requests } = this.#lifecycle();
    requests.beginDelete(record);
    this.#records.noteRequest(record, { operations: [...record.operations, operation.name] });
    if (force) for (const node of this.#records.nodesOf(record)) nodes.beginDelete(node);
    return operation;
  }

  /**
   * Google says only "Resets a QueuedResource TPU instance". Here the VMs start again, their disks stay, and the operation ends
   * when all nodes are READY.
   */
  reset(record: QueuedResourceRecord): Operation {
    const { name, state } = record.resource;
    if (state.state !== 'ACTIVE') {
      const text = `ResetQueuedResource is not supported when state is ${state.state} (must be one of [ACTIVE])`;
      throw new ApiError('FAILED_PRECONDITION', text);
    }
    const operation = this.#records.operations.start('reset', name);
    const ready = this.#records.nodesOf(record).filter((node) => node.resource.state === 'READY');
    for (const node of ready) {
      this.#records.noteNode(node, { operations: [...node.operations, operation.name] });
      this.#lifecycle().nodes.enter(node, 'RESTARTING');
    }
    return operation;
  }

  /** Makes the nodes of a request that got its resources. */
  makeNodes(record: QueuedResourceRecord): void {
    const { name } = record.resource;
    const accelerator = readAccelerator({ acceleratorType: acceleratorOf(record) }, zoneOf(name));
    for (const { nodeId, node } of specsOf(record.resource)) {
      const schedulingConfig = readScheduling(node, record.resource);
      const scheduled = Object.keys(schedulingConfig).length === 0 ? node : { ...node, schedulingConfig };
      this.#nodes.make(`${parentOf(name)}/nodes/${nodeId}`, { ...scheduled, queuedResource: name }, accelerator, []);
    }
  }

  #queue(name: string, request: JsonObject, specs: readonly NodeRequest[], accelerator: AcceleratorType): Operation {
    const { now, context, state, usage, operations } = this.#records;
    const chips = accelerator.chips * specs.length;
    const tier = tierOf(readScheduling(specs[0]?.node ?? {}, request));
    const place = placeOf(name, accelerator.type, tier);
    const limit = usage.brokenQuota(place, chips);
    const refusal = limit === undefined ? undefined : quotaExhausted(place, limit);
    if (refusal !== undefined && state.settings.quotaRefusal === 'call') throw refusal;
    const operation = operations.start('create', name);
    this.#records.addRequest({
      resource: newResource(name, request, specs, accelerator, now),
      chips,
      tier,
      nodes: specs.map(({ nodeId }) => `${parentOf(name)}/nodes/${nodeId}`),
      ...readGrantWindow(request, now),
      dueAt: now + draw(state.settings.creatingMs, context.random),
      failure: refusal && statusOf(refusal),
      isOverQuota: refusal !== undefined,
      operations: [operation.name],
    });
    return operation;
  }
}

function newResource(
  name: string,
  request: JsonObject,
  specs: readonly NodeRequest[],
  { type }: AcceleratorType,
  now: number,
): QueuedResource {
  const parent = parentOf(name);
  const nodeSpec = specs.map(({ nodeId, node }) => ({ parent, nodeId, node: { ...node, acceleratorType: type } }));
  return {
    ...request,
    name,
    createTime: new Date(now).toISOString(),
    tpu: { ...asObject(request['tpu']), nodeSpec },
    state: { state: 'CREATING', creatingData: {}, stateInitiator: 'USER' },
  };
}

function specsOf(resource: QueuedResource): readonly NodeRequest[] {
  return (resource as unknown as { readonly tpu: { readonly nodeSpec: readonly NodeRequest[] } }).tpu.nodeSpec;
}
