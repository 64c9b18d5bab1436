import type { JsonObject } from '../json.js';
import { statusOf } from './api-error.js';
import { nodesAskedFor, placeOfRequest } from './capacity.js';
import { lackOfAddresses } from './external-addresses.js';
import type {
  NodeRecord,
  QueuedResourceRecord,
  QueuedResourceState,
  QueuedResourceStateName,
  Status,
} from './model.js';
import type { NodeLifecycle } from './node-lifecycle.js';
import { LIVE, OVERTAKEN } from './node-lifecycle.js';
import type { OperationOutcome } from './operations.js';
import { runMsOf } from './provisioning-model.js';
import type { Records } from './records.js';
import { zoneOf } from './resource-name.js';
import type { Span } from './settings.js';
import { draw } from './settings.js';
import { isHeld } from './state.js';

type Initiator = QueuedResourceState['stateInitiator'];

const EXPIRED = 4;

/**
 * Moves queued resources from state to state. No other code does:
 *
 *   CREATING -> WAITING_FOR_RESOURCES (ACCEPTED of old) -> PROVISIONING -> ACTIVE -> SUSPENDING -> SUSPENDED
 *   PROVISIONING -> WAITING_FOR_RESOURCES, if its chips are taken before its nodes are there
 *   CREATING (over quota) | WAITING_FOR_RESOURCES | PROVISIONING -> FAILED; PROVISIONING -> SUSPENDING -> FAILED
 *   any -> DELETING -> gone
 *
 * A request is granted whole: all its nodes are made when it enters PROVISIONING, it is ACTIVE when all are READY, and the loss
 * of one suspends it for good.
 */
export class RequestLifecycle {
  readonly #records: Records;
  readonly #nodes: NodeLifecycle;
  readonly #makeNodes: (record: QueuedResourceRecord) => void;

  /** @param makeNodes makes the nodes of a request that got its resources */
  constructor(records: Records, nodes: NodeLifecycle, makeNodes: (record: QueuedResourceRecord) => void) {
    this.#records = records;
    this.#nodes = nodes;
    this.#makeNodes = makeNodes;
  }

  enter(
    record: QueuedResourceRecord,
    state: QueuedResourceStateName,
    initiator: Initiator,
    data: JsonObject = {},
    fields: Partial<QueuedResourceRecord> = {},
  ): void {
    const span = this.#spanOf(state);
    const wait = span === undefined ? undefined : this.#records.now + draw(span, this.#records.context.random);
    const dueAt = isQueued(state) && wait !== undefined ? Math.max(wait, record.validFrom ?? 0) : wait;
    const named = DATA_OF[state] === undefined ? {} : { [DATA_OF[state]]: data };
    this.#records.moveRequest(record, { state, ...named, stateInitiator: initiator }, { dueAt, ...fields });
  }

  /** A request that lost its nodes can only be deleted: SUSPENDING, then SUSPENDED. */
  suspend(record: QueuedResourceRecord, initiator: Initiator): void {
    const { state } = record.resource.state;
    if (state === 'ACTIVE' || state === 'PROVISIONING') this.enter(record, 'SUSPENDING', initiator);
  }

