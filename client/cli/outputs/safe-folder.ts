import { lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Names of files in a folder come from a store that others may write. Nothing is written through a link, whoever put it there. */
export class SafeFolder {
  readonly root: string;
  readonly #made = new Map<string, Promise<void>>();

  constructor(root: string) {
    this.root = root;
  }

  /** The path here of a name with `/`, its folders made. @throws UnsafePath */
  async place(name: string): Promise<string> {
    const folders = name.split('/').slice(0, -1);
    await this.folder(folders.join('/'));
    return join(this.root, name);
  }

  /** @throws UnsafePath if it, or one above it, is there and is no folder */
  async folder(name: string): Promise<string> {
    const parts = name === '' ? [] : name.split('/');
    for (let end = 0; end <= parts.length; end++) {
      const path = join(this.root, ...parts.slice(0, end));
      let made = this.#made.get(path);
      if (made === undefined) this.#made.set(path, (made = makeFolder(path, end === 0)));
      await made;
    }
    return join(this.root, ...parts);
  }
}

/** What is there is in the way. */
export class UnsafePath extends Error {
  override readonly name = 'UnsafePath';
}

async function makeFolder(path: string, isRoot: boolean): Promise<void> {
  // The user named the root; it may be a link of theirs.
  if (isRoot) return void (await mkdir(path, { recursive: true }));
  await mkdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const found = await lstat(path);
  if (found.isSymbolicLink())
    throw new UnsafePath(`${path} is a symbolic link: nothing is written through it; remove it, or download elsewhere`);
  if (!found.isDirectory()) throw new UnsafePath(`${path} is there and is no folder`);
}
