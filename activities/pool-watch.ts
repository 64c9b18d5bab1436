import type { StorePort } from '../cloud/store/port.js';
import { type Holder, wakeSignal } from '../contract/quota.js';
import { quotaWorkflowId, WorkflowType } from '../contract/workflow-ids.js';
import { queryText } from '../domain/temporal-server.js';
import { messageOf } from '../domain/errors.js';
import { leaseKey } from '../domain/lease.js';
import { poolStateObject } from '../domain/store-layout.js';
import type { Timings } from '../domain/timings.js';
import type { EpochMs } from '../domain/units.js';
import type { Log } from './accounts.js';
import type { WorkflowClient } from './workflow-lookup.js';
import { holdersOf, straysAmong } from './quota-open-work.js';

interface WatchOptions {
  readonly store: Pick<StorePort, 'stat'>;
  readonly timings: Pick<Timings, 'reconcileMs' | 'poolLookMs'>;
  /** Mark of the pool's present files (`PoolFacts.mark`). */
  readonly markOf: (pool: string) => Promise<string>;
}

interface Access {
  readonly client: WorkflowClient;
  readonly log: Log;
}

/**
 * Looks every `poolLookMs` at the pools whose files this worker has read of late. It wakes a pool's workflow if its files have
 * changed, or if a holder of its leases has ended without telling it (docs/adr/0151). A look reads and lists, which costs no
 * action of Temporal's. Only if the pool has published another state, and no further one since, does it ask the pool who holds
 * its leases. The workflow compares for itself once it is awake, so a look that is wrong or fails decides nothing.
 */
export class PoolWatch {
  readonly #options: WatchOptions;
  readonly #pools = new Map<string, WatchedPool>();
  #problem: string | undefined;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Called when the pool's workflow gets its files, with this mark. So the pool is open, and is watched from now on. */
  hasRead(access: Access, pool: string, mark: string): void {
    const watched = this.#pools.get(pool);
    if (watched !== undefined) Object.assign(watched, { mark, until: this.#until });
    else this.#lookAfter(access, this.#begin(pool, mark));
  }

  /**
   * Watches all open pools of a task queue, and wakes them by the first look. A worker that starts calls this, so that changes
   * from a time without a worker are seen at once. A listing that fails is made again. Never rejects.
   */
  async watchAll(access: Access, taskQueue: string): Promise<void> {
    const query = `WorkflowType = '${WorkflowType.Quota}' AND ExecutionStatus = 'Running' AND TaskQueue = ${queryText(taskQueue)}`;
    try {
      for await (const { workflowId } of access.client.workflow.list({ query })) {
        const pool = workflowId.slice(quotaWorkflowId('').length);
        if (this.#pools.has(pool)) continue;
        const begun = this.#begin(pool);
        await begun.look(access);
        this.#lookAfter(access, begun);
      }
    } catch (error) {
      const problem = messageOf(error);
      if (problem !== this.#problem) access.log.warn(`pools were not listed, and are not watched yet: ${problem}`);
      this.#problem = problem;
      setTimeout(() => void this.watchAll(access, taskQueue), this.#options.timings.poolLookMs).unref();
    }
  }

  get #until(): EpochMs {
    return Date.now() + 2 * this.#options.timings.reconcileMs;
  }

  #begin(pool: string, mark?: string): WatchedPool {
    const begun = new WatchedPool(pool, this.#options, mark, this.#until);
    this.#pools.set(pool, begun);
    return begun;
  }

  /** Its timers keep no process alive. */
  #lookAfter(access: Access, watched: WatchedPool): void {
    setTimeout(() => {
      if (Date.now() > watched.until) this.#pools.delete(watched.pool);
      else void watched.look(access).finally(() => this.#lookAfter(access, watched));
    }, this.#options.timings.poolLookMs).unref();
  }
}

class WatchedPool {
  readonly pool: string;
  /** Mark of the files that the workflow has, or was woken for. Undefined: unknown. */
  mark: string | undefined;
  until: EpochMs;
  readonly #options: WatchOptions;
  /** The published state at the last look. */
  #state: { readonly generation: string | undefined } | undefined;
  #answer: Answer | undefined;
  /** The strays that the workflow was woken for. */
  #told = '';
  #problem: string | undefined;

  constructor(pool: string, options: WatchOptions, mark: string | undefined, until: EpochMs) {
    this.pool = pool;
    this.#options = options;
    this.mark = mark;
    this.until = until;
  }

  /** Never rejects. Each problem is logged once. A wake that could not be sent is sent at the next look. */
  async look(access: Access): Promise<void> {
    try {
      const mark = await this.#options.markOf(this.pool);
      // First: the look at the holders may fail, and the files are in force nonetheless.
      if (mark !== this.mark) await this.#wake(access);
      this.mark = mark;
      const strays = await this.#strays(access);
      if (strays !== '' && strays !== this.#told) await this.#wake(access);
      this.#told = strays;
      this.#problem = undefined;
    } catch (error) {
      const problem = messageOf(error);
      if (problem !== this.#problem) access.log.warn(`pool ${this.pool} could not be looked at: ${problem}`);
      this.#problem = problem;
    }
  }

  #wake({ client }: Access): Promise<void> {
    return client.workflow.getHandle(quotaWorkflowId(this.pool)).signal(wakeSignal);
  }

  /** Names of the leases and slices that hold the pool's chips without an open workflow. */
  async #strays({ client }: Access): Promise<string> {
    const { generation } = (await this.#options.store.stat(poolStateObject(this.pool))) ?? {};
    const isStill = this.#state !== undefined && this.#state.generation === generation;
    this.#state = { generation };
    // A pool that publishes at each look compares by itself, and who held a moment ago may have ended as usual.
    if (!isStill) return this.#told;
    if (!this.#isAnswered(generation)) {
      const rows = await holdersOf(client, this.pool);
      // A pool with a lease on its way back compares by itself, and the job of that lease may have ended as usual.
      const holders = rows.filter(({ state }) => state !== 'draining');
      this.#answer = { at: Date.now(), generation, holders };
    }
    const { closedJobs, lostSlices } = await straysAmong(client, this.pool, this.#answer?.holders ?? []);
    return [...closedJobs.map(leaseKey), ...lostSlices.map(({ ref }) => ref.name)].join(' ');
  }

  /**
   * Whether the last answer is still valid: the pool has published no other state since. The answer's age is limited too, because
   * a state that cannot be written looks unchanged.
   */
  #isAnswered(generation: string | undefined): boolean {
    const { at, generation: of } = this.#answer ?? {};
    return at !== undefined && of === generation && Date.now() - at < this.#options.timings.reconcileMs;
  }
}

/** Who held the pool's leases. */
interface Answer {
  readonly at: EpochMs;
  /** The state that the pool had published then. */
  readonly generation: string | undefined;
  readonly holders: readonly Holder[];
}
