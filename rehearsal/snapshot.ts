import { existsSync, readFileSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';

/**
 * A JSON file that always holds one whole state: written aside, then renamed. Changes of one tick, and those that come
 * during a write, share the next write.
 */
export class Snapshot<T> {
  readonly #file: string;
  readonly #read: () => T;
  #pending: Promise<void> | undefined;
  #writing: Promise<void> = Promise.resolve();

  /** `read` gives the state as it is at the time of the write. */
  constructor(file: string, read: () => T) {
    this.#file = file;
    this.#read = read;
  }

  /** Resolves when everything up to now is on disk. */
  save(): Promise<void> {
    this.#pending ??= this.#writing.then(async () => {
      this.#pending = undefined;
      this.#writing = this.#write();
      await this.#writing;
    });
    return this.#pending;
  }

  async #write(): Promise<void> {
    const aside = `${this.#file}.new`;
    const handle = await open(aside, 'w');
    try {
      await handle.writeFile(JSON.stringify(this.#read()));
    } finally {
      await handle.close();
    }
    await rename(aside, this.#file);
  }
}

/** The state last written to `file`, or undefined if none was. Throws if the file is not JSON. */
export function loadSnapshot<T>(file: string): T | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch (error) {
    throw new Error(`rehearsal state ${file} cannot be read (${String(error)}); move it away to start empty`, {
      cause: error,
    });
  }
}
