import type { JsonObject } from '../json.js';
import { Addresses } from './addresses.js';
import type { Appointment } from './agenda.js';
import { Agenda } from './agenda.js';
import { placeOfNode, poolOf } from './capacity.js';
import { Claims } from './claims.js';
import type { CloudContext } from './context.js';
import type {
  HostRecord,
  NodeRecord,
  NodeState,
  NodeTimes,
  QueuedResourceRecord,
  QueuedResourceState,
} from './model.js';
import { Operations } from './operations.js';
import type { Settings } from './settings.js';
import type { CloudState } from './state.js';
import { Usage } from './usage.js';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type NodeFields = Partial<Omit<NodeRecord, 'resource'>>;
type RequestFields = Partial<Omit<QueuedResourceRecord, 'resource'>>;

/** All moments that a node or a request may wait for. */
type Times = NodeTimes & Pick<QueuedResourceRecord, 'validUntil' | 'runUntil'>;
const TIMES: readonly (keyof Times)[] = [
  'dueAt',
  'preemptAt',
  'offAt',
  'noticeAt',
  'clearAt',
  'updateAt',
  'expiresAt',
  'validUntil',
  'runUntil',
];

/** Resources to check for other reasons than time. */
export interface Woken {
  readonly nodes: Set<string>;
  readonly requests: Set<string>;
  /** `zone/generation` whose chips came free. */
  readonly pools: Set<string>;
}

/** Names of what changed since the last query. */
export interface Touched {
  readonly nodes: Set<string>;
  readonly queuedResources: Set<string>;
  readonly operations: Set<string>;
}

/**
 * The only way to change the cloud's resources. Each change that the API shows leaves an event with the after-image (`resource`;
 * absent when it is gone), so that the journal alone tells the state. The agenda, chips in use, addresses and claims are kept up
 * to date here.
 *
 * Kinds of events: `node-state` and `queued-resource-state` (from, to, chips ..), `node-change` and `queued-resource-change` (in
 * the same state), `operation`, `settings`.
 */
export class Records {
  readonly state: CloudState;
  readonly context: CloudContext;
  readonly agenda: Agenda;
  readonly usage: Usage;
  readonly operations: Operations;
  readonly #addresses: Addresses;
  readonly #claims = new Claims();
  #woken: Woken = { nodes: new Set(), requests: new Set(), pools: new Set() };
  #touched: Touched = { nodes: new Set(), queuedResources: new Set(), operations: new Set() };

