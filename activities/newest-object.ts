import type { StorePort } from '../cloud/store/port.js';

/** The epoch of a pool and a time. Of two contents the later one stays. */
interface Dated {
  readonly epoch: number;
  readonly at: number;
}

const MOST_TRIES = 3;

/** An object of a pool that several workers write, as JSON. The newest content stays, whichever worker wrote it. */
export class NewestObject {
  readonly #store: StorePort;
  readonly #name: string;
  /** The generation as far as this worker knows. */
  #generation: string | undefined;

  constructor(store: StorePort, name: string) {
    this.#store = store;
    this.#name = name;
  }

  /** Rejects with the store's errors; repeating is safe. */
  async write(content: Dated): Promise<void> {
    const text = JSON.stringify(content);
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const expected = this.#generation === undefined ? 'absent' : { generation: this.#generation };
      const written = await this.#store.write(this.#name, text, expected, 'application/json');
      if (written.kind === 'written') {
        this.#generation = written.generation;
        return;
      }
      this.#generation = (await this.#store.stat(this.#name))?.generation;
      if (isNewer(await this.#store.read(this.#name), content)) return;
    }
  }
}

/** Content that cannot be read is replaced. */
function isNewer(content: Buffer | undefined, than: Dated): boolean {
  try {
    const there = JSON.parse(content?.toString('utf8') ?? '') as Dated;
    return there.epoch > than.epoch || (there.epoch === than.epoch && there.at > than.at);
  } catch {
    return false;
  }
}
