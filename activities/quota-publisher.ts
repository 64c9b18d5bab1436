import type { Context } from '@temporalio/activity';
import type { StorePort } from '../cloud/store/port.js';
import { poolStateObject } from '../domain/store-layout.js';
import type { PackedPoolState } from '../quota/published-state.js';
import { publishedQuery, quotaWorkflowId } from '../workflows/messages.js';
import { messageOf } from './failures.js';
import { queryPages } from './quota-pages.js';

/**
 * Writes what people look at: the state of a pool, from one query of its workflow, at most every `EVERY_MS` and only while
 * something changes (docs/adr/0019). What enters: `changed`, at each lease message and each delivery that this worker
 * carries. What leaves: the object quota/POOL/state.json. Several workers write it; the newest state stays.
 *
 * A failure is dropped, since the next change, at the latest the next comparison of leases, publishes again: nobody waits
 * for it and nothing is decided by it. Its timers hold no process back.
 */
export class PoolPublisher {
  readonly #store: StorePort;
  readonly #pools = new Map<string, Published>();

  constructor(store: StorePort) {
    this.#store = store;
  }

  changed(context: Pick<Context, 'client' | 'log'>, pool: string): void {
    const published = this.#pools.get(pool) ?? { isDue: false, isBusy: false, lastAt: 0 };
    this.#pools.set(pool, published);
    if (published.isDue) return;
    published.isDue = true;
    // A first pause, so that what was just told is decided when the query comes.
    const pauseMs = Math.max(FIRST_PAUSE_MS, published.lastAt + EVERY_MS - Date.now());
    setTimeout(() => void this.#publish(context, pool, published), pauseMs).unref();
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
      await this.#write(pool, state, published);
      delete published.problem;
    } catch (error) {
      const problem = messageOf(error);
      if (published.problem !== problem) context.log.warn(`pool ${pool} could not be published: ${problem}`);
      published.problem = problem;
    } finally {
      published.isBusy = false;
    }
  }

  /** Where another worker has written since, the newer state stays. */
  async #write(pool: string, state: PackedPoolState, published: Published): Promise<void> {
    const name = poolStateObject(pool);
    const content = JSON.stringify(state);
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const { generation } = published;
      const expected = generation === undefined ? ('absent' as const) : { generation };
      const written = await this.#store.write(name, content, expected, 'application/json');
      if (written.kind === 'written') {
        published.generation = written.generation;
        return;
      }
      const before = await this.#store.stat(name);
      if (before === undefined) delete published.generation;
      else published.generation = before.generation;
      if (isNewer(await this.#store.read(name), state)) return;
    }
  }
}

interface Published {
  /** A timer runs. */
  isDue: boolean;
  isBusy: boolean;
  /** When the last query was sent. */
  lastAt: number;
  /** Of the object, as far as this worker knows. */
  generation?: string;
  /** Of the last try; each is told once. */
  problem?: string;
}

/** What cannot be read, or is of another form, is replaced. */
function isNewer(content: Buffer | undefined, state: PackedPoolState): boolean {
  try {
    const there = JSON.parse(content?.toString('utf8') ?? '') as PackedPoolState;
    return there.epoch > state.epoch || (there.epoch === state.epoch && there.at > state.at);
  } catch {
    return false;
  }
}

const EVERY_MS = 2_000;
const FIRST_PAUSE_MS = 200;
const QUERY_DEADLINE_MS = 20_000;
const MOST_TRIES = 3;
