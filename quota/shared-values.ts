/** Values that many rows share, each once: tables of a packed lease book and of a published pool. */
export class Table<T> {
  readonly #values: T[] = [];
  readonly #indexes = new Map<string, number>();

  get values(): readonly T[] {
    return this.#values;
  }

  indexOf(value: T): number {
    const key = JSON.stringify(value);
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    this.#indexes.set(key, this.#values.length);
    return this.#values.push(value) - 1;
  }
}

/** @throws RangeError where the table has no such entry */
export function entry<T>(table: readonly T[], index: number | undefined): T {
  const value = table[index ?? -1];
  if (value === undefined) throw new RangeError(`packed rows: a table of theirs has no entry ${index}`);
  return value;
}