  constructor(state: CloudState, outside: CloudContext) {
    const context = { ...outside, record: this.#recorder(state, outside) };
    this.state = state;
    this.context = context;
    this.usage = new Usage(state);
    this.operations = new Operations(state, context, (name) => this.#touched.operations.add(name));
    this.#addresses = new Addresses(state, context.subnetOctet);
    this.agenda = new Agenda((appointment) => this.#isCurrent(appointment));
    for (const node of Object.values(state.nodes)) this.#schedule('node', node.resource.name, node);
    for (const record of Object.values(state.queuedResources)) {
      this.#schedule('queued-resource', record.resource.name, record);
      this.#claims.add(record);
    }
  }

  get now(): number {
    return this.context.now();
  }

  /** Runs `run` at one instant, however long it takes: a clock may run a million times as fast as this program. */
  atInstant<T>(instant: number, run: () => T): T {
    return this.context.atInstant === undefined ? run() : this.context.atInstant(instant, run);
  }

  addNode(node: NodeRecord): void {
    this.state.nodes[node.resource.name] = node;
    this.usage.addNode(node, 1);
    this.#touched.nodes.add(node.resource.name);
    this.#schedule('node', node.resource.name, node);
    this.#noteNodeState(node, 'absent', node.resource.state);
  }

  /**
   * @param changes of the resource
   * @param fields of the record beside it
   */
  moveNode(node: NodeRecord, state: NodeState, changes: JsonObject, fields: NodeFields): void {
    const from = node.resource.state;
    this.#setNode(node, { ...changes, state }, fields);
    this.#noteNodeState(node, from, state);
  }

  /** Changes the resource within its state. */
  changeNode(node: NodeRecord, changes: JsonObject, fields: NodeFields = {}): void {
    this.#setNode(node, changes, fields);
    this.context.record('node-change', node.resource.name, { nodeId: node.resource.id, resource: node.resource });
  }

  /** Changes only fields that the API does not show. */
  noteNode(node: NodeRecord, fields: NodeFields): void {
    this.#setNode(node, {}, fields);
  }

  removeNode(node: NodeRecord): void {
    const { name } = node.resource;
    this.usage.addNode(node, -1);
    delete this.state.nodes[name];
    this.#addresses.free(node.hosts.map((host) => host.address));
    this.#touched.nodes.add(name);
    this.#woken.pools.add(poolOf(placeOfNode(node)));
    for (const request of this.claimants(name)) this.wakeRequest(request.resource.name);
    this.#noteNodeState(node, node.resource.state, 'gone');
  }

  addRequest(record: QueuedResourceRecord): void {
    this.state.queuedResources[record.resource.name] = record;
    this.usage.addRequest(record, 1);
    this.#claims.add(record);
    this.#requestChanged(record, record);
    this.#noteRequestState(record, 'absent', record.resource.state.state);
  }

  moveRequest(record: QueuedResourceRecord, state: QueuedResourceState, fields: RequestFields): void {
    const from = record.resource.state.state;
    this.usage.addRequest(record, -1);
    Object.assign(record as Mutable<QueuedResourceRecord>, fields);
    (record as Mutable<QueuedResourceRecord>).resource = { ...record.resource, state };
    this.usage.addRequest(record, 1);
    this.#requestChanged(record, fields);
    this.#noteRequestState(record, from, state.state);
  }

  /** Changes only fields that the API does not show. */
  noteRequest(record: QueuedResourceRecord, fields: RequestFields): void {
    Object.assign(record as Mutable<QueuedResourceRecord>, fields);
    this.#requestChanged(record, fields);
  }

  removeRequest(record: QueuedResourceRecord): void {
    const { name } = record.resource;
    // A husk that the request leaves behind now holds quota itself.
    const husks = this.nodesOf(record);
    for (const node of husks) this.usage.addNode(node, -1);
    this.usage.addRequest(record, -1);
    delete this.state.queuedResources[name];
    for (const node of husks) this.usage.addNode(node, 1);
    this.#claims.remove(record);
    this.#touched.queuedResources.add(name);
    this.#noteRequestState(record, record.resource.state.state, 'gone');
  }

  /** Changes settings. Resources that enter a state from now on obey them. Resources already in a state keep their time. */
  configure(changes: Partial<Settings>): void {
    this.state.settings = { ...this.state.settings, ...changes };
    this.context.record('settings', 'settings', { changed: Object.keys(changes), resource: this.state.settings });
  }

  takeHosts(count: number): readonly HostRecord[] {
    const suffix = this.context.random.hex(8);
    return Array.from({ length: count }, (_, index) => ({
      address: this.#addresses.take(),
      hostname: `t1v-n-${suffix}-w-${index}`,
    }));
  }

  freeHosts(hosts: readonly HostRecord[]): void {
    this.#addresses.free(hosts.map((host) => host.address));
  }

  /** The request that made the node, as long as it exists. */
  ownerOf(node: NodeRecord): QueuedResourceRecord | undefined {
    const owner = this.state.queuedResources[node.resource.queuedResource ?? ''];
    // A new request under the name of one that left a husk has nothing to do with the husk.
    return owner?.nodes.includes(node.resource.name) === true ? owner : undefined;
  }

  /** The existing nodes that the request made. */
  nodesOf(record: QueuedResourceRecord): readonly NodeRecord[] {
    return record.nodes.flatMap((name) => {
      const node = this.state.nodes[name];
      return node?.resource.queuedResource === record.resource.name ? [node] : [];
    });
  }

  /** Requests that made, or will make, a node with this name. */
  claimants(nodeName: string): readonly QueuedResourceRecord[] {
    return this.#claims.of(nodeName).flatMap((name) => this.state.queuedResources[name] ?? []);
  }

  wakeNode(name: string): void {
    this.#woken.nodes.add(name);
  }

  wakeRequest(name: string): void {
    this.#woken.requests.add(name);
  }

  wake({ nodes, requests, pools }: Woken): void {
    for (const name of nodes) this.#woken.nodes.add(name);
    for (const name of requests) this.#woken.requests.add(name);
    for (const pool of pools) this.#woken.pools.add(pool);
  }

  /** Resources to check; each is returned once. */
  takeWoken(): Woken {
    const woken = this.#woken;
    this.#woken = { nodes: new Set(), requests: new Set(), pools: new Set() };
    return woken;
  }

  /** Names of what changed since the last call. A name that the state lacks is gone. */
  takeTouched(): Touched {
    const touched = this.#touched;
    this.#touched = { nodes: new Set(), queuedResources: new Set(), operations: new Set() };
    return touched;
  }

  /** Returns a recorder that also notes the instant of each event: nothing is carried out at an earlier instant afterwards. */
  #recorder(state: CloudState, { now, record }: CloudContext): CloudContext['record'] {
    return (kind, subject, details) => {
      state.advancedTo = Math.max(state.advancedTo, now());
      record(kind, subject, details);
    };
  }

  #setNode(node: NodeRecord, changes: JsonObject, fields: NodeFields): void {
    const held = this.usage.capacityInUse(poolOf(placeOfNode(node)));
    this.usage.addNode(node, -1);
    Object.assign(node as Mutable<NodeRecord>, fields);
    (node as Mutable<NodeRecord>).resource = withoutAbsent({ ...node.resource, ...changes });
    this.usage.addNode(node, 1);
    const pool = poolOf(placeOfNode(node));
    if (this.usage.capacityInUse(pool) < held) this.#woken.pools.add(pool);
    this.#touched.nodes.add(node.resource.name);
    this.#schedule('node', node.resource.name, fields);
  }

  #requestChanged(record: QueuedResourceRecord, fields: Times): void {
    this.#touched.queuedResources.add(record.resource.name);
    this.#schedule('queued-resource', record.resource.name, fields);
  }

