import type { AcceleratorType } from './accelerators.js';
import type { JsonObject } from '../json.js';
import { asObject } from '../json.js';
import type { ApiError } from './api-error.js';
import { apiErrors, statusOf } from './api-error.js';
import type { Place } from './capacity.js';
import { placeOf, quotaExhausted } from './capacity.js';
import { lackOfAddresses } from './external-addresses.js';
import type { Lifecycle } from './lifecycle.js';
import { makeNode } from './node-resource.js';
import type { NodeRecord, NodeState, Operation } from './model.js';
import { isFlexStartRefused } from './provisioning-model.js';
import type { Records } from './records.js';
import { checkRuntime, readAccelerator, readScheduling, tierOf } from './requests.js';
import { checkId, parseZone } from './resource-name.js';
import { draw } from './settings.js';

/** The verbs of nodes, one per RPC. They throw ApiError. */
export class NodeVerbs {
  readonly #records: Records;
  readonly #lifecycle: () => Lifecycle;

  constructor(records: Records, lifecycle: () => Lifecycle) {
    this.#records = records;
    this.#lifecycle = lifecycle;
  }

  create(parent: string, id: string, request: JsonObject): Operation {
    const { zone } = parseZone(parent);
    checkId('node_id', id);
    const accelerator = readAccelerator(request, zone);
    checkRuntime(request);
    const name = `${parent}/nodes/${id}`;
    this.refuseTaken(name);
    const tier = tierOf(readScheduling(request));
    const place = placeOf(name, accelerator.type, tier);
    const limit = this.#records.usage.brokenQuota(place, accelerator.chips);
    if (limit !== undefined) throw quotaExhausted(place, limit);
    const operation = this.#records.operations.start('create', name);
    const failure = isFlexStartRefused(request, accelerator, zone)
      ? apiErrors.flexStartRefused(accelerator.type, zone)
      : (this.#lackOfCapacity(place, accelerator.chips) ??
        lackOfAddresses(this.#records.state, zone, [{ ...request, acceleratorType: accelerator.type }]));
    if (failure !== undefined) return this.#records.operations.endAtOnce(operation, { error: statusOf(failure) });
    this.make(name, request, accelerator, [operation.name]);
    return operation;
  }

  /** Makes a node without any check of names, capacity or quota. */
  make(name: string, request: JsonObject, accelerator: AcceleratorType, operations: readonly string[]): void {
    const { now, context, state } = this.#records;
    const hosts = this.#records.takeHosts(accelerator.hosts);
    const scheduling = asObject(request['schedulingConfig']);
    const life = draw(state.settings.preemptibleLifeMs, context.random);
    this.#records.addNode({
      resource: makeNode({ name, request, accelerator, hosts, now, random: context.random, settings: state.settings }),
      chips: accelerator.chips,
      tier: tierOf(scheduling),
      hosts,
      isBooted: false,
      isReclaimed: false,
      operations,
      dueAt: now + draw(state.settings.provisioningMs, context.random),
      // A Spot node may live for ever, an old preemptible one only a day.
      expiresAt: scheduling['preemptible'] === true ? now + life : undefined,
    });
  }

  delete(node: NodeRecord): Operation {
    const operation = this.#records.operations.start('delete', node.resource.name);
    const { nodes, requests } = this.#lifecycle();
    nodes.beginDelete(node);
    this.#records.noteNode(node, { operations: [...node.operations, operation.name] });
    const owner = this.#records.ownerOf(node);
    if (owner !== undefined) requests.suspend(owner, 'USER');
    return operation;
  }

  /** Stops a node. It keeps its id, addresses, disk and quota; its chips are given back. */
  stop(node: NodeRecord): Operation {
    refuseUnless(node, 'stop', ['READY']);
    if (node.tier === 'spot')
      throw apiErrors.badRequest('stop is not supported for Spot TPUs; delete and recreate it.');
    if (node.hosts.length > 1) throw apiErrors.badRequest('stop is not supported for TPU slices with several hosts.');
    if (node.resource.queuedResource !== undefined) {
      throw apiErrors.badRequest('stop is not supported for nodes of a queued resource.');
    }
    return this.#begin(node, 'stop', 'STOPPING');
  }

  /** Without free chips the operation fails and the node stays STOPPED. */
  start(node: NodeRecord): Operation {
    refuseUnless(node, 'start', ['STOPPED']);
    const { name, acceleratorType } = node.resource;
    const place = placeOf(name, acceleratorType, node.tier);
    const failure = this.#lackOfCapacity(place, node.chips);
    if (failure === undefined) return this.#begin(node, 'start', 'STARTING');
    const { operations } = this.#records;
    return operations.endAtOnce(operations.start('start', name), { error: statusOf(failure) });
  }

  /**
   * Begins an update; only one may run at a time. A field that the mask names and `changes` lacks is removed. A map such as
   * `metadata` is replaced whole.
   * @param mask paths in proto3 JSON, of fields that may be changed
   */
  update(node: NodeRecord, changes: JsonObject, mask: readonly string[]): Operation {
    refuseUnless(node, 'update', ['READY', 'STOPPED', 'REPAIRING']);
    if (node.update !== undefined) throw apiErrors.unableToQueue();
    const taken = Object.fromEntries(mask.map((path) => changeAt(node.resource, changes, path)));
    const operation = this.#records.operations.start('update', node.resource.name);
    const { now, context, state } = this.#records;
    const updateAt = now + draw(state.settings.updatingMs, context.random);
    this.#records.noteNode(node, { update: { changes: taken, operation: operation.name }, updateAt });
    return operation;
  }

  /** A node's name is taken by a node, even a preempted husk, and by a request that will make the node. @throws ApiError */
  refuseTaken(name: string): void {
    const gone = ['SUSPENDING', 'SUSPENDED', 'FAILED'];
    const pending = this.#records.claimants(name).some(({ resource }) => !gone.includes(resource.state.state));
    if (pending || this.#records.state.nodes[name] !== undefined) throw apiErrors.alreadyExists(name);
  }

  #lackOfCapacity(place: Place, chips: number): ApiError | undefined {
    if (this.#records.usage.hasCapacity(place, chips)) return undefined;
    return place.tier === 'reserved' ? apiErrors.noReservedCapacity() : apiErrors.noCapacity(place.zone);
  }

  /** Begins an operation that ends when the node leaves this state. */
  #begin(node: NodeRecord, verb: Operation['verb'], state: NodeState): Operation {
    const operation = this.#records.operations.start(verb, node.resource.name);
    this.#records.noteNode(node, { operations: [...node.operations, operation.name] });
    this.#lifecycle().nodes.enter(node, state);
    return operation;
  }
}

/** With the text that was seen for an update: `update is not supported while in state PREEMPTED`. */
export function refuseUnless(node: NodeRecord, verb: string, states: readonly string[]): void {
  const { state } = node.resource;
  if (!states.includes(state)) throw apiErrors.badRequest(`${verb} is not supported while in state ${state}`);
}

/** Returns the field that a path of one or two names changes, and its new value. */
function changeAt(node: JsonObject, changes: JsonObject, path: string): readonly [string, JsonObject[string]] {
  const [field = '', inner] = path.split('.');
  if (inner === undefined) return [field, changes[field]];
  return [field, { ...asObject(node[field]), [inner]: asObject(changes[field])[inner] }];
}
