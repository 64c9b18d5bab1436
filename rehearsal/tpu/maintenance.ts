import type { JsonObject } from '../json.js';
import { ApiError, apiErrors } from './api-error.js';
import type { Lifecycle } from './lifecycle.js';
import type { NodeRecord, Operation, QueuedResourceRecord } from './model.js';
import { refuseUnless } from './node-verbs.js';
import type { Records } from './records.js';
import { draw } from './settings.js';

/** Announcements and actions of the provider on a node, asked for by the API or the admin. Verbs of the API throw ApiError. */
export class Maintenance {
  readonly #records: Records;
  readonly #lifecycle: () => Lifecycle;

  constructor(records: Records, lifecycle: () => Lifecycle) {
    this.#records = records;
    this.#lifecycle = lifecycle;
  }

  /**
   * Health announces the preemption while the node still works (4 to 6 minutes before, 3 of 3 in the field). The guests are told
   * in the last `guestNoticeMs` of that time, and shut down.
   */
  announcePreemption(node: NodeRecord, noticeMs: number): void {
    const { now, context, state } = this.#records;
    const offAt = now + noticeMs;
    const guestNoticeMs = draw(state.settings.guestNoticeMs, context.random);
    const noticeAt = guestNoticeMs === 0 ? undefined : Math.max(now, offAt - guestNoticeMs);
    const health = { health: 'UNHEALTHY_MAINTENANCE', healthDescription: 'The TPU is about to be preempted.' };
    this.#records.changeNode(node, health, { ...this.#ending(offAt), noticeAt });
  }

  /** Only the guests are told: the API shows nothing until PREEMPTED. */
  signalPreemption(node: NodeRecord): void {
    const { now, context, state } = this.#records;
    const offAt = now + draw(state.settings.guestNoticeMs, context.random);
    this.#records.changeNode(node, {}, { ...this.#ending(offAt), noticeAt: now });
  }

  /** Cuts the VMs' power now, without any notice. */
  cutPower(node: NodeRecord): void {
    this.#records.changeNode(node, {}, { ...this.#ending(this.#records.now), noticeAt: undefined });
  }

  /**
   * Sets UNHEALTHY_MAINTENANCE and nothing more.
   * @param clearAfterMs healthy again after that time; absent: until the admin clears it
   */
  warn(node: NodeRecord, clearAfterMs?: number): void {
    const clearAt = clearAfterMs === undefined ? undefined : this.#records.now + clearAfterMs;
    const healthDescription = 'The TPU will undergo maintenance.';
    this.#records.changeNode(node, { health: 'UNHEALTHY_MAINTENANCE', healthDescription }, { clearAt });
  }

  /** REPAIRING, then READY, which ends the operation. */
  perform(node: NodeRecord): Operation {
    refuseUnless(node, 'performMaintenance', ['READY']);
    return this.#repair([node], node.resource.name);
  }

  /** @param nodeNames full names of nodes of the request; empty: all */
  performOn(record: QueuedResourceRecord, nodeNames: readonly string[]): Operation {
    const stranger = nodeNames.find((name) => !record.nodes.includes(name));
    if (stranger !== undefined) throw apiErrors.notFound(stranger);
    const all = this.#records.nodesOf(record);
    const nodes = nodeNames.length === 0 ? all : all.filter(({ resource }) => nodeNames.includes(resource.name));
    for (const node of nodes) refuseUnless(node, 'performMaintenance', ['READY']);
    if (nodes.length === 0) throw apiErrors.notFound(record.nodes[0] ?? record.resource.name);
    return this.#repair(nodes, record.resource.name);
  }

  /** One worker's metadata server announces a maintenance event: the first one named, else worker 0 (v2alpha1 proto). */
  simulate(node: NodeRecord, workerIds: readonly string[]): Operation {
    refuseUnless(node, 'simulateMaintenanceEvent', ['READY']);
    const worker = Number(workerIds[0] ?? 0);
    if (!Number.isInteger(worker) || worker < 0 || worker >= node.hosts.length) {
      const text = `worker_ids: '${workerIds[0]}' is not a worker of ${node.resource.name}, which has ${node.hosts.length}`;
      throw new ApiError('INVALID_ARGUMENT', text);
    }
    this.announceMaintenance(node, [worker]);
    const operation = this.#records.operations.start('simulateMaintenanceEvent', node.resource.name);
    return this.#records.operations.endAtOnce(operation, { result: { type: 'Node', value: node.resource } });
  }

  /** Tells the guests; the announcement clears after `repairingMs`. @param workers by index; absent: all */
  announceMaintenance(node: NodeRecord, workers?: readonly number[]): void {
    const { now } = this.#records;
    const until = now + this.#drawRepair();
    const notice = { kind: 'maintenance', at: now, until, ...(workers && { workers }) } as const;
    const upcomingMaintenance = upcoming(now, until, 'PENDING');
    this.#records.changeNode(node, { upcomingMaintenance }, { notice, clearAt: until });
  }

  #ending(offAt: number): Pick<NodeRecord, 'offAt' | 'preemptAt' | 'clearAt'> {
    const { context, state } = this.#records;
    return { offAt, preemptAt: offAt + draw(state.settings.preemptedLagMs, context.random), clearAt: undefined };
  }

  #repair(nodes: readonly NodeRecord[], target: string): Operation {
    const operation = this.#records.operations.start('performMaintenance', target);
    const { now } = this.#records;
    for (const node of nodes) {
      const upcomingMaintenance = upcoming(now, now + this.#drawRepair(), 'ONGOING');
      this.#records.noteNode(node, { operations: [...node.operations, operation.name] });
      this.#lifecycle().nodes.enter(node, 'REPAIRING', { upcomingMaintenance });
    }
    return operation;
  }

  #drawRepair(): number {
    return draw(this.#records.state.settings.repairingMs, this.#records.context.random);
  }
}

/** Times are strings in this message (v2alpha1 proto). */
function upcoming(from: number, until: number, maintenanceStatus: 'PENDING' | 'ONGOING'): JsonObject {
  const [windowStartTime, windowEndTime] = [new Date(from).toISOString(), new Date(until).toISOString()];
  return { type: 'UNSCHEDULED', canReschedule: false, windowStartTime, windowEndTime, maintenanceStatus };
}