  /** Adds an appointment for each time that was set, even if it is the same moment again. */
  #schedule(kind: 'node' | 'queued-resource', name: string, times: Times): void {
    for (const at of timesOf(times)) this.agenda.add({ at, kind, name });
  }

  #isCurrent({ at, kind, name }: Appointment): boolean {
    const record = kind === 'node' ? this.state.nodes[name] : this.state.queuedResources[name];
    return record !== undefined && timesOf(record).includes(at);
  }

  #noteNodeState(node: NodeRecord, from: string, to: string): void {
    const { name, id: nodeId } = node.resource;
    const image = to === 'gone' ? {} : { resource: node.resource };
    this.context.record('node-state', name, { from, to, chips: node.chips, nodeId, ...image });
  }

  #noteRequestState({ resource, chips }: QueuedResourceRecord, from: string, to: string): void {
    const image = to === 'gone' ? {} : { initiator: resource.state.stateInitiator, resource };
    this.context.record('queued-resource-state', resource.name, { from, to, chips, ...image });
  }
}

/** Removes fields that a change set to undefined. */
function withoutAbsent<T extends JsonObject>(resource: T): T {
  return Object.fromEntries(Object.entries(resource).filter(([, value]) => value !== undefined)) as T;
}

function timesOf(times: Times): readonly number[] {
  return TIMES.flatMap((time) => times[time] ?? []);
}
