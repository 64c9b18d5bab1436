import type { JsonObject } from '../json.js';
import { apiErrors } from './api-error.js';
import { fits, inQueueOrder } from './capacity.js';
import type { CloudContext } from './context.js';
import type {
  NodeRecord,
  NodeState,
  QueuedResourceRecord,
  QueuedResourceState,
  QueuedResourceStateName,
} from './model.js';
import type { OperationOutcome } from './operations.js';
import { endOperations } from './operations.js';
import { zoneOf } from './resource-name.js';
import type { Span } from './settings.js';
import { draw } from './settings.js';
import type { CloudState } from './state.js';
import { isHeld } from './state.js';

const OVERTAKEN = { code: 10, message: 'The resource is being deleted.' };

type Initiator = QueuedResourceState['stateInitiator'];

/**
 * Moves queued resources and nodes from state to state, the one place that does:
 *
 *   queued resource  CREATING -> WAITING_FOR_RESOURCES -> PROVISIONING -> ACTIVE -> SUSPENDING -> SUSPENDED
 *                    WAITING_FOR_RESOURCES | PROVISIONING -> FAILED; any -> DELETING -> gone
 *   node             CREATING -> READY -> PREEMPTED; any -> DELETING -> gone
 *
 * A node of a queued resource is made when that enters PROVISIONING, and READY makes it ACTIVE. What a state waits for
 * is its record's `dueAt`; `advance` moves everything whose time has come and that nobody holds.
 */
export class Lifecycle {
  readonly #state: CloudState;
  readonly #context: CloudContext;
  readonly #makeNode: (request: QueuedResourceRecord) => void;

  /** `makeNode` makes the node of a request that got its resources. */
  constructor(state: CloudState, context: CloudContext, makeNode: (request: QueuedResourceRecord) => void) {
    this.#state = state;
    this.#context = context;
    this.#makeNode = makeNode;
  }

