import type { Place } from './capacity.js';
import {
  capacityKeys,
  capacityOfNode,
  placeOfNode,
  placeOfRequest,
  quotaKey,
  quotaLimit,
  quotaOfNode,
  quotaOfRequest,
} from './capacity.js';
import type { NodeRecord, QueuedResourceRecord } from './model.js';
import type { CloudState } from './state.js';

/** Chips in use, of capacity and of quota. Kept up to date, so that a query need not look at every resource. */
export class Usage {
  readonly #state: CloudState;
  readonly #capacity = new Map<string, number>();
  readonly #quota = new Map<string, number>();

  constructor(state: CloudState) {
    this.#state = state;
    for (const node of Object.values(state.nodes)) this.addNode(node, 1);
    for (const record of Object.values(state.queuedResources)) this.addRequest(record, 1);
  }

  /** @param sign -1 before a change, 1 after it: a node's record determines what it holds */
  addNode(node: NodeRecord, sign: 1 | -1): void {
    const place = placeOfNode(node);
    for (const key of capacityKeys(place)) add(this.#capacity, key, sign * capacityOfNode(node));
    add(this.#quota, quotaKey(place), sign * quotaOfNode(node, this.#state));
  }

  addRequest(record: QueuedResourceRecord, sign: 1 | -1): void {
    add(this.#quota, quotaKey(placeOfRequest(record)), sign * quotaOfRequest(record));
  }

  /** True if `chips` are free for such a slice, in its pool and in its tier. */
  hasCapacity(place: Place, chips: number): boolean {
    return capacityKeys(place).every((key) => {
      const limit = this.#state.settings.capacity[key];
      return limit === undefined || (this.#capacity.get(key) ?? 0) + chips <= limit;
    });
  }

  /** The limit that `chips` more would exceed; undefined if they are within it. */
  brokenQuota(place: Place, chips: number): number | undefined {
    const limit = quotaLimit(this.#state.settings, place);
    return limit !== undefined && (this.#quota.get(quotaKey(place)) ?? 0) + chips > limit ? limit : undefined;
  }

  /** The provider's chips that nodes hold. @param key of Settings.capacity */
  capacityInUse(key: string): number {
    return this.#capacity.get(key) ?? 0;
  }

  /** Chips of quota in use. @param key of Settings.quota, with a project's name */
  quotaInUse(key: string): number {
    return this.#quota.get(key) ?? 0;
  }
}

function add(table: Map<string, number>, key: string, chips: number): void {
  if (chips !== 0) table.set(key, (table.get(key) ?? 0) + chips);
}
