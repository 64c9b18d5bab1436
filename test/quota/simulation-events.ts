import type { EpochMs } from '../../domain/units.js';

interface Entry {
  readonly at: EpochMs;
  readonly sequence: number;
  readonly act: () => void;
}

/** What will happen, earliest first; at one time, in the order in which it was planned. A binary heap. */
export class EventQueue {
  readonly #heap: Entry[] = [];
  #sequence = 0;

  /** The time of the next event; undefined where nothing will happen any more. */
  get nextAt(): EpochMs | undefined {
    return this.#heap[0]?.at;
  }

  plan(at: EpochMs, act: () => void): void {
    const heap = this.#heap;
    const entry: Entry = { at, sequence: this.#sequence++, act };
    let hole = heap.push(entry) - 1;
    while (hole > 0) {
      const above = (hole - 1) >> 1;
      if (!isBefore(entry, heap[above]!)) break;
      heap[hole] = heap[above]!;
      hole = above;
    }
    heap[hole] = entry;
  }

  /** Takes the next event off. @throws RangeError if there is none */
  take(): Entry {
    const [first] = this.#heap;
    const last = this.#heap.pop();
    if (first === undefined || last === undefined) throw new RangeError('simulation: no event is left to take');
    if (this.#heap.length > 0) this.#sink(last);
    return first;
  }

  #sink(entry: Entry): void {
    const heap = this.#heap;
    let hole = 0;
    for (;;) {
      const left = 2 * hole + 1;
      if (left >= heap.length) break;
      const right = left + 1;
      const below = right < heap.length && isBefore(heap[right]!, heap[left]!) ? right : left;
      if (!isBefore(heap[below]!, entry)) break;
      heap[hole] = heap[below]!;
      hole = below;
    }
    heap[hole] = entry;
  }
}

const isBefore = (a: Entry, b: Entry): boolean => a.at < b.at || (a.at === b.at && a.sequence < b.sequence);
