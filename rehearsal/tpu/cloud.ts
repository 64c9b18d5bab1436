import type { JsonObject } from '../json.js';
import { apiErrors } from './api-error.js';
import type { CloudContext } from './context.js';
import { Lifecycle } from './lifecycle.js';
import { Maintenance } from './maintenance.js';
import type {
  NodeHealth,
  NodeRecord,
  NodeResource,
  NodeState,
  Operation,
  QueuedResource,
  QueuedResourceRecord,
  Status,
} from './model.js';
import { NodeVerbs } from './node-verbs.js';
import { QueuedResourceVerbs } from './queued-resource-verbs.js';
import { Records } from './records.js';
import { isIn, parseZone } from './resource-name.js';
import type { Settings } from './settings.js';
import type { CloudState } from './state.js';

/**
 * Cloud TPU as a state machine: the verbs of its API on plain JSON, without a network, a process or its own clock. Verbs throw
 * ApiError, and see the state as it is at their time. The owner of the cloud calls `lifecycle.advance` after each verb and
 * whenever something is due.
 */
export class TpuCloud {
  readonly state: CloudState;
  readonly lifecycle: Lifecycle;
  readonly records: Records;
  /** The provider's announcements and actions. Most are verbs of the admin, not of the API. */
  readonly maintenance: Maintenance;
  readonly #nodes: NodeVerbs;
  readonly #requests: QueuedResourceVerbs;

  constructor(state: CloudState, context: CloudContext) {
    this.state = state;
    this.records = new Records(state, context);
    this.#nodes = new NodeVerbs(this.records, () => this.lifecycle);
    this.#requests = new QueuedResourceVerbs(this.records, this.#nodes, () => this.lifecycle);
    this.maintenance = new Maintenance(this.records, () => this.lifecycle);
    this.lifecycle = new Lifecycle(this.records, (record) => this.#requests.makeNodes(record));
  }

  /** The cloud's time, epoch ms. */
  now(): number {
    return this.records.now;
  }

  listQueuedResources(parent: string): readonly QueuedResource[] {
    const all = Object.values(this.#fresh().queuedResources).map((record) => record.resource);
    return all.filter((resource) => isIn(resource.name, parent)).toSorted(byName);
  }

  getQueuedResource(name: string): QueuedResource {
    return this.#queuedResource(name).resource;
  }

  createQueuedResource(parent: string, id: string, request: JsonObject): Operation {
    return this.#atOnce(() => this.#requests.create(parent, id, request));
  }

  deleteQueuedResource(name: string, force: boolean): Operation {
    return this.#atOnce(() => this.#requests.delete(this.#queuedResource(name), force));
  }

  resetQueuedResource(name: string): Operation {
    return this.#atOnce(() => this.#requests.reset(this.#queuedResource(name)));
  }

  listNodes(parent: string): readonly NodeResource[] {
    const all = Object.values(this.#fresh().nodes).map((node) => node.resource);
    return all.filter((resource) => isIn(resource.name, parent)).toSorted(byName);
  }

  getNode(name: string): NodeResource {
    return this.#node(name).resource;
  }

  createNode(parent: string, id: string, request: JsonObject): Operation {
    return this.#atOnce(() => this.#nodes.create(parent, id, request));
  }

  deleteNode(name: string): Operation {
    return this.#atOnce(() => this.#nodes.delete(this.#node(name)));
  }

  /** Stops a node. It keeps its id, addresses, disk and quota; its chips are given back. */
  stopNode(name: string): Operation {
    return this.#atOnce(() => this.#nodes.stop(this.#node(name)));
  }

  startNode(name: string): Operation {
    return this.#atOnce(() => this.#nodes.start(this.#node(name)));
  }

  /** @param mask field names of proto3 JSON or of the proto; a map such as `metadata` is replaced whole */
  updateNode(name: string, changes: JsonObject, mask: readonly string[]): Operation {
    return this.#atOnce(() => this.#nodes.update(this.#node(name), changes, mask));
  }

  performMaintenance(name: string): Operation {
    return this.#atOnce(() => this.maintenance.perform(this.#node(name)));
  }

  /** @param nodeNames full names of nodes of the request; empty: all */
  performMaintenanceQueuedResource(name: string, nodeNames: readonly string[]): Operation {
    return this.#atOnce(() => this.maintenance.performOn(this.#queuedResource(name), nodeNames));
  }

  /** @param workerIds only the first one is told; empty: worker 0 */
  simulateMaintenanceEvent(name: string, workerIds: readonly string[]): Operation {
    return this.#atOnce(() => this.maintenance.simulate(this.#node(name), workerIds));
  }

  /** Marks the operation; its work goes on. The RPC calls that best effort. */
  cancelOperation(name: string): void {
    this.records.operations.cancel(name);
  }

  /** Forgets the operation; its work goes on. */
  deleteOperation(name: string): void {
    this.records.operations.forget(name);
  }

  /** v2alpha1's reservations: one for each `zone/generation/reserved` in `Settings.capacity`. */
  listReservations(parent: string): readonly JsonObject[] {
    const { zone } = parseZone(parent);
    return Object.entries(this.state.settings.capacity).flatMap(([key, size]) => {
      const [keyZone, generation = '', tier] = key.split('/');
      if (tier !== 'reserved' || keyZone !== zone) return [];
      const usage = { total: String(this.records.usage.capacityInUse(key)) };
      const standard = { size, capacityUnits: 'CHIPS', resourceType: generation, usage };
      return [{ name: `${parent}/reservations/${generation}`, standard, state: 'ACTIVE' }];
    });
  }

  /** Admin verb: changes the settings from now on. */
  configure(changes: Partial<Settings>): void {
    this.records.configure(changes);
  }

  /** Admin verb: the provider takes the node at once, unless it did before. `vanish`: the node also leaves the list. */
  preempt(node: NodeRecord, mode: 'preempted' | 'vanish'): void {
    this.#atOnce(() => {
      const isThere = this.state.nodes[node.resource.name] === node;
      if (isThere && !node.isReclaimed) this.lifecycle.nodes.preempt(node, mode);
    });
  }

  /**
   * Admin verb: sets any state, also one that nothing here causes. Time does not end REIMAGING, TERMINATED, HIDING and the like.
   */
  force(
    node: NodeRecord,
    state: NodeState,
    changes: { readonly health?: NodeHealth; readonly symptoms?: JsonObject[] } = {},
  ): void {
    this.lifecycle.nodes.enter(node, state, { ...changes });
  }

  /** Admin verb: the service gives up on a request that waits or stalls. @returns false if the request does neither */
  giveUp(record: QueuedResourceRecord, error: Status): boolean {
    return this.#atOnce(() => this.lifecycle.requests.giveUp(record, error));
  }

  /** Admin verb: a request goes from PROVISIONING back into the queue. @returns false if the request is in another state */
  sendBack(record: QueuedResourceRecord): boolean {
    return this.#atOnce(() => this.lifecycle.requests.sendBack(record));
  }

  /** Admin verb: the service gives up on the request with this name. */
  giveUpOn(name: string, error: Status): void {
    this.giveUp(this.#queuedResource(name), error);
  }

  /** Admin verb: a create call is accepted, and its operation fails at once. Nothing is created. */
  failCreate(name: string, error: Status): Operation {
    return this.#atOnce(() => {
      const { operations } = this.records;
      return operations.endAtOnce(operations.start('create', name), { error });
    });
  }

