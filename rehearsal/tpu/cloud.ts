import { randomBytes } from 'node:crypto';
import type { AcceleratorType } from '../../domain/accelerators.js';
import type { JsonObject } from '../json.js';
import { asObject } from '../json.js';
import { apiErrors } from './api-error.js';
import { fits } from './capacity.js';
import type { CloudContext } from './context.js';
import { acceleratorOf, Lifecycle, noCapacityError } from './lifecycle.js';
import type {
  HostRecord,
  NodeRecord,
  NodeResource,
  NodeState,
  Operation,
  QueuedResource,
  QueuedResourceRecord,
} from './model.js';
import { endOperations, getOperation, isDone, startOperation } from './operations.js';
import { checkRuntime, makeNode, readAccelerator, readNodeSpec, readValidUntil } from './requests.js';
import { checkId, isIn, parentOf, parseZone } from './resource-name.js';
import { draw } from './settings.js';
import type { CloudState } from './state.js';

/** The states in which a queued resource may be deleted without force. */
const DELETABLE: readonly string[] = ['WAITING_FOR_RESOURCES', 'SUSPENDED', 'FAILED'];

/**
 * Cloud TPU as a state machine: the verbs of its API on plain JSON, without a wire, a process or a clock of its own.
 * Verbs throw ApiError. Whoever owns the cloud calls `lifecycle.advance` after each verb and whenever time has come.
 */
export class TpuCloud {
  readonly state: CloudState;
  readonly lifecycle: Lifecycle;
  readonly #context: CloudContext;

