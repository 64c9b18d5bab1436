import type { Context } from '@temporalio/activity';
import { messageOf } from '../domain/error-words.js';
import type { StorePort } from '../cloud/store/port.js';
import { poolStateObject } from '../domain/store-layout.js';
import type { PackedPoolState } from '../quota/published-state.js';
import { publishedQuery } from '../contract/quota.js';
import { quotaWorkflowId } from '../contract/workflow-ids.js';
import { LinePublisher } from './line-publisher.js';
import { NewestObject } from './newest-object.js';
import { PoolGauges, type PoolMeter } from './pool-gauges.js';
import { queryPages } from './quota-pages.js';

/**
 * Publishes the state of a pool, from one query of its workflow, at most every `EVERY_MS` and only while something changes
 * (docs/adr/0019). `changed` is called at each lease message and each delivery that this worker carries. The results are the
 * objects quota/POOL/state.json and line.json. Several workers write them; the newest stays.
 *
 * A failure is dropped, since the next change, at the latest the next comparison of leases, publishes again: no call waits for it
 * and nothing is decided by it. Its timers do not keep a process alive.
 */
export class PoolPublisher {
  readonly #store: StorePort;
  readonly #meter: PoolMeter;
  readonly #pools = new Map<string, Published>();

  constructor(store: StorePort, meter: PoolMeter) {
    this.#store = store;
    this.#meter = meter;
  }

  changed(context: Pick<Context, 'client' | 'log'>, pool: string): void {
    const published = this.#pools.get(pool) ?? this.#unpublished(pool);
    this.#pools.set(pool, published);
    if (published.isDue) return;
    published.isDue = true;
    // A first pause, so that the latest messages are decided on when the query comes.
    const pauseMs = Math.max(FIRST_PAUSE_MS, published.lastAt + EVERY_MS - Date.now());
    setTimeout(() => void this.#publish(context, pool, published), pauseMs).unref();
  }

  #unpublished(pool: string): Published {
    const state = new NewestObject(this.#store, poolStateObject(pool));
    return {
      isDue: false,
      isBusy: false,
      lastAt: 0,
      state,
      line: new LinePublisher(this.#store, pool),
      gauges: new PoolGauges(this.#meter, pool),
    };
  }

  async #publish(context: Pick<Context, 'client' | 'log'>, pool: string, published: Published): Promise<void> {
    published.isDue = false;
    if (published.isBusy) {
      this.changed(context, pool);
      return;
    }
    published.isBusy = true;
    published.lastAt = Date.now();
    try {
      const { client } = context;
      const state = (await client.withDeadline(Date.now() + QUERY_DEADLINE_MS, () =>
        queryPages(client, quotaWorkflowId(pool), publishedQuery),
      )) as PackedPoolState;
      // Half of a pool would look like a pool that is half as busy.
      if (state.rebuilding === undefined) published.gauges.show(state);
      await published.state.write(state);
      await published.line.publish(state);
      delete published.problem;
    } catch (error) {
      const problem = messageOf(error);
      if (published.problem !== problem) context.log.warn(`pool ${pool} could not be published: ${problem}`);
      published.problem = problem;
    } finally {
      published.isBusy = false;
    }
  }
}

interface Published {
  /** Whether a timer runs. */
  isDue: boolean;
  isBusy: boolean;
  /** When the last query was sent. */
  lastAt: number;
  readonly state: NewestObject;
  readonly line: LinePublisher;
  readonly gauges: PoolGauges;
  /** Problem of the last try; each is logged once. */
  problem?: string;
}

const EVERY_MS = 2_000;
const FIRST_PAUSE_MS = 200;
const QUERY_DEADLINE_MS = 20_000;
