/** Delay before an owner whose pods could not be created is tried again, ms. */
const RETRY_MS = 1_000;

/** Owners whose pods could not be created, such as over a ResourceQuota. */
export class Retries {
  readonly #wake: () => void;
  /** When an owner may be tried again, by its uid. */
  readonly #paused = new Map<string, number>();

  /** @param wake asks for another pass of the controllers */
  constructor(wake: () => void) {
    this.#wake = wake;
  }

  isPaused(uid: string): boolean {
    return (this.#paused.get(uid) ?? 0) > Date.now();
  }

  pause(uid: string): void {
    this.#paused.set(uid, Date.now() + RETRY_MS);
    setTimeout(this.#wake, RETRY_MS).unref();
  }
}
