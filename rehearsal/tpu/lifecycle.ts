import type { QueuedResourceRecord } from './model.js';
import { NodeLifecycle } from './node-lifecycle.js';
import type { Records, Woken } from './records.js';
import { isQueued, RequestLifecycle } from './request-lifecycle.js';
import { draw } from './settings.js';
import { byTurn, WaitingQueue } from './waiting-queue.js';

/**
 * Carries out what time brings to nodes and queued resources, each thing at the instant when it was due, in order: whoever
 * looks seldom, or lets the clock run a thousand times as fast, sees the same story. What is due and cannot be done (it is
 * held, or waits for chips or a VM) is looked at again when that has changed.
 */
export class Lifecycle {
  readonly nodes: NodeLifecycle;
  readonly requests: RequestLifecycle;
  readonly #records: Records;
  readonly #waiting = new WaitingQueue();
  /** What is due and did not move, by name. */
  readonly #stuck = { nodes: new Set<string>(), requests: new Set<string>() };
  #rules: readonly unknown[] = [];

  /** @param makeNodes makes the nodes of a request that got its resources. */
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
   * Does all that is due.
   * @returns when there may be more to do, epoch ms, if time alone brings it.
   */
  advance(): number | undefined {
    const { agenda, context, state } = this.#records;
    const present = context.now();
    // What a call or a VM changed since belongs to the present, not to the instants that are caught up with.
    const fromOutside = this.#records.takeWoken();
    for (let next = agenda.next(); next !== undefined && next <= present; next = agenda.next()) {
      // After a restart much may be long past: the story never goes back behind what it told.
      const instant = Math.max(next, Math.min(state.advancedTo, present));
      this.#records.atInstant(instant, () => this.#settle(instant));
    }
    this.#records.wake(fromOutside);
    this.#wakeByRules();
    this.#records.atInstant(present, () => this.#settle(present));
    state.advancedTo = Math.max(state.advancedTo, present);
    return agenda.next();
  }

  /** True if something is due: the state shows what is past. */
  isBehind(): boolean {
    const next = this.#records.agenda.next();
    return next !== undefined && next <= this.#records.now;
  }

  /** Ms of the cloud's time from a preemption's notice to it. */
  drawNotice(): number {
    return draw(this.#records.state.settings.noticeMs, this.#records.context.random);
  }

  /** Until nothing moves at that instant. */
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

  /** Those that wait for chips have their turn before later ones; the others are on their own. */
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

  /** Who asks for less than those before it goes first where only that fits. */
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

  /** New settings or holds: whatever is stuck may move now. */
  #wakeByRules(): void {
    const { settings, holds } = this.#records.state;
    const rules = [settings, holds, holds.length];
    if (rules.every((rule, index) => rule === this.#rules[index])) return;
    this.#rules = rules;
    this.#records.wake({ ...this.#stuck, pools: new Set(this.#waiting.pools()) });
  }
}