  /** The provider took a node: its request is suspended, and the other nodes are kept or preempted too. */
  nodeLost(node: NodeRecord): void {
    const record = this.#records.ownerOf(node);
    if (record === undefined) return;
    this.suspend(record, 'SERVICE');
    if (this.#records.state.settings.othersOnPreemption === 'kept') return;
    for (const other of this.#records.nodesOf(record)) {
      if (LIVE.includes(other.resource.state) && !other.isReclaimed) this.#nodes.preempt(other, 'preempted');
    }
  }

  /** A node could not be made: its siblings are removed, and the request becomes FAILED. */
  nodeFailed(node: NodeRecord, error: Status): void {
    const record = this.#records.ownerOf(node);
    if (record === undefined) return;
    if (record.resource.state.state !== 'PROVISIONING') return this.suspend(record, 'SERVICE');
    this.enter(record, 'FAILED', 'SERVICE', { error: { ...error } });
    for (const sibling of this.#records.nodesOf(record)) this.#nodes.remove(sibling);
  }

  /** False while the admin holds its request in PROVISIONING. */
  mayBecomeReady(node: NodeRecord): boolean {
    const owner = this.#records.ownerOf(node);
    return owner === undefined || !isHeld(this.#records.state, 'PROVISIONING', owner.resource.name);
  }

  /**
   * The service gives up on a request that waits, or that stalls in PROVISIONING. A stalled one loses its nodes and goes
   * SUSPENDING -> FAILED, as was seen (v6e-64, us-east1-d, 2026-06-14).
   * @returns false in any other state
   */
  giveUp(record: QueuedResourceRecord, error: Status): boolean {
    const { state } = record.resource.state;
    if (state === 'CREATING' || isQueued(state)) {
      this.#endOperations(record, { result: { type: 'QueuedResource', value: record.resource } });
      this.enter(record, 'FAILED', 'SERVICE', { error: { ...error } });
      return true;
    }
    if (state !== 'PROVISIONING') return false;
    for (const node of this.#records.nodesOf(record)) this.#nodes.beginDelete(node);
    this.enter(record, 'SUSPENDING', 'SERVICE', {}, { failure: error });
    return true;
  }

  /**
   * The chosen chips are taken elsewhere: the request's nodes are removed, and it waits again.
   * @returns false in any other state
   */
  sendBack(record: QueuedResourceRecord): boolean {
    if (record.resource.state.state !== 'PROVISIONING') return false;
    const nodes = this.#records.nodesOf(record);
    this.enter(record, this.#records.state.settings.queuedState, 'SERVICE');
    for (const node of nodes) this.#nodes.remove(node);
    return true;
  }

  beginDelete(record: QueuedResourceRecord): void {
    if (record.resource.state.state === 'DELETING') return;
    this.#endOperations(record, { error: OVERTAKEN });
    this.enter(record, 'DELETING', 'USER');
  }

  nodeReady(node: NodeRecord): void {
    const owner = this.#records.ownerOf(node);
    if (owner?.resource.state.state !== 'PROVISIONING') return;
    const nodes = this.#records.nodesOf(owner);
    const isWhole = nodes.length === owner.nodes.length && nodes.every(({ resource }) => resource.state === 'READY');
    const runMs = runMsOf(owner.resource);
    const runUntil = runMs === undefined ? undefined : this.#records.now + runMs;
    if (isWhole) this.enter(owner, 'ACTIVE', 'SERVICE', {}, { runUntil });
  }

  /** Carries out what is due. @returns true if anything was */
  advance(record: QueuedResourceRecord): boolean {
    const { now } = this.#records;
    const { state } = record.resource.state;
    if (isQueued(state) && record.validUntil !== undefined && record.validUntil <= now) {
      const message = `The queued resource ${record.resource.name} was not fulfilled before its deadline.`;
      this.enter(record, 'FAILED', 'SERVICE', { error: { code: EXPIRED, message } });
      return true;
    }
    if (state === 'ACTIVE' && record.runUntil !== undefined && record.runUntil <= now) return this.#endRun(record);
    if (record.dueAt === undefined || record.dueAt > now || this.#isHeld(record)) return false;
    return this.#leave(record, state);
  }

  /** "The TPU VMs are deleted and the queued resource transitions to SUSPENDED" (request-using-flex-start, 2025-09-04). */
  #endRun(record: QueuedResourceRecord): true {
    this.enter(record, 'SUSPENDING', 'SERVICE');
    for (const node of this.#records.nodesOf(record)) this.#nodes.beginDelete(node);
    return true;
  }

  #leave(record: QueuedResourceRecord, state: QueuedResourceStateName): boolean {
    switch (state) {
      case 'CREATING':
        return this.#queue(record);
      case 'ACCEPTED':
      case 'WAITING_FOR_RESOURCES':
        return this.#grant(record);
      case 'SUSPENDING':
        return this.#finishSuspending(record);
      case 'DELETING':
        return this.#remove(record);
      default:
        return false;
    }
  }

  #queue(record: QueuedResourceRecord): true {
    const { queuedState } = this.#records.state.settings;
    if (record.failure === undefined) this.enter(record, queuedState, 'SERVICE');
    else this.enter(record, 'FAILED', 'SERVICE', { error: { ...record.failure } });
    // The create operation ends when the request is queued, not when it is ACTIVE.
    this.#endOperations(record, { result: { type: 'QueuedResource', value: record.resource } });
    return true;
  }

  #grant(record: QueuedResourceRecord): boolean {
    const isNameTaken = record.nodes.some((name) => this.#records.state.nodes[name] !== undefined);
    if (isNameTaken || !this.#records.usage.hasCapacity(placeOfRequest(record), record.chips)) return false;
    const refusal = lackOfAddresses(this.#records.state, zoneOf(record.resource.name), nodesAskedFor(record));
    if (refusal !== undefined) return this.giveUp(record, statusOf(refusal));
    const undeletableMs = draw(this.#records.state.settings.undeletableMs, this.#records.context.random);
    const undeletableUntil = undeletableMs === 0 ? undefined : this.#records.now + undeletableMs;
    this.enter(record, 'PROVISIONING', 'SERVICE', {}, { undeletableUntil });
    this.#makeNodes(record);
    return true;
  }

  #finishSuspending(record: QueuedResourceRecord): true {
    if (record.failure === undefined) this.enter(record, 'SUSPENDED', record.resource.state.stateInitiator);
    else this.enter(record, 'FAILED', 'SERVICE', { error: { ...record.failure } });
    return true;
  }

  #remove(record: QueuedResourceRecord): boolean {
    const isWaiting = this.#records.nodesOf(record).some((node) => node.resource.state === 'DELETING');
    if (isWaiting) return false;
    this.#records.removeRequest(record);
    this.#endOperations(record, { result: { type: 'Empty', value: {} } });
    return true;
  }

  #isHeld(record: QueuedResourceRecord): boolean {
    const { state } = record.resource.state;
    const { name } = record.resource;
    return isHeld(this.#records.state, state === 'ACCEPTED' ? 'WAITING_FOR_RESOURCES' : state, name);
  }

  #spanOf(state: QueuedResourceStateName): Span | undefined {
    const { creatingMs, queueMs, suspendingMs, deletingMs } = this.#records.state.settings;
    if (isQueued(state)) return queueMs;
    const spans: Partial<Record<QueuedResourceStateName, Span>> = {
      CREATING: creatingMs,
      SUSPENDING: suspendingMs,
      DELETING: deletingMs,
    };
    return spans[state];
  }

  #endOperations(record: QueuedResourceRecord, outcome: OperationOutcome): void {
    const { operations } = record;
    if (operations.length === 0) return;
    this.#records.noteRequest(record, { operations: [] });
    this.#records.operations.end(operations, outcome);
  }
}

/** Whether a request in this state waits for its turn. The state has two names. */
export function isQueued(state: QueuedResourceStateName): boolean {
  return state === 'WAITING_FOR_RESOURCES' || state === 'ACCEPTED';
}

/** The field of QueuedResourceState's `state_data` that is set in a state; WAITING_FOR_RESOURCES has none (protos). */
const DATA_OF: Partial<Record<QueuedResourceStateName, string>> = {
  CREATING: 'creatingData',
  ACCEPTED: 'acceptedData',
  PROVISIONING: 'provisioningData',
  FAILED: 'failedData',
  DELETING: 'deletingData',
  ACTIVE: 'activeData',
  SUSPENDING: 'suspendingData',
  SUSPENDED: 'suspendedData',
};
