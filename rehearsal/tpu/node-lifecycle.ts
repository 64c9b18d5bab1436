import type { JsonObject } from '../json.js';
import { capacityOfNode } from './capacity.js';
import type { NodeRecord, NodeState, Status } from './model.js';
import type { OperationOutcome } from './operations.js';
import type { Records } from './records.js';
import type { Span } from './settings.js';
import { draw } from './settings.js';
import { isHeld, matches } from './state.js';

/** Error of operations that wait for a node or a request when a deletion overtakes them. */
export const OVERTAKEN: Status = { code: 10, message: 'The resource is being deleted.' };
const PREEMPTED: Status = { code: 10, message: 'The node was preempted.' };

/** No announcement is pending: no preemption, no notice, no warning that ends by itself. */
const NOTHING_AHEAD = {
  preemptAt: undefined,
  offAt: undefined,
  noticeAt: undefined,
  clearAt: undefined,
  notice: undefined,
  power: undefined,
};

/** Effects of a node's changes on the request that made it. */
export interface OwnerHooks {
  /** False: the node must wait before it becomes READY for the first time. */
  readonly mayBecomeReady: (node: NodeRecord) => boolean;
  readonly becameReady: (node: NodeRecord) => void;
  readonly wasPreempted: (node: NodeRecord) => void;
  /** A boot failed; the node is gone. */
  readonly failed: (node: NodeRecord, error: Status) => void;
}

/**
 * Moves nodes from state to state. No other code does:
 *
 *   CREATING -> READY -> STOPPING -> STOPPED -> STARTING -> READY
 *   READY -> REPAIRING | RESTARTING -> READY
 *   any live one -> PREEMPTED, or gone at once; any -> DELETING -> gone
 *
 * REIMAGING, TERMINATED, HIDING, HIDDEN, UNHIDING and UNKNOWN are entered by `force` only, and left only by `force` and by a
 * deletion.
 */
export class NodeLifecycle {
  readonly #records: Records;
  readonly #owner: OwnerHooks;

  constructor(records: Records, owner: OwnerHooks) {
    this.#records = records;
    this.#owner = owner;
  }

  /** @param changes of the resource beside its state */
  enter(node: NodeRecord, state: NodeState, changes: JsonObject = {}): void {
    const span = this.#spanOf(state);
    const dueAt = span === undefined ? undefined : this.#records.now + draw(span, this.#records.context.random);
    // A node that is not live waits for no preemption. A node whose VMs are down has to boot them again.
    const ended = LIVE.includes(state) ? {} : NOTHING_AHEAD;
    const booted = BOOTED.includes(state) ? {} : { isBooted: false };
    this.#records.moveNode(node, state, changes, { dueAt, ...ended, ...booted });
  }

  /** The provider takes the node. `vanish`: it leaves the list at once, which was also seen in the field. */
  preempt(node: NodeRecord, mode: 'preempted' | 'vanish'): void {
    this.endOperations(node, { error: PREEMPTED });
    this.#records.noteNode(node, { isReclaimed: true, expiresAt: undefined });
    if (mode === 'vanish') this.remove(node);
    else this.enter(node, 'PREEMPTED', { healthDescription: 'The TPU was preempted.' });
    this.#owner.wasPreempted(node);
  }

  /** Begins a deletion, unless the node is being deleted already. An operation that waits for another state fails. */
  beginDelete(node: NodeRecord): void {
    if (node.resource.state === 'DELETING') return;
    this.endOperations(node, { error: OVERTAKEN });
    // A stopped node gave its chips back, and takes none to be deleted.
    if (capacityOfNode(node) === 0) this.#records.noteNode(node, { isReclaimed: true });
    this.enter(node, 'DELETING');
  }

  remove(node: NodeRecord): void {
    this.#records.removeNode(node);
    this.endOperations(node, { result: { type: 'Empty', value: {} } });
  }

  /** The node fails: its operations fail, it is removed, and its request becomes FAILED. */
  fail(node: NodeRecord, error: Status): void {
    this.endOperations(node, { error });
    this.remove(node);
    this.#owner.failed(node, error);
  }

  /** Ends the operations that wait for the node. An operation about several nodes ends with the last of them. */
  endOperations(node: NodeRecord, outcome: OperationOutcome): void {
    const names = node.update === undefined ? node.operations : [...node.operations, node.update.operation];
    this.#records.noteNode(node, { operations: [], update: undefined, updateAt: undefined });
    const owner = this.#records.ownerOf(node);
    const siblings = owner === undefined ? [] : this.#records.nodesOf(owner);
    const shared = new Set(siblings.flatMap((sibling) => sibling.operations));
    const own = names.filter((name) => !shared.has(name));
    this.#records.operations.end(own, outcome);
  }

