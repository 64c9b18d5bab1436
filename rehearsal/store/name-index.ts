/**
 * Names of a bucket's objects in Cloud Storage's listing order: by the bytes of UTF-8. They are in a sorted array. A page begins
 * at a place found by binary search, so its cost depends on the page, not on the bucket. An insertion moves all later names (20
 * µs at 100,000 names).
 */
export class NameIndex {
  readonly #names: string[];

  /** @param names in any order, without duplicates */
  constructor(names: Iterable<string>) {
    this.#names = [...names].sort(compareNames);
  }

  get length(): number {
    return this.#names.length;
  }

  at(index: number): string | undefined {
    return this.#names[index];
  }

  /** Repeating is harmless. */
  add(name: string): void {
    const last = this.#names.at(-1);
    if (last === undefined || compareNames(last, name) < 0) {
      this.#names.push(name);
      return;
    }
    const index = this.firstFrom(name);
    if (this.#names[index] !== name) this.#names.splice(index, 0, name);
  }

  remove(name: string): void {
    const index = this.firstFrom(name);
    if (this.#names[index] === name) this.#names.splice(index, 1);
  }

  /** Index of the first name that is not before this one; the length if there is none. */
  firstFrom(name: string): number {
    return this.#firstWhere((candidate) => compareNames(candidate, name) >= 0);
  }

  firstAfter(name: string): number {
    return this.#firstWhere((candidate) => compareNames(candidate, name) > 0);
  }

  /** Index of the first name after all names with this prefix. */
  firstBehindPrefix(prefix: string): number {
    return this.#firstWhere((candidate) => compareNames(candidate, prefix) > 0 && !candidate.startsWith(prefix));
  }

  /** @param isThere false for names up to an index, true from there on */
  #firstWhere(isThere: (name: string) => boolean): number {
    let [low, high] = [0, this.#names.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isThere(this.#names[middle] ?? '')) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/**
 * Order of the UTF-8 bytes, without encoding. UTF-16 has the same order except for surrogates, which stand for the highest code
 * points and yet are smaller than U+E000 to U+FFFF.
 */
export function compareNames(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