  constructor(state: CloudState, context: CloudContext) {
    this.state = state;
    this.#context = context;
    this.lifecycle = new Lifecycle(state, context, (record) => this.#provision(record));
  }

  /** The cloud's time, epoch ms. */
  now(): number {
    return this.#context.now();
  }

  listQueuedResources(parent: string): readonly QueuedResource[] {
    const lagging = this.#context.shownInLists?.('queued-resource') as readonly QueuedResource[] | undefined;
    const all = lagging ?? Object.values(this.state.queuedResources).map((record) => record.resource);
    return all.filter((resource) => isIn(resource.name, parent)).toSorted(byName);
  }

  getQueuedResource(name: string): QueuedResource {
    return this.#queuedResource(name).resource;
  }

  createQueuedResource(parent: string, id: string, request: JsonObject): Operation {
    const { zone } = parseZone(parent);
    checkId('queued_resource_id', id);
    const { nodeId, node } = readNodeSpec(request, parent);
    const accelerator = readAccelerator(node, zone);
    checkRuntime(node);
    const name = `${parent}/queuedResources/${id}`;
    if (this.state.queuedResources[name] !== undefined) throw apiErrors.alreadyExists(name);
    const nodeName = `${parent}/nodes/${nodeId}`;
    this.#refuseTakenNode(nodeName);
    const record = this.#queue(name, nodeName, request, { nodeId, node, accelerator });
    const operation = startOperation(this.state, this.#context, 'create', name);
    record.operations = [operation.name];
    return operation;
  }

  deleteQueuedResource(name: string, force: boolean): Operation {
    const record = this.#queuedResource(name);
    const { state } = record.resource.state;
    if (!force && !DELETABLE.includes(state)) throw apiErrors.deleteRefused(state);
    const operation = startOperation(this.state, this.#context, 'delete', name);
    // A second delete joins the first.
    if (state !== 'DELETING') this.lifecycle.beginRequestDelete(record);
    record.operations = [...record.operations, operation.name];
    const node = this.state.nodes[record.node];
    if (force && node?.resource.queuedResource === name) this.lifecycle.beginNodeDelete(node);
    return operation;
  }

  listNodes(parent: string): readonly NodeResource[] {
    const lagging = this.#context.shownInLists?.('node') as readonly NodeResource[] | undefined;
    const all = lagging ?? Object.values(this.state.nodes).map((node) => node.resource);
    return all.filter((resource) => isIn(resource.name, parent)).toSorted(byName);
  }

  getNode(name: string): NodeResource {
    return this.#node(name).resource;
  }

  createNode(parent: string, id: string, request: JsonObject): Operation {
    const { zone } = parseZone(parent);
    checkId('node_id', id);
    const accelerator = readAccelerator(request, zone);
    checkRuntime(request);
    const name = `${parent}/nodes/${id}`;
    this.#refuseTakenNode(name);
    const operation = startOperation(this.state, this.#context, 'create', name);
    if (fits(this.state, zone, accelerator.type, accelerator.chips)) {
      this.#addNode(name, request, accelerator, [operation.name]);
    } else {
      endOperations(this.state, this.#context, [operation.name], { error: noCapacityError(zone) });
    }
    return this.state.operations[operation.name] ?? operation;
  }

  deleteNode(name: string): Operation {
    const node = this.#node(name);
    const operation = startOperation(this.state, this.#context, 'delete', name);
    this.lifecycle.beginNodeDelete(node);
    node.operations = [...node.operations, operation.name];
    this.lifecycle.suspendOwner(node, 'USER');
    return operation;
  }

  /** Keeps id, address and disk; chips are given back. */
  stopNode(name: string): Operation {
    return this.#moveNode(name, 'stop', 'STOPPED');
  }

  startNode(name: string): Operation {
    return this.#moveNode(name, 'start', 'READY');
  }

  /** @param mask the fields to take from `changes`, as proto3 JSON names them; `labels`, `metadata` .. as a whole. */
  updateNode(name: string, changes: JsonObject, mask: readonly string[]): Operation {
    const node = this.#node(name);
    const taken = Object.fromEntries(mask.map((field) => [field, changes[field]]));
    node.resource = { ...node.resource, ...taken };
    return this.#doneOperation('update', name, { type: 'Node', value: node.resource });
  }

  resetQueuedResource(name: string): Operation {
    const { resource } = this.#queuedResource(name);
    return this.#doneOperation('reset', name, { type: 'QueuedResource', value: resource });
  }

  performMaintenance(name: string): Operation {
    return this.#moveNode(name, 'performMaintenance', 'READY');
  }

  /** @param nodeNames full names of nodes of the request; none: all. */
  performMaintenanceQueuedResource(name: string, nodeNames: readonly string[]): Operation {
    const { resource, nodes } = this.#queuedResource(name);
    for (const node of nodeNames) if (!nodes.includes(node)) throw apiErrors.notFound(node);
    return this.#doneOperation('performMaintenance', name, { type: 'QueuedResource', value: resource });
  }

  /** @param workerIds the first one alone is told; none: worker 0 (v2alpha1 proto). */
  simulateMaintenanceEvent(name: string, workerIds: readonly string[]): Operation {
    const node = this.#node(name);
    const now = this.#context.now();
    node.notice = { kind: 'maintenance', at: now, until: now + 60_000, workers: [Number(workerIds[0] ?? 0)] };
    return this.#doneOperation('simulateMaintenanceEvent', name, { type: 'Node', value: node.resource });
  }

  /** Best effort, as the RPC says: the operation is marked, its work goes on. */
  cancelOperation(name: string): void {
    const operation = getOperation(this.state, name);
    if (!isDone(operation)) this.state.operations[name] = { ...operation, cancelRequested: true };
  }

  /** Forgets the operation; what it does goes on. */
  deleteOperation(name: string): void {
    getOperation(this.state, name);
    delete this.state.operations[name];
  }

  /** v2alpha1's reservations: one for each `zone/generation/reserved` that `Settings.capacity` names. */
  listReservations(parent: string): readonly JsonObject[] {
    const { zone } = parseZone(parent);
    return Object.entries(this.state.settings.capacity).flatMap(([key, chips]) => {
      const [keyZone, generation, tier] = key.split('/');
      if (tier !== 'reserved' || keyZone !== zone) return [];
      const standard = { size: chips, capacityUnits: 'CHIPS', resourceType: generation ?? '' };
      return [{ name: `${parent}/reservations/${generation}`, standard, state: 'ACTIVE' }];
    });
  }

  #moveNode(name: string, verb: Operation['verb'], to: NodeState): Operation {
    const node = this.#node(name);
    this.lifecycle.enterNode(node, to);
    return this.#doneOperation(verb, name, { type: 'Node', value: node.resource });
  }

  #doneOperation(verb: Operation['verb'], target: string, result: NonNullable<Operation['result']>): Operation {
    const operation = startOperation(this.state, this.#context, verb, target);
    endOperations(this.state, this.#context, [operation.name], { result });
    return this.state.operations[operation.name] ?? operation;
  }

  /** All VMs of the node answer on SSH: nothing but time keeps it from READY. Ignored if the node is another by now. */
  markBooted(name: string, nodeId: string): void {
    const node = this.state.nodes[name];
    if (node?.resource.id === nodeId) node.isBooted = true;
  }

  /** A VM of the node could not be booted: the node comes to nothing, with an internal error. */
  markBootFailed(name: string, nodeId: string, error: Error): void {
    const node = this.state.nodes[name];
    if (node?.resource.id !== nodeId) return;
    this.lifecycle.failNode(node, { code: 13, message: `an internal error has occurred: ${error.message}` });
  }

  #queuedResource(name: string): QueuedResourceRecord {
    const record = this.state.queuedResources[name];
    if (record === undefined) throw apiErrors.notFound(name);
    return record;
  }

  #node(name: string): NodeRecord {
    const node = this.state.nodes[name];
    if (node === undefined) throw apiErrors.notFound(name);
    return node;
  }

  /** A node's name is taken by a node, a preempted husk too, and by a request that will make it. */
  #refuseTakenNode(name: string): void {
    const gone = ['SUSPENDING', 'SUSPENDED', 'FAILED'];
    const pending = Object.values(this.state.queuedResources).some(
      (record) => record.node === name && !gone.includes(record.resource.state.state),
    );
    if (pending || this.state.nodes[name] !== undefined) throw apiErrors.alreadyExists(name);
  }

  #queue(
    name: string,
    nodeName: string,
    request: JsonObject,
    spec: { readonly nodeId: string; readonly node: JsonObject; readonly accelerator: AcceleratorType },
  ): QueuedResourceRecord {
    const now = this.#context.now();
    const node = { ...spec.node, acceleratorType: spec.accelerator.type };
    const resource: QueuedResource = {
      ...request,
      name,
      createTime: new Date(now).toISOString(),
      tpu: { ...asObject(request['tpu']), nodeSpec: [{ parent: parentOf(name), nodeId: spec.nodeId, node }] },
      state: { state: 'CREATING', stateInitiator: 'USER' },
    };
    const { chips } = spec.accelerator;
    const validUntil = readValidUntil(request, now);
    const nodes = [nodeName];
    const record: QueuedResourceRecord = {
      resource,
      chips,
      nodes,
      node: nodeName,
      dueAt: now,
      validUntil,
      operations: [],
    };
    this.state.queuedResources[name] = record;
    this.#context.record('queued-resource-state', name, { from: 'absent', to: 'CREATING', chips, initiator: 'USER' });
    return record;
  }

  /** Makes the node of a request that got its resources. */
  #provision(record: QueuedResourceRecord): void {
    const { tpu } = record.resource as unknown as {
      readonly tpu: { readonly nodeSpec: readonly { node: JsonObject }[] };
    };
    const node = tpu.nodeSpec[0]?.node ?? {};
    const zone = record.resource.name.split('/')[3] ?? '';
    const scheduling = record.resource['spot'] === undefined ? {} : { schedulingConfig: { spot: true } };
    const request = { ...scheduling, ...node, queuedResource: record.resource.name };
    this.#addNode(record.node, request, readAccelerator({ acceleratorType: acceleratorOf(record) }, zone), []);
  }

  #addNode(name: string, request: JsonObject, accelerator: AcceleratorType, operations: readonly string[]): void {
    const now = this.#context.now();
    const hosts = this.#allocateHosts(accelerator.hosts);
    const resource = makeNode(name, request, hosts, now);
    const dueAt = now + draw(this.state.settings.provisioningMs, this.#context.random);
    const { chips } = accelerator;
    this.state.nodes[name] = { resource, chips, hosts, dueAt, isBooted: false, wasPreempted: false, operations };
    this.#context.record('node-state', name, { from: 'absent', to: 'CREATING', chips, nodeId: resource.id });
  }

  /** Addresses 127.S.a.b that no live node has, going round, b from 1 to 254. */
  #allocateHosts(count: number): readonly HostRecord[] {
    const taken = new Set(Object.values(this.state.nodes).flatMap((node) => node.hosts.map((host) => host.address)));
    const suffix = randomBytes(4).toString('hex');
    const hosts: HostRecord[] = [];
    for (let tries = 0; hosts.length < count; tries += 1) {
      if (tries > 65_534) throw apiErrors.noCapacity(`127.${this.#context.subnetOctet}.0.0/16`);
      this.state.lastAddress = (this.state.lastAddress % 65_534) + 1;
      const [a, b] = [this.state.lastAddress >> 8, this.state.lastAddress & 255];
      const address = `127.${this.#context.subnetOctet}.${a}.${b}`;
      if (b === 0 || b === 255 || taken.has(address)) continue;
      hosts.push({ address, hostname: `t1v-n-${suffix}-w-${hosts.length}` });
    }
    return hosts;
  }
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
