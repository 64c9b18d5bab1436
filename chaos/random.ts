/** Random numbers that a seed determines. mulberry32: its 32 bits of state suffice for a plan that a person reads. */
export class Draws {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0, below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** @throws RangeError if there is nothing to pick from */
  pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.next() * items.length)];
    if (item === undefined) throw new RangeError('chaos: nothing to pick from');
    return item;
  }

  /** Separate draws for the part with this number. Draws that are made here after the call do not change them. */
  part(name: number): Draws {
    return new Draws(Math.imul(this.#state ^ 0x9e3779b9, name * 2 + 1));
  }
}
