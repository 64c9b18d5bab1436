/** Readings that have begun: who asks for the same meanwhile gets the same one. Nothing is kept of one that is over. */
export class Readings<T> {
  readonly #begun = new Map<string, Promise<T>>();

  of(key: string, read: () => Promise<T>): Promise<T> {
    const begun = this.#begun.get(key);
    if (begun !== undefined) return begun;
    const reading = read().finally(() => this.#begun.delete(key));
    this.#begun.set(key, reading);
    return reading;
  }
}