  /** Carries out what is due. */
  advance(node: NodeRecord): void {
    const { now } = this.#records;
    const isDue = (at: number | undefined): boolean => at !== undefined && at <= now;
    if (isDue(node.preemptAt) || isDue(node.expiresAt)) {
      this.preempt(node, 'preempted');
      return;
    }
    if (isDue(node.noticeAt)) this.#tellGuests(node, now);
    if (isDue(node.offAt)) this.#records.noteNode(node, { offAt: undefined, power: 'off' });
    if (isDue(node.clearAt)) this.clearWarning(node);
    if (isDue(node.updateAt)) this.#finishUpdate(node);
    const { state, name } = node.resource;
    if (isDue(node.dueAt) && !isHeld(this.#records.state, state, name)) this.#leave(node);
  }

  /** Resets health, notice and upcoming maintenance. VMs that are shutting down go on with that. */
  clearWarning(node: NodeRecord): void {
    if (node.power !== undefined) return;
    const healthy = { health: 'HEALTHY', healthDescription: undefined, upcomingMaintenance: undefined };
    this.#records.changeNode(node, healthy, NOTHING_AHEAD);
  }

  #leave(node: NodeRecord): void {
    switch (node.resource.state) {
      case 'CREATING':
        return this.#finishCreation(node);
      case 'STARTING':
        if (node.isBooted) this.#becomeReady(node);
        return;
      case 'RESTARTING':
        return this.#becomeReady(node);
      case 'REPAIRING':
        this.clearWarning(node);
        return this.#becomeReady(node);
      case 'STOPPING':
        this.enter(node, 'STOPPED');
        return this.endOperations(node, { result: { type: 'Node', value: node.resource } });
      case 'DELETING':
        return this.remove(node);
      default:
    }
  }

  #finishCreation(node: NodeRecord): void {
    const { name } = node.resource;
    const failure = this.#records.state.settings.bootFailures.find((rule) => matches(rule.nameMatches, name));
    if (failure !== undefined) {
      this.fail(node, { code: 13, message: failure.message ?? 'an internal error has occurred' });
    } else if (node.isBooted && this.#owner.mayBecomeReady(node)) {
      this.#becomeReady(node);
    }
  }

  #becomeReady(node: NodeRecord): void {
    this.enter(node, 'READY');
    this.#owner.becameReady(node);
    const owner = this.#records.ownerOf(node);
    const isReset = node.operations.some((name) => this.#records.state.operations[name]?.target !== node.resource.name);
    // An operation on the request returns the request.
    const result =
      isReset && owner !== undefined
        ? ({ type: 'QueuedResource', value: owner.resource } as const)
        : ({ type: 'Node', value: node.resource } as const);
    this.endOperations(node, { result });
  }

  /** ACPI's soft off: the metadata server says that the VM is preempted, and its system shuts down. */
  #tellGuests(node: NodeRecord, now: number): void {
    const notice = { kind: 'preemption', at: now, until: node.offAt ?? now } as const;
    this.#records.noteNode(node, { noticeAt: undefined, notice, power: 'stopping' });
  }

  #finishUpdate(node: NodeRecord): void {
    const { update } = node;
    if (update === undefined) return;
    this.#records.changeNode(node, update.changes, { update: undefined, updateAt: undefined });
    this.#records.operations.end([update.operation], { result: { type: 'Node', value: node.resource } });
  }

  #spanOf(state: NodeState): Span | undefined {
    const { settings } = this.#records.state;
    const spans: Partial<Record<NodeState, Span>> = {
      CREATING: settings.provisioningMs,
      STARTING: settings.startingMs,
      STOPPING: settings.stoppingMs,
      RESTARTING: settings.repairingMs,
      REPAIRING: settings.repairingMs,
      DELETING: settings.deletingMs,
    };
    return spans[state];
  }
}

/** States in which the provider can take a node. */
export const LIVE: readonly NodeState[] = ['CREATING', 'READY', 'REPAIRING', 'RESTARTING', 'STARTING', 'REIMAGING'];
/** States in which VMs that answered still do, or soon will. */
const BOOTED: readonly NodeState[] = ['CREATING', 'READY', 'REPAIRING', 'STARTING'];
