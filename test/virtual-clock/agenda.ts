interface Entry {
  readonly at: number;
  readonly order: number;
  readonly what: () => void;
  isForgotten: boolean;
}

/** What is to happen, by virtual time in ms; at one time in the order in which it was said. */
export class Agenda {
  #now: number;
  #order = 0;
  /** A binary heap: of an entry at `i` those at `2i + 1` and `2i + 2` are not due before it. */
  readonly #entries: Entry[] = [];

  constructor(now: number) {
    this.#now = now;
  }

  get now(): number {
    return this.#now;
  }

  get nextAt(): number | undefined {
    while (this.#entries[0]?.isForgotten) this.#takeFirst();
    return this.#entries[0]?.at;
  }

  /** @returns to be called when it is not to happen any more */
  at(at: number, what: () => void): () => void {
    const entry: Entry = { at: Math.max(at, this.#now), order: (this.#order += 1), what, isForgotten: false };
    this.#add(entry);
    return () => void (entry.isForgotten = true);
  }

  /** The next thing happens. */
  step(): void {
    if (this.nextAt === undefined) return;
    const { at, what } = this.#takeFirst();
    this.#now = at;
    what();
  }

  #add(entry: Entry): void {
    const heap = this.#entries;
    let place = heap.push(entry) - 1;
    for (let above = (place - 1) >> 1; place > 0 && isBefore(entry, heap[above] as Entry); above = (place - 1) >> 1) {
      heap[place] = heap[above] as Entry;
      place = above;
    }
    heap[place] = entry;
  }

  #takeFirst(): Entry {
    const heap = this.#entries;
    const first = heap[0] as Entry;
    const last = heap.pop() as Entry;
    if (heap.length === 0) return first;
    let place = 0;
    for (;;) {
      let below = 2 * place + 1;
      const [left, right] = [heap[below], heap[below + 1]];
      if (left === undefined) break;
      if (right !== undefined && isBefore(right, left)) below += 1;
      if (!isBefore(heap[below] as Entry, last)) break;
      heap[place] = heap[below] as Entry;
      place = below;
    }
    heap[place] = last;
    return first;
  }
}

const isBefore = (one: Entry, other: Entry): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order);
