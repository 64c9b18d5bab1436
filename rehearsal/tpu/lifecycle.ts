import type { QueuedResourceRecord } from './model.js';
import { NodeLifecycle } from './node-lifecycle.js';
import type { Records, Woken } from './records.js';
import { isQueued, RequestLifecycle } from './request-lifecycle.js';
import { draw } from './settings.js';
import { byTurn, WaitingQueue } from './waiting-queue.js';

/**
 * Carries out what time brings to nodes and queued resources, each change at the instant when it was due, in order. The result is
 * the same if the cloud is seldom read, or if its clock runs a thousand times as fast. Something due that cannot be done yet (it
 * is held, or waits for chips or a VM) is checked again once that has changed.
 */
export class Lifecycle {
  readonly nodes: NodeLifecycle;
  readonly requests: RequestLifecycle;
  readonly #records: Records;
  readonly #waiting = new WaitingQueue();
  /** Names of resources that were due and did not move. */
  readonly #stuck = { nodes: new Set<string>(), requests: new Set<string>() };
  #rules: readonly unknown[] = [];

  /** @param makeNodes makes the nodes of a request that got its resources */
  constructor(records: Records, makeNodes: (record: QueuedResourceRecord) => void) {
    this.#records = records;
    this.nodes = new NodeLifecycle(records, {
      mayBecomeReady: (node) => this.requests.mayBecomeReady(node),
      becameReady: (node) => this.requests.nodeReady(node),
      wasPreempted: (node) => this.requests.nodeLost(node),
      failed: (node, error) => this.requests.nodeFailed(node, error),
    });
    this.requests = new RequestLifecycle(records, this.nodes, makeNodes);
  }

  /**
   * Carries out everything that is due.
   * @returns the next time at which something may be due, epoch ms; undefined if time alone brings nothing
   */
  advance(): number | undefined {
    const { agenda, context, state } = this.#records;
    const present = context.now();
    // Changes by a call or a VM since then belong to the present, not to the instants that are caught up with.
    const fromOutside = this.#records.takeWoken();
    for (let next = agenda.next(); next !== undefined && next <= present; next = agenda.next()) {
      // After a restart much may be long past: time never goes back behind what was journalled.
      const instant = Math.max(next, Math.min(state.advancedTo, present));
      this.#records.atInstant(instant, () => this.#settle(instant));
    }
    this.#records.wake(fromOutside);
    this.#wakeByRules();
    this.#records.atInstant(present, () => this.#settle(present));
    state.advancedTo = Math.max(state.advancedTo, present);
    return agenda.next();
  }

  /** True if something is due and has not been carried out. */
  isBehind(): boolean {
    const next = this.#records.agenda.next();
    return next !== undefined && next <= this.#records.now;
  }

  /** Time between a preemption's notice and the preemption, ms of the cloud's clock. */
  drawNotice(): number {
    return draw(this.#records.state.settings.noticeMs, this.#records.context.random);
  }

  /** Repeats until nothing moves at this instant. */
  #settle(instant: number): void {
    for (;;) {
      for (const { kind, name } of this.#records.agenda.takeUntil(instant)) {
        if (kind === 'node') this.#records.wakeNode(name);
        else this.#records.wakeRequest(name);
      }
      const woken = this.#records.takeWoken();
      if (woken.nodes.size + woken.requests.size + woken.pools.size === 0) return;
      for (const name of woken.nodes) this.#lookAtNode(name);
      this.#lookAtRequests(woken);
    }
  }

  #lookAtNode(name: string): void {
    this.#stuck.nodes.delete(name);
    const node = this.#records.state.nodes[name];
    if (node === undefined) return;
    this.nodes.advance(node);
    const { dueAt } = this.#records.state.nodes[name] ?? {};
    if (dueAt !== undefined && dueAt <= this.#records.now) this.#stuck.nodes.add(name);
  }

  /** Advances these requests. Requests that wait for chips get them in order; all others do not depend on each other. */
  #lookAtRequests({ requests, pools }: Woken): void {
    const { state, now } = this.#records;
    const arrived: QueuedResourceRecord[] = [];
    for (const name of requests) {
      this.#stuck.requests.delete(name);
      const record = state.queuedResources[name];
      if (record === undefined) continue;
      const isDue = record.dueAt !== undefined && record.dueAt <= now;
      if (isDue && isQueued(record.resource.state.state)) arrived.push(record);
      else if (!this.requests.advance(record) && isDue) this.#stuck.requests.add(name);
    }
    for (const record of arrived) this.#waiting.add(record);
    for (const pool of pools) this.#grantInOrder(pool);
    for (const record of arrived.toSorted(byTurn)) this.requests.advance(record);
  }

  /** A smaller request goes ahead of earlier ones if only it fits. */
  #grantInOrder(pool: string): void {
    const { state, usage } = this.#records;
    const isIn = (record: QueuedResourceRecord): boolean =>
      isQueued(record.resource.state.state) && state.queuedResources[record.resource.name] === record;
    for (const record of this.#waiting.inOrder(pool, isIn)) {
      const limit = state.settings.capacity[pool];
      if (limit !== undefined && usage.capacityInUse(pool) >= limit) return;
      this.requests.advance(record);
    }
  }

  /** After new settings or holds, every stuck resource may move. */
  #wakeByRules(): void {
    const { settings, holds } = this.#records.state;
    const rules = [settings, holds, holds.length];
    if (rules.every((rule, index) => rule === this.#rules[index])) return;
    this.#rules = rules;
    this.#records.wake({ ...this.#stuck, pools: new Set(this.#waiting.pools()) });
  }
}
