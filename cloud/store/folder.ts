import { type FileHandle, link, lstat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { FileSource } from '../../domain/local-files.js';
import {
  globTest,
  literalPrefix,
  endlessListing,
  type Expected,
  MOST_LIST_PAGES,
  MOST_PAGES,
  SourceChanged,
  type StoredObject,
  type StorePort,
  StoreRefused,
  type Written,
  replaceBy,
} from './port.js';
import { checkedChunks } from './checked-chunks.js';
import { nameProblem, placeOfObject, storeText } from '../../domain/store-place.js';
import * as files from './folder-files.js';
import { FolderClaims, generationAt, generationOf, walk } from './folder-files.js';

/** Page size, the same as in the other stores. */
const NAMES_OF_A_PAGE = 1_000;
const CHUNK_BYTES = 8 * 1024 * 1024;
const AT_ONCE = 64;
/** Limit of attempts to make a folder that another process may remove while it is still empty. */
const FOLDER_TRIES = 10;

/** Makes the folder a store unless it is one. Repeating is safe. */
export async function ensureFolder(path: string): Promise<'created' | 'exists'> {
  const folder = new files.StoreFolder(path);
  return files.answered(folder.make()).catch((error: unknown) => {
    throw files.folderError(error, `make a store of ${path}`);
  });
}

/**
 * A folder as a store, on this computer or on a file server that several computers mount (docs/adr/0132). An object is a file
 * with its name and a folder for each slash, so that people can look at it. An object cannot have the name of such a folder.
 */
export class FolderStore implements StorePort {
  readonly bucket: string;
  readonly #folder: files.StoreFolder;
  readonly #claims: FolderClaims;

  constructor(path: string) {
    this.bucket = storeText({ kind: 'folder', path });
    this.#folder = new files.StoreFolder(path);
    this.#claims = new FolderClaims(this.#folder);
  }

  async probe(): Promise<void> {
    await this.#tried(`look at ${this.#folder.path}`, async () => {
      await this.#folder.check();
      await this.#claims.sweep(Date.now());
    });
  }

  async write(name: string, content: Uint8Array | string, expected: Expected): Promise<Written> {
    return this.#tried(`write ${this.#place(name)}`, async () => {
      const path = this.#pathOf(name);
      const now = await generationAt(path);
      if (now !== (expected === 'absent' ? undefined : expected.generation)) return { kind: 'conflict' };
      return this.#put(name, expected, [content]);
    });
  }

  async upload(name: string, source: FileSource): Promise<'uploaded' | 'exists'> {
    if ((await this.stat(name)) !== undefined) return 'exists';
    const what = `upload ${this.#place(name)}`;
    try {
      const { kind } = await this.#put(name, 'absent', contentsOf(source));
      return kind === 'written' ? 'uploaded' : 'exists';
    } catch (error) {
      throw error instanceof SourceChanged ? error : files.folderError(error, what);
    }
  }

  async uploadSession(name: string): Promise<string> {
    throw new StoreRefused(`store: ${this.#place(name)} takes no upload from elsewhere: a folder has no server`);
  }

  async replace(name: string, content: Uint8Array | string): Promise<void> {
    await replaceBy(this, name, (expected) => this.write(name, content, expected), this.#place(name));
  }

  async read(name: string, range?: { readonly start: number; readonly end?: number }): Promise<Buffer | undefined> {
    return this.#tried(`read ${this.#place(name)}`, async () => {
      const file = await this.#open(name);
      if (file === undefined) return undefined;
      try {
        const { size } = await file.stat();
        const start = Math.min(range?.start ?? 0, size);
        const content = Buffer.allocUnsafeSlow(Math.max(0, Math.min(range?.end ?? size, size) - start));
        let filled = 0;
        while (filled < content.length) {
          const { bytesRead } = await file.read(content, filled, content.length - filled, start + filled);
          if (bytesRead === 0) break;
          filled += bytesRead;
        }
        return content.subarray(0, filled);
      } finally {
        await file.close();
      }
    });
  }

  async stat(name: string): Promise<StoredObject | undefined> {
    return this.#tried(`look at ${this.#place(name)}`, async () => {
      const file = await this.#open(name);
      if (file === undefined) return undefined;
      try {
        return storedObject(name, await file.stat({ bigint: true }));
      } finally {
        await file.close();
      }
    });
  }

  async list(prefix: string, startOffset = '', most = Infinity): Promise<readonly StoredObject[]> {
    return inWords(`list ${this.#place(prefix)}*`, async () => {
      const names: string[] = [];
      if (most <= 0) return [];
      for await (const name of this.#walk(prefix, startOffset)) {
        if (names.length === MOST_LIST_PAGES * NAMES_OF_A_PAGE) throw endlessListing(this.#place(prefix));
        names.push(name);
        if (names.length >= most) break;
      }
      if (names.length === 0) await this.#folder.check();
      const found: StoredObject[] = [];
      for (let from = 0; from < names.length; from += AT_ONCE) {
        const looks = names.slice(from, from + AT_ONCE).map((name) => this.#look(name));
        found.push(...(await files.answered(Promise.all(looks))).filter((object) => object !== undefined));
      }
      return found;
    });
  }

  async find(glob: string, most: number): Promise<{ readonly names: readonly string[]; readonly isWhole: boolean }> {
    return inWords(`list ${this.#place(glob)}`, async () => {
      const names: string[] = [];
      const isMatch = globTest(glob);
      let looked = 0;
      for await (const name of this.#walk(literalPrefix(glob), '')) {
        if (++looked > MOST_PAGES * NAMES_OF_A_PAGE) return { names, isWhole: false };
        if (!isMatch(name)) continue;
        if (names.length === most) return { names, isWhole: false };
        names.push(name);
      }
      if (looked === 0) await this.#folder.check();
      return { names, isWhole: true };
    });
  }

  async remove(name: string): Promise<void> {
    await this.#tried(`remove ${this.#place(name)}`, async () => {
      const path = this.#pathOf(name);
      const found = await lstat(path).catch((error: unknown) => (files.isAbsent(error) ? undefined : fail(error)));
      if (found === undefined || found.isDirectory()) return this.#folder.check();
      await this.#folder.checkInside(dirname(path));
      await unlink(path).catch((error: unknown) => (files.isAbsent(error) ? undefined : fail(error)));
      await files.removeEmpty(dirname(path), this.#folder.path);
    });
  }

  downloadUrl(): undefined {
    return undefined;
  }

  uploadUrl(): undefined {
    return undefined;
  }

  objectUrl(): undefined {
    return undefined;
  }

  async signedUrl(): Promise<undefined> {
    return undefined;
  }

  /** Writes the whole content to a temporary file and then gives that its name. */
  async #put(name: string, expected: Expected, contents: AsyncIterable<Uint8Array> | readonly (Uint8Array | string)[]) {
    const path = this.#pathOf(name);
    const temporary = await this.#folder.openTemporary();
    let isOurs = true;
    try {
      const generation = await filled(temporary.file, contents);
      if (expected === 'absent') {
        if (!(await files.answered(this.#linked(temporary.path, path)))) return { kind: 'conflict' } as const;
      } else {
        await this.#folder.checkInside(dirname(path));
        // Once claimed, the file belongs to any writer that finishes the claim.
        isOurs = false;
        const succeeded = this.#claims.succeed({ name, path }, expected.generation, temporary.path);
        if (!(await files.answered(succeeded))) {
          isOurs = true;
          return { kind: 'conflict' } as const;
        }
      }
      await files.answered(files.syncFolder(dirname(path)));
      return { kind: 'written', generation } as const;
    } finally {
      if (isOurs) await unlink(temporary.path).catch(() => undefined);
    }
  }

  async #linked(temporary: string, path: string): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#folder.checkInside(dirname(path), 'nearest');
        await files.makeFolder(dirname(path));
        await this.#folder.checkInside(dirname(path));
        await link(temporary, path);
        return true;
      } catch (error) {
        if (files.codeOf(error) === 'EEXIST') {
          // If a file is in the place of a folder on the way, or a folder has this name, this is an error and no conflict.
          if ((await generationAt(path)) !== undefined) return false;
          const isFolder = await lstat(path).then(
            (found) => found.isDirectory(),
            () => false,
          );
          throw Object.assign(error as Error, { code: isFolder ? 'EISDIR' : 'ENOTDIR' });
        }
        if (files.codeOf(error) !== 'ENOENT' || tries === FOLDER_TRIES) throw error;
      }
    }
  }

  async #open(name: string) {
    const path = this.#pathOf(name);
    const file = await files.openObject(path);
    if (file === undefined) {
      await this.#folder.check();
      return undefined;
    }
    try {
      await this.#folder.checkInside(dirname(path));
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Returns the listing's facts of an object, or undefined if it was removed meanwhile. */
  async #look(name: string): Promise<StoredObject | undefined> {
    const found = await lstat(join(this.#folder.path, name), { bigint: true }).catch((error: unknown) =>
      files.isAbsent(error) ? undefined : fail(error),
    );
    return found?.isFile() === true ? storedObject(name, found) : undefined;
  }

  async *#walk(prefix: string, startOffset: string): AsyncGenerator<string> {
    const folder = prefix.slice(0, prefix.lastIndexOf('/'));
    if (folder !== '' && nameProblem(folder) !== undefined) return;
    if (folder.split('/')[0] === files.OWN_FOLDER) return;
    if (folder !== '' && !(await this.#folder.checkInside(join(this.#folder.path, folder), 'if there'))) return;
    yield* walk({ root: this.#folder.path, prefix, startOffset });
  }

  /** @throws StoreRefused if the name is not that of a file below the folder */
  #pathOf(name: string): string {
    const isOwn = name.split('/')[0] === files.OWN_FOLDER;
    const problem = isOwn ? `begins with ${files.OWN_FOLDER}/` : nameProblem(name);
    if (problem === undefined) return join(this.#folder.path, name);
    throw new StoreRefused(`store: ${JSON.stringify(name)} ${problem}, which no object of a folder has`);
  }

  #place(name: string): string {
    return placeOfObject(this.bucket, name);
  }

  #tried<T>(what: string, call: () => Promise<T>): Promise<T> {
    return inWords(what, () => files.answered(call()));
  }
}

/** Runs a call that may take long in steps, each of which has its own time limit. */
async function inWords<T>(what: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw files.folderError(error, what);
  }
}

function fail(error: unknown): never {
  throw error;
}

async function* contentsOf(source: FileSource): AsyncGenerator<Uint8Array> {
  for await (const { bytes } of checkedChunks(source, CHUNK_BYTES)) yield bytes;
}

/** Writes all contents, durable after a loss of power. @returns the generation */
async function filled(
  file: FileHandle,
  contents: AsyncIterable<Uint8Array> | readonly (Uint8Array | string)[],
): Promise<string> {
  try {
    for await (const content of contents) await files.answered(file.writeFile(content));
    // Many file systems store times in steps of some milliseconds, too coarse to tell generations apart.
    const now = (Date.now() + (performance.now() % 1)) / 1000;
    await files.answered(file.utimes(now, now));
    await files.answered(file.sync());
    return generationOf(await file.stat({ bigint: true }));
  } finally {
    await file.close();
  }
}

const storedObject = (
  name: string,
  found: { readonly size: bigint; readonly mtimeNs: bigint; readonly ino: bigint },
): StoredObject => ({
  name,
  size: Number(found.size),
  generation: generationOf(found),
  updatedAt: Number(found.mtimeNs / 1_000_000n),
});
