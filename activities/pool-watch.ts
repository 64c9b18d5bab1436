import type { Context } from '@temporalio/activity';
import type { StorePort } from '../cloud/store/port.js';
import { wakeSignal } from '../contract/quota.js';
import { quotaWorkflowId, WorkflowType } from '../contract/workflow-ids.js';
import { queryText } from '../domain/temporal-server.js';
import { messageOf } from '../domain/errors.js';
import { leaseKey } from '../domain/lease.js';
import { poolStateObject } from '../domain/store-layout.js';
import type { Timings } from '../domain/timings.js';
import type { EpochMs } from '../domain/units.js';
import type { WorkflowClient } from './workflow-lookup.js';
import { type Holder, holdersOf, straysAmong } from './quota-open-work.js';

interface WatchOptions {
  readonly store: Pick<StorePort, 'stat'>;
  readonly timings: Pick<Timings, 'reconcileMs' | 'poolLookMs'>;
  /** Mark of the pool's present files (`PoolFacts.mark`). */
  readonly markOf: (pool: string) => Promise<string>;
}

type Access = Pick<Context, 'client' | 'log'>;

/**
 * Looks every `poolLookMs` at the pools whose files this worker has read of late, and wakes a pool's workflow if its files have
 * changed or a holder of its leases was ended without a word (docs/adr/0151). A look reads and lists, which costs no action of
 * Temporal's: only if the pool has published another state since does it ask the pool who holds. The workflow compares for itself
 * once it is awake, so a look that is wrong or fails decides nothing.
 */
export class PoolWatch {
  readonly #options: WatchOptions;
  readonly #pools = new Map<string, WatchedPool>();

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** The pool's workflow has asked for its files, and gets them with this mark: it is open, and is watched from now on. */
  hasRead(access: Access, pool: string, mark: string): void {
    const until = Date.now() + 2 * this.#options.timings.reconcileMs;
    const watched = this.#pools.get(pool);
    if (watched !== undefined) {
      Object.assign(watched, { mark, until });
      return;
    }
    const begun = new WatchedPool(pool, this.#options, mark, until);
    this.#pools.set(pool, begun);
    this.#lookAfter(access, begun);
  }

  /** Its timers keep no process alive. */
  #lookAfter(access: Access, watched: WatchedPool): void {
    setTimeout(() => {
      if (Date.now() > watched.until) this.#pools.delete(watched.pool);
      else void watched.look(access).finally(() => this.#lookAfter(access, watched));
    }, this.#options.timings.poolLookMs).unref();
  }
}

/**
 * Wakes the workflows of all pools on a task queue, so that a worker that starts comes to watch them: what changed while nobody
 * did is seen at once. @throws the client's errors
 */
export async function wakePools(workflows: WorkflowClient['workflow'], taskQueue: string): Promise<void> {
  const query = `WorkflowType = '${WorkflowType.Quota}' AND ExecutionStatus = 'Running' AND TaskQueue = ${queryText(taskQueue)}`;
  for await (const { workflowId } of workflows.list({ query }))
    await workflows.getHandle(workflowId).signal(wakeSignal);
}

class WatchedPool {
  readonly pool: string;
  /** Mark of the files that the workflow has, or was woken for. */
  mark: string;
  until: EpochMs;
  readonly #options: WatchOptions;
  #state: string | undefined;
  #holders: readonly Holder[] = [];
  /** The strays that the workflow was woken for. */
  #told = '';
  #problem: string | undefined;

  constructor(pool: string, options: WatchOptions, mark: string, until: EpochMs) {
    this.pool = pool;
    this.#options = options;
    this.mark = mark;
    this.until = until;
  }

  /** Never rejects. Each problem is logged once. A wake that could not be sent is sent at the next look. */
  async look(access: Access): Promise<void> {
    try {
      const mark = await this.#options.markOf(this.pool);
      const strays = await this.#strays(access);
      if (mark !== this.mark || (strays !== '' && strays !== this.#told))
        await access.client.workflow.getHandle(quotaWorkflowId(this.pool)).signal(wakeSignal);
      this.mark = mark;
      this.#told = strays;
      this.#problem = undefined;
    } catch (error) {
      const problem = messageOf(error);
      if (problem !== this.#problem) access.log.warn(`pool ${this.pool} could not be looked at: ${problem}`);
      this.#problem = problem;
    }
  }

  /** Names of what holds the pool's chips without an open workflow. */
  async #strays({ client }: Access): Promise<string> {
    const state = (await this.#options.store.stat(poolStateObject(this.pool)))?.generation;
    if (state !== this.#state) {
      this.#holders = await holdersOf(client, this.pool);
      this.#state = state;
    }
    const { closedJobs, lostSlices } = await straysAmong(client, this.pool, this.#holders);
    return [...closedJobs.map(leaseKey), ...lostSlices.map(({ ref }) => ref.name)].join(' ');
  }
}
