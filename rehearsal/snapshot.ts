import { existsSync, readFileSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';

/**
 * Writes of one state: changes of one tick, and those that come during a write, share the next write. A write that fails is told to
 * those who wait for it, and is made again until it succeeds: the disk may have room again before anything else changes.
 */
export class Saving {
  readonly #write: () => Promise<void>;
  readonly #file: string;
  #pending: Promise<void> | undefined;
  #writing: Promise<void> = Promise.resolve();
  #again: NodeJS.Timeout | undefined;
  #trouble: string | undefined;

  /** @param file for people */
  constructor(file: string, write: () => Promise<void>) {
    this.#file = file;
    this.#write = write;
  }

  /** Why the last write failed; undefined: it did not. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Resolves when everything up to now is on disk. */
  save(): Promise<void> {
    this.#pending ??= this.#writing.then(() => {
      this.#pending = undefined;
      const written = this.#try();
      // The next write waits for this one, however it ends.
      this.#writing = written.catch(() => undefined);
      return written;
    });
    return this.#pending;
  }

  /** The same for those who cannot wait: `trouble` says whether it failed. */
  readonly saveSoon = (): void => void this.save().catch(() => undefined);

  /** After the last write. */
  close(): void {
    clearTimeout(this.#again);
  }

  async #try(): Promise<void> {
    clearTimeout(this.#again);
    try {
      await this.#write();
      this.#trouble = undefined;
    } catch (error) {
      this.#trouble = `${this.#file} cannot be written: ${error instanceof Error ? error.message : String(error)}`;
      this.#again = setTimeout(this.saveSoon, AGAIN_MS).unref();
      throw new Error(this.#trouble, { cause: error });
    }
  }
}

const AGAIN_MS = 1_000;

/** A JSON file that always holds one whole state: written aside, then renamed. */
export class Snapshot<T> extends Saving {
  /** `read` gives the state as it is at the time of the write. */
  constructor(file: string, read: () => T) {
    super(file, () => replaceFile(file, () => JSON.stringify(read())));
  }
}

/** Whoever reads `file` meanwhile, or after a kill, finds all of the old text or all of the new one. */
export async function replaceFile(file: string, text: () => string): Promise<void> {
  const aside = `${file}.new`;
  const handle = await open(aside, 'w');
  try {
    await handle.writeFile(text());
  } finally {
    await handle.close();
  }
  await rename(aside, file);
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