  /** Notes that all VMs of the node answer on SSH: only time keeps it from READY. Ignored if another node has the name by now. */
  markBooted(name: string, nodeId: string): void {
    const node = this.state.nodes[name];
    if (node?.resource.id !== nodeId) return;
    this.records.noteNode(node, { isBooted: true });
    this.records.wakeNode(name);
  }

  /** Notes that a VM of the node could not boot: the node fails with an internal error. */
  markBootFailed(name: string, nodeId: string, error: Error): void {
    this.#atOnce(() => {
      const node = this.state.nodes[name];
      if (node?.resource.id !== nodeId) return;
      this.lifecycle.nodes.fail(node, { code: 13, message: `an internal error has occurred: ${error.message}` });
    });
  }

  /** Runs a verb at one instant, after everything that was due before it. */
  #atOnce<T>(verb: () => T): T {
    return this.records.atInstant(this.now(), () => {
      this.#fresh();
      return verb();
    });
  }

  /** Carries out everything that is due, and returns the state. */
  #fresh(): CloudState {
    if (this.lifecycle.isBehind()) this.lifecycle.advance();
    return this.state;
  }

  #queuedResource(name: string): QueuedResourceRecord {
    const record = this.#fresh().queuedResources[name];
    if (record === undefined) throw apiErrors.notFound(name);
    return record;
  }

  #node(name: string): NodeRecord {
    const node = this.#fresh().nodes[name];
    if (node === undefined) throw apiErrors.notFound(name);
    return node;
  }
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
