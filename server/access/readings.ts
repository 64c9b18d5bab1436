/** Shares readings that have begun: callers that ask for the same key meanwhile get the same promise. Results are not cached. */
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
