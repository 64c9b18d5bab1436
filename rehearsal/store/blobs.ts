import { randomBytes } from 'node:crypto';
import { copyFileSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolderSync } from '../folders.js';
import type { ContentHashes } from './crc32c.js';
import { ContentHasher } from './crc32c.js';

/** Content up to this many bytes is held until it is complete: one file operation instead of four. */
const SMALL_BYTES = 256 * 1024;

/** Complete bytes that belong to no object yet. Call `settle` or `discard`, once. */
export interface StagedBlob {
  readonly hashes: ContentHashes;
  /** Makes the bytes the content of this generation, wholly or not at all. */
  readonly settle: (generation: string) => void;
  readonly discard: () => void;
}

/** Contents of a bucket's objects: one file each, named by its generation. An existing file never changes. */
export class Blobs {
  readonly #folder: string;
  readonly #incoming: string;
  /** Number of times that each generation is being opened now. `#unwanted` are generations to remove once that is over. */
  readonly #opening = new Map<string, number>();
  readonly #unwanted = new Set<string>();

  constructor(folder: string) {
    this.#folder = join(folder, 'blobs');
    this.#incoming = join(folder, 'incoming');
    makeFolderSync(this.#folder);
    // Unfinished files of a killed process belong to no object.
    rmSync(this.#incoming, { recursive: true, force: true });
    mkdirSync(this.#incoming);
  }

  /** Stores content of any length in constant memory. If the content breaks off, nothing is left. */
  async stage(content: AsyncIterable<Uint8Array>): Promise<StagedBlob> {
    const hasher = new ContentHasher();
    const head: Uint8Array[] = [];
    let file: { readonly path: string; readonly handle: FileHandle } | undefined;
    try {
      for await (const chunk of content) {
        hasher.update(chunk);
        if (file !== undefined) await file.handle.writev([chunk]);
        else if (head.push(chunk) > 0 && hasher.size > SMALL_BYTES) {
          file = await this.#openIncoming();
          await file.handle.writev(head.splice(0));
        }
      }
    } catch (error) {
      await file?.handle.close();
      if (file !== undefined) await rm(file.path, { force: true });
      throw error;
    }
    if (file === undefined) return this.stageBytes(Buffer.concat(head), hasher.digest());
    await file.handle.close();
    return this.stageFile(file.path, hasher.digest());
  }

  stageBytes(content: Uint8Array, hashes: ContentHashes): StagedBlob {
    return { hashes, settle: (generation) => writeFileSync(this.#path(generation), content), discard: () => undefined };
  }

  /** Stages a file of the same file system. `settle` moves it. */
  stageFile(path: string, hashes: ContentHashes): StagedBlob {
    return {
      hashes,
      settle: (generation) => renameSync(path, this.#path(generation)),
      discard: () => rmSync(path, { force: true }),
    };
  }

  /** Stages the content of another object without reading it. `settle` gives that file, which never changes, a second name. */
  stageCopy(from: Blobs, generation: string, hashes: ContentHashes): StagedBlob {
    const settle = (to: string): void => {
      const [source, target] = [from.#path(generation), this.#path(to)];
      try {
        linkSync(source, target);
      } catch {
        // A file has a limited number of names (ext4: 65,000), and some file systems allow only one.
        copyFileSync(source, target);
      }
    };
    return { hashes, settle, discard: () => undefined };
  }

  /** Opens content that exists at the call, even if its object is overwritten meanwhile. Rejects with ENOENT. */
  async open(generation: string): Promise<FileHandle> {
    this.#opening.set(generation, (this.#opening.get(generation) ?? 0) + 1);
    try {
      return await open(this.#path(generation), 'r');
    } finally {
      const others = (this.#opening.get(generation) ?? 1) - 1;
      if (others > 0) this.#opening.set(generation, others);
      else this.#opening.delete(generation);
      if (others === 0 && this.#unwanted.delete(generation)) this.remove(generation);
    }
  }

  remove(generation: string): void {
    if (this.#opening.has(generation)) this.#unwanted.add(generation);
    else rmSync(this.#path(generation), { force: true });
  }

  /** Removes every content that no object names: a killed process left it. */
  sweep(isNamed: (generation: string) => boolean): void {
    for (const generation of readdirSync(this.#folder)) if (!isNamed(generation)) this.remove(generation);
  }

  async #openIncoming(): Promise<{ readonly path: string; readonly handle: FileHandle }> {
    const path = join(this.#incoming, randomBytes(12).toString('hex'));
    return { path, handle: await open(path, 'w') };
  }

  #path(generation: string): string {
    return join(this.#folder, generation);
  }
}

/** A composed object has no MD5: it would need another read of all its bytes. */
export function withoutMd5(staged: StagedBlob): StagedBlob {
  const { size, crc32c } = staged.hashes;
  return { ...staged, hashes: { size, crc32c } };
}
