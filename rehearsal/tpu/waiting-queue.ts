import { placeOfRequest, poolOf } from './capacity.js';
import type { QueuedResourceRecord } from './model.js';

/** Requests that lack only chips, by pool, in the order of their turns: time of creation, then name. */
export class WaitingQueue {
  readonly #pools = new Map<string, QueuedResourceRecord[]>();

  /** Has no effect if the request is in the queue already. */
  add(record: QueuedResourceRecord): void {
    const pool = poolOf(placeOfRequest(record));
    const queue = this.#pools.get(pool) ?? [];
    this.#pools.set(pool, queue);
    const place = placeIn(queue, turnOf(record));
    if (queue[place] !== record) queue.splice(place, 0, record);
  }

  pools(): readonly string[] {
    return [...this.#pools.keys()];
  }

  /** Yields a pool's requests in order. A request that is no longer `isIn` is removed for good. */
  *inOrder(pool: string, isIn: (record: QueuedResourceRecord) => boolean): Generator<QueuedResourceRecord> {
    const queue = this.#pools.get(pool) ?? [];
    for (let index = 0; index < queue.length;) {
      const record = queue[index];
      if (record === undefined || !isIn(record)) {
        queue.splice(index, 1);
        continue;
      }
      yield record;
      // A request that got its chips has left: the next pass removes it.
      if (isIn(record)) index += 1;
    }
    if (queue.length === 0) this.#pools.delete(pool);
  }
}

/** Compares requests by their turns. */
export function byTurn(a: QueuedResourceRecord, b: QueuedResourceRecord): number {
  return turnOf(a) < turnOf(b) ? -1 : 1;
}

function turnOf({ resource }: QueuedResourceRecord): string {
  return `${String(resource['createTime'])} ${resource.name}`;
}

/** The first index whose turn is not before `turn`. */
function placeIn(queue: readonly QueuedResourceRecord[], turn: string): number {
  let [low, high] = [0, queue.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const record = queue[middle];
    if (record !== undefined && turnOf(record) < turn) low = middle + 1;
    else high = middle;
  }
  return low;
}
