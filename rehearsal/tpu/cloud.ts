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
 * Cloud TPU as a state machine: the verbs of its API on plain JSON, without a wire, a process or a clock of its own.
 * Verbs throw ApiError, and see the state as it is at their time. Whoever owns the cloud calls `lifecycle.advance` after
 * each verb and whenever time has come.
 */
export class TpuCloud {
  readonly state: CloudState;
  readonly lifecycle: Lifecycle;
  readonly records: Records;
  /** What the provider announces and does: from behind, no verb of the API. */
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

  /** Keeps id, addresses and disk, and quota; the chips are given back. */
  stopNode(name: string): Operation {
    return this.#atOnce(() => this.#nodes.stop(this.#node(name)));
  }

  startNode(name: string): Operation {
    return this.#atOnce(() => this.#nodes.start(this.#node(name)));
  }

  /** @param mask fields as proto3 JSON or the proto names them; a map such as `metadata` is replaced whole. */
  updateNode(name: string, changes: JsonObject, mask: readonly string[]): Operation {
    return this.#atOnce(() => this.#nodes.update(this.#node(name), changes, mask));
  }

  performMaintenance(name: string): Operation {
    return this.#atOnce(() => this.maintenance.perform(this.#node(name)));
  }

  /** @param nodeNames full names of nodes of the request; none: all. */
  performMaintenanceQueuedResource(name: string, nodeNames: readonly string[]): Operation {
    return this.#atOnce(() => this.maintenance.performOn(this.#queuedResource(name), nodeNames));
  }

  /** @param workerIds the first one alone is told; none: worker 0. */
  simulateMaintenanceEvent(name: string, workerIds: readonly string[]): Operation {
    return this.#atOnce(() => this.maintenance.simulate(this.#node(name), workerIds));
  }

  /** Best effort, as the RPC says: the operation is marked, its work goes on. */
  cancelOperation(name: string): void {
    this.records.operations.cancel(name);
  }

  /** Forgets the operation; what it does goes on. */
  deleteOperation(name: string): void {
    this.records.operations.forget(name);
  }

  /** v2alpha1's reservations: one for each `zone/generation/reserved` that `Settings.capacity` names. */
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

  /** From behind: what the settings say from now on. */
  configure(changes: Partial<Settings>): void {
    this.records.configure(changes);
  }

  /** From behind: the provider takes the node, at once; nothing if it did before. `vanish`: it leaves the list too. */
  preempt(node: NodeRecord, mode: 'preempted' | 'vanish'): void {
    this.#atOnce(() => {
      const isThere = this.state.nodes[node.resource.name] === node;
      if (isThere && !node.isReclaimed) this.lifecycle.nodes.preempt(node, mode);
    });
  }

  /** From behind: any state, and what nothing here brings about. No time leaves REIMAGING, TERMINATED, HIDING and their like. */
  force(
    node: NodeRecord,
    state: NodeState,
    changes: { readonly health?: NodeHealth; readonly symptoms?: JsonObject[] } = {},
  ): void {
    this.lifecycle.nodes.enter(node, state, { ...changes });
  }

  /** From behind: the service gives up on a request that waits or stalls. @returns false if it does neither. */
  giveUp(record: QueuedResourceRecord, error: Status): boolean {
    return this.#atOnce(() => this.lifecycle.requests.giveUp(record, error));
  }

  /** From behind: a request goes back from PROVISIONING into the queue. @returns false if it is in another state. */
  sendBack(record: QueuedResourceRecord): boolean {
    return this.#atOnce(() => this.lifecycle.requests.sendBack(record));
  }

  /** From behind: the service gives up on it, by its name. */
  giveUpOn(name: string, error: Status): void {
    this.giveUp(this.#queuedResource(name), error);
  }

  /** From behind: a create call is accepted, and its operation fails at once. Nothing was made. */
  failCreate(name: string, error: Status): Operation {
    return this.#atOnce(() => {
      const { operations } = this.records;
      return operations.endAtOnce(operations.start('create', name), { error });
    });
  }

  /** All VMs of the node answer on SSH: nothing but time keeps it from READY. Ignored if the node is another by now. */
  markBooted(name: string, nodeId: string): void {
    const node = this.state.nodes[name];
    if (node?.resource.id !== nodeId) return;
    this.records.noteNode(node, { isBooted: true });
    this.records.wakeNode(name);
  }

  /** A VM of the node could not be booted: the node comes to nothing, with an internal error. */
  markBootFailed(name: string, nodeId: string, error: Error): void {
    this.#atOnce(() => {
      const node = this.state.nodes[name];
      if (node?.resource.id !== nodeId) return;
      this.lifecycle.nodes.fail(node, { code: 13, message: `an internal error has occurred: ${error.message}` });
    });
  }

  /** One time for the whole of a verb, with everything done that was due before it. */
  #atOnce<T>(verb: () => T): T {
    return this.records.atInstant(this.now(), () => {
      this.#fresh();
      return verb();
    });
  }

  /** The state with everything done that is due. */
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