  /**
   * Makes all moves that are due, until none is.
   * @returns when there may be more to do, epoch ms, if time alone brings it.
   */
  advance(): number | undefined {
    const now = this.#context.now();
    for (let moved = true; moved;) {
      const nodes = Object.values(this.#state.nodes).filter((node) => this.#advanceNode(node, now));
      const requests = inQueueOrder(Object.values(this.#state.queuedResources)).filter((record) =>
        this.#advanceRequest(record, now),
      );
      moved = nodes.length + requests.length > 0;
    }
    return this.#nextDue(now);
  }

  // After the instant of the moves, not of now: what came due in between would be forgotten. What was due at that instant
  // and did not move is held, or waits for chips or a VM: no time brings it.
  #nextDue(now: number): number | undefined {
    const nodes = Object.values(this.#state.nodes).flatMap((node) => [node.dueAt, node.preemptAt]);
    const requests = Object.values(this.#state.queuedResources).flatMap((record) => [record.dueAt, record.validUntil]);
    const times = [...nodes, ...requests].filter((time) => time !== undefined && time > now);
    return times.length === 0 ? undefined : Math.min(...(times as number[]));
  }

  enterRequest(
    record: QueuedResourceRecord,
    state: QueuedResourceStateName,
    initiator: Initiator,
    data: JsonObject = {},
  ): void {
    const from = record.resource.state.state;
    record.resource = { ...record.resource, state: { ...data, state, stateInitiator: initiator } };
    const span = this.#requestSpan(state);
    record.dueAt = span === undefined ? undefined : this.#context.now() + draw(span, this.#context.random);
    const details = { from, to: state, chips: record.chips, initiator };
    this.#context.record('queued-resource-state', record.resource.name, details);
  }

  enterNode(node: NodeRecord, state: NodeState, changes: JsonObject = {}): void {
    const from = node.resource.state;
    node.resource = { ...node.resource, ...changes, state };
    const { provisioningMs, deletingMs } = this.#state.settings;
    const spans: Readonly<Record<string, Span>> = { CREATING: provisioningMs, DELETING: deletingMs };
    const span = spans[state];
    node.dueAt = span === undefined ? undefined : this.#context.now() + draw(span, this.#context.random);
    node.preemptAt = undefined;
    const details = { from, to: state, chips: node.chips, nodeId: node.resource.id };
    this.#context.record('node-state', node.resource.name, details);
  }

  /** Ms of the cloud's time from a preemption's notice to it. */
  drawNotice(): number {
    return draw(this.#state.settings.noticeMs, this.#context.random);
  }

  /** The provider takes the node. `vanish`: it leaves the list at once, as was seen in the field too. */
  preempt(node: NodeRecord, mode: 'preempted' | 'vanish'): void {
    this.#endNodeOperations(node, { error: { code: 10, message: 'The node was preempted.' } });
    node.wasPreempted = true;
    if (mode === 'vanish') this.removeNode(node);
    else this.enterNode(node, 'PREEMPTED', { healthDescription: 'The TPU was preempted.' });
    this.suspendOwner(node, 'SERVICE');
  }

  /** A request that lost its node can only be deleted: SUSPENDING, then SUSPENDED. */
  suspendOwner(node: NodeRecord, initiator: Initiator): void {
    const owner = this.#state.queuedResources[node.resource.queuedResource ?? ''];
    const state = owner?.resource.state.state;
    if (owner !== undefined && (state === 'ACTIVE' || state === 'PROVISIONING')) {
      this.enterRequest(owner, 'SUSPENDING', initiator);
    }
  }

  /** The node could not be made: CreateNode's operation fails, the node is gone and a request of its own has FAILED. */
  failNode(node: NodeRecord, error: { readonly code: number; readonly message: string }): void {
    this.#endNodeOperations(node, { error });
    const owner = this.#state.queuedResources[node.resource.queuedResource ?? ''];
    this.removeNode(node);
    if (owner !== undefined) this.enterRequest(owner, 'FAILED', 'SERVICE', { failedData: { error } });
  }

  /** Nothing if it is being deleted already. An operation that waits for another state fails. */
  beginNodeDelete(node: NodeRecord): void {
    if (node.resource.state === 'DELETING') return;
    this.#endNodeOperations(node, { error: OVERTAKEN });
    this.enterNode(node, 'DELETING');
  }

  beginRequestDelete(record: QueuedResourceRecord): void {
    if (record.resource.state.state === 'DELETING') return;
    this.#endRequestOperations(record, { error: OVERTAKEN });
    this.enterRequest(record, 'DELETING', 'USER');
  }

  removeNode(node: NodeRecord): void {
    delete this.#state.nodes[node.resource.name];
    const details = { from: node.resource.state, to: 'gone', chips: node.chips, nodeId: node.resource.id };
    this.#context.record('node-state', node.resource.name, details);
    this.#endNodeOperations(node, { result: { type: 'Empty', value: {} } });
  }

  #advanceNode(node: NodeRecord, now: number): boolean {
    const { state, name } = node.resource;
    if (node.preemptAt !== undefined && node.preemptAt <= now) {
      this.preempt(node, 'preempted');
      return true;
    }
    if (node.dueAt === undefined || node.dueAt > now || isHeld(this.#state, state, name)) return false;
    if (state === 'CREATING') return this.#becomeReady(node);
    this.removeNode(node);
    return true;
  }

  #becomeReady(node: NodeRecord): boolean {
    const owner = this.#state.queuedResources[node.resource.queuedResource ?? ''];
    if (!node.isBooted || (owner !== undefined && isHeld(this.#state, 'PROVISIONING', owner.resource.name)))
      return false;
    this.enterNode(node, 'READY');
    this.#endNodeOperations(node, { result: { type: 'Node', value: node.resource } });
    if (owner?.resource.state.state === 'PROVISIONING') this.enterRequest(owner, 'ACTIVE', 'SERVICE');
    return true;
  }

  #advanceRequest(record: QueuedResourceRecord, now: number): boolean {
    const { name } = record.resource;
    const { state } = record.resource.state;
    if (state === 'WAITING_FOR_RESOURCES' && record.validUntil !== undefined && record.validUntil <= now) {
      const error = { code: 4, message: `The queued resource ${name} was not fulfilled before its deadline.` };
      this.enterRequest(record, 'FAILED', 'SERVICE', { failedData: { error } });
      return true;
    }
    if (record.dueAt === undefined || record.dueAt > now || isHeld(this.#state, state, name)) return false;
    return this.#leave(record, state);
  }

  #leave(record: QueuedResourceRecord, state: QueuedResourceStateName): boolean {
    switch (state) {
      case 'CREATING':
        this.enterRequest(record, 'WAITING_FOR_RESOURCES', 'SERVICE');
        // The create operation ends when the request is queued, not when it is ACTIVE.
        this.#endRequestOperations(record, { result: { type: 'QueuedResource', value: record.resource } });
        return true;
      case 'WAITING_FOR_RESOURCES':
        if (!this.#hasCapacity(record) || this.#state.nodes[record.node] !== undefined) return false;
        this.enterRequest(record, 'PROVISIONING', 'SERVICE');
        this.#makeNode(record);
        return true;
      case 'SUSPENDING':
        this.enterRequest(record, 'SUSPENDED', record.resource.state.stateInitiator);
        return true;
      case 'DELETING':
        return this.#removeRequest(record);
      default:
        return false;
    }
  }

  #removeRequest(record: QueuedResourceRecord): boolean {
    const node = this.#state.nodes[record.node];
    const isBeingDeleted = node?.resource.state === 'DELETING' && node.resource.queuedResource === record.resource.name;
    if (isBeingDeleted) return false;
    delete this.#state.queuedResources[record.resource.name];
    const details = { from: 'DELETING', to: 'gone', chips: record.chips };
    this.#context.record('queued-resource-state', record.resource.name, details);
    this.#endRequestOperations(record, { result: { type: 'Empty', value: {} } });
    return true;
  }

  #hasCapacity(record: QueuedResourceRecord): boolean {
    return fits(this.#state, zoneOf(record.resource.name), acceleratorOf(record), record.chips);
  }

  #requestSpan(state: QueuedResourceStateName): Span | undefined {
    const { queueMs, suspendingMs, deletingMs } = this.#state.settings;
    const delays = { CREATING: 0, WAITING_FOR_RESOURCES: queueMs, SUSPENDING: suspendingMs, DELETING: deletingMs };
    return state in delays ? delays[state as keyof typeof delays] : undefined;
  }

  #endNodeOperations(node: NodeRecord, outcome: OperationOutcome): void {
    endOperations(this.#state, this.#context, node.operations, outcome);
    node.operations = [];
  }

  #endRequestOperations(record: QueuedResourceRecord, outcome: OperationOutcome): void {
    endOperations(this.#state, this.#context, record.operations, outcome);
    record.operations = [];
  }
}

export const noCapacityError = (zone: string): { readonly code: number; readonly message: string } => {
  const error = apiErrors.noCapacity(zone);
  return { code: error.code, message: error.message };
};

export function acceleratorOf(record: QueuedResourceRecord): string {
  const tpu = record.resource['tpu'] as { nodeSpec?: { node?: { acceleratorType?: string } }[] } | undefined;
  return tpu?.nodeSpec?.[0]?.node?.acceleratorType ?? '';
}
