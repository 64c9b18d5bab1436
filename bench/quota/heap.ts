/** A binary heap: the first by `isBefore` comes out first; equals in no promised order. */
export class Heap<Item> {
  readonly #items: Item[] = [];
  readonly #isBefore: (a: Item, b: Item) => boolean;

  constructor(isBefore: (a: Item, b: Item) => boolean) {
    this.#isBefore = isBefore;
  }

  get first(): Item | undefined {
    return this.#items[0];
  }

  push(item: Item): void {
    const items = this.#items;
    let index = items.length;
    items.push(item);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#isBefore(item, items[parent] as Item)) break;
      items[index] = items[parent] as Item;
      index = parent;
    }
    items[index] = item;
  }

  pop(): Item | undefined {
    const items = this.#items;
    const [first, last] = [items[0], items.pop()];
    if (items.length > 0) this.#sink(last as Item);
    return first;
  }

  /** Puts `item` where the first one was. */
  #sink(item: Item): void {
    const items = this.#items;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && this.#isBefore(items[child + 1] as Item, items[child] as Item)) child += 1;
      if (!this.#isBefore(items[child] as Item, item)) break;
      items[index] = items[child] as Item;
      index = child;
    }
    items[index] = item;
  }
}
