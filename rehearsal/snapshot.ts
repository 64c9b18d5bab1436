import { existsSync, readFileSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';

/**
 * Writes one state to disk. Changes of one tick share a write, and so do all that come during a write. A failed write rejects for
 * its callers and is retried until it succeeds: the disk may have room again before anything else changes.
 */
export class Saving {
  readonly #write: () => Promise<void>;
  readonly #file: string;
  #pending: Promise<void> | undefined;
  #writing: Promise<void> = Promise.resolve();
  #again: NodeJS.Timeout | undefined;
  #trouble: string | undefined;

  /** @param file shown in error messages */
  constructor(file: string, write: () => Promise<void>) {
    this.#file = file;
    this.#write = write;
  }

  /** Why the last write failed; undefined if it succeeded. */
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

  /** Saves without waiting; `trouble` reports a failure. */
  readonly saveSoon = (): void => void this.save().catch(() => undefined);

  /** Stops retries. Call after the last write. */
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

/** A JSON file that always holds one whole state: each write goes to a second file, which is then renamed. */
export class Snapshot<T> extends Saving {
  /** @param read returns the state at the time of the write */
  constructor(file: string, read: () => T) {
    super(file, () => replaceFile(file, () => JSON.stringify(read())));
  }
}

/** Replaces a file's text: readers find all of the old text or all of the new, also after a kill. */
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

/** Returns the state last written to `file`, or undefined if there is no file. @throws Error if the file is not JSON */
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
