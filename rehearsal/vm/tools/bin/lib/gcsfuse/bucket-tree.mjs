// A bucket as folders and files, as gcsfuse shows it. An object whose name ends in / is a folder; with implicit-dirs a prefix is
// one too. A file that is being written is a draft on this disk until it is closed; then it is uploaded whole.
import {
  mkdtempSync,
  openSync,
  closeSync,
  fstatSync,
  ftruncateSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as client from '../storage/client.mjs';
import { ERRNO } from './wire.mjs';

export class FileError extends Error {
  constructor(errno) {
    super(`errno ${errno}`);
    this.errno = errno;
  }
}

const ROOT_ID = 1;

export class BucketTree {
  #bucket;
  #prefix;
  #implicit;
  #nodes = new Map(); // keyed by id: { id, path, isFolder, size, mtimeMs, generation, draft? }
  #ids = new Map(); // keyed by path
  #nextId = ROOT_ID + 1;
  #drafts = mkdtempSync(join(tmpdir(), 'gcsfuse-'));

  /** @param options of gcsfuse: only-dir, implicit-dirs */
  constructor(bucket, options) {
    this.#bucket = bucket;
    this.#prefix = options['only-dir'] === undefined ? '' : `${options['only-dir'].replace(/^\/|\/$/g, '')}/`;
    // On TPU machine types gcsfuse 3 has implicit-dirs on by default.
    this.#implicit = options['implicit-dirs'] !== 'false';
    this.#keep(ROOT_ID, { path: '', isFolder: true, size: 0, mtimeMs: Date.now(), generation: undefined });
  }

  close() {
    rmSync(this.#drafts, { recursive: true, force: true });
  }

  node(id) {
    const node = this.#nodes.get(id);
    if (node === undefined) throw new FileError(ERRNO.ESTALE);
    return node;
  }

  #keep(id, facts) {
    const known = this.#nodes.get(id);
    const node = Object.assign(known ?? { id }, facts);
    this.#nodes.set(id, node);
    this.#ids.set(node.path, id);
    return node;
  }

  #named(facts) {
    const id = this.#ids.get(facts.path) ?? this.#nextId++;
    const known = this.#nodes.get(id);
    // A draft is newer than the bucket's object.
    return known?.draft !== undefined ? known : this.#keep(id, facts);
  }

  pathOf(folder, name) {
    return folder.path === '' ? name : `${folder.path}/${name}`;
  }
  #objectName(path) {
    return `${this.#prefix}${path}`;
  }

  /** The child with this name; a folder wins over a file. @throws ENOENT */
  async lookUp(folder, name) {
    const path = this.pathOf(folder, name);
    const known = this.#nodes.get(this.#ids.get(path) ?? -1);
    if (known?.draft !== undefined) return known;
    const [isFolder, object] = await Promise.all([this.#isFolder(path), this.#object(this.#objectName(path))]);
    if (isFolder) return this.#named({ path, isFolder: true, size: 0, mtimeMs: Date.now(), generation: undefined });
    if (object === undefined) {
      if (known !== undefined) this.#forget(known);
      throw new FileError(ERRNO.ENOENT);
    }
    return this.#named(this.#factsOf(path, object));
  }

  #factsOf(path, object) {
    return {
      path,
      isFolder: false,
      size: Number(object.size),
      mtimeMs: Date.parse(object.updated),
      generation: object.generation,
    };
  }

  async #object(name) {
    try {
      return await client.getObject(this.#bucket, name);
    } catch (error) {
      if (client.isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #isFolder(path) {
    const name = `${this.#objectName(path)}/`;
    if ((await this.#object(name)) !== undefined) return true;
    return this.#implicit && !(await this.#isEmpty(name));
  }

  async #isEmpty(folderName) {
    const { items, prefixes } = await client.list(this.#bucket, folderName, '/');
    return prefixes.length === 0 && items.every(({ name }) => name === folderName);
  }

  #forget(node) {
    this.#ids.delete(node.path);
  }

  /** Reads a file that has no draft from the bucket again. */
  async refresh(node) {
    if (node.isFolder || node.draft !== undefined) return node;
    const object = await this.#object(this.#objectName(node.path));
    if (object === undefined) throw new FileError(ERRNO.ENOENT);
    return this.#keep(node.id, this.#factsOf(node.path, object));
  }

  async entries(folder) {
    const prefix = folder.path === '' ? this.#prefix : `${this.#objectName(folder.path)}/`;
    const { items, prefixes } = await client.list(this.#bucket, prefix, '/');
    const files = items.map(({ name }) => name.slice(prefix.length)).filter((name) => name !== '');
    const shown = await Promise.all(
      prefixes.map(async (name) => this.#implicit || (await this.#object(name)) !== undefined),
    );
    const folders = prefixes.filter((_, index) => shown[index]).map((name) => name.slice(prefix.length, -1));
    const drafts = [...this.#nodes.values()].filter(
      ({ path, draft }) =>
        draft !== undefined &&
        path.slice(0, path.lastIndexOf('/') + 1) === `${folder.path}${folder.path === '' ? '' : '/'}`,
    );
    const names = new Set([...files, ...drafts.map(({ path }) => path.slice(path.lastIndexOf('/') + 1))]);
    return [
      { name: '.', isFolder: true },
      { name: '..', isFolder: true },
      ...folders.map((name) => ({ name, isFolder: true })),
      ...[...names].filter((name) => !folders.includes(name)).map((name) => ({ name, isFolder: false })),
    ];
  }

  create(folder, name) {
    const node = this.#named({
      path: this.pathOf(folder, name),
      isFolder: false,
      size: 0,
      mtimeMs: Date.now(),
      generation: '0',
    });
    this.#draft(node, Buffer.alloc(0));
    return node;
  }

  #draft(node, content) {
    const file = join(this.#drafts, String(node.id));
    writeFileSync(file, content);
    node.draft = { fd: openSync(file, 'r+'), isDirty: true };
  }

  /** Makes the file a draft. Its content is downloaded unless `isEmptied`. */
  async edit(node, isEmptied = false) {
    if (node.draft !== undefined) {
      if (isEmptied) this.#resize(node, 0);
      return node.draft;
    }
    const content =
      isEmptied || node.size === 0
        ? Buffer.alloc(0)
        : Buffer.from(await (await client.read(this.#bucket, this.#objectName(node.path))).arrayBuffer());
    if (node.draft === undefined) this.#draft(node, content); // another writer may have been faster
    node.size = content.length;
    node.draft.isDirty = isEmptied;
    return node.draft;
  }

  #resize(node, size) {
    ftruncateSync(node.draft.fd, size);
    Object.assign(node.draft, { isDirty: true });
    Object.assign(node, { size, mtimeMs: Date.now() });
  }

  async truncate(node, size) {
    await this.edit(node, size === 0);
    this.#resize(node, size);
  }

  async write(node, offset, content) {
    const draft = await this.edit(node);
    writeSync(draft.fd, content, 0, content.length, offset);
    draft.isDirty = true;
    Object.assign(node, { size: fstatSync(draft.fd).size, mtimeMs: Date.now() });
  }

  async read(node, offset, size) {
    if (node.draft !== undefined) {
      const content = Buffer.alloc(size);
      return content.subarray(0, readSync(node.draft.fd, content, 0, size, offset));
    }
    if (offset >= node.size) return Buffer.alloc(0);
    const range = { from: offset, to: Math.min(offset + size, node.size) - 1 };
    return Buffer.from(await (await client.read(this.#bucket, this.#objectName(node.path), range)).arrayBuffer());
  }

  /** Uploads a draft. @throws ESTALE if another client has written the object since; that object stays */
  async sync(node) {
    const draft = node.draft;
    if (draft === undefined || !draft.isDirty) return;
    draft.isDirty = false;
    try {
      const content = readFileSync(join(this.#drafts, String(node.id)));
      const object = await client.write(this.#bucket, this.#objectName(node.path), content, node.generation);
      node.generation = object.generation;
    } catch (error) {
      draft.isDirty = true;
      throw error.status === 412 ? new FileError(ERRNO.ESTALE) : error;
    }
  }

  /** Call after the last handle is closed: an uploaded file needs no draft. */
  release(node) {
    if (node.draft === undefined) return;
    closeSync(node.draft.fd);
    node.draft = undefined;
    rmSync(join(this.#drafts, String(node.id)), { force: true });
  }

  async makeFolder(folder, name) {
    const path = this.pathOf(folder, name);
    try {
      await client.write(this.#bucket, `${this.#objectName(path)}/`, Buffer.alloc(0), '0');
    } catch (error) {
      throw error.status === 412 ? new FileError(ERRNO.EEXIST) : error;
    }
    return this.#named({ path, isFolder: true, size: 0, mtimeMs: Date.now(), generation: undefined });
  }

  async removeFile(folder, name) {
    const node = await this.lookUp(folder, name);
    this.#forget(node);
    const wasDraft = node.draft !== undefined && node.generation === '0';
    if (node.draft !== undefined) node.draft.isDirty = false; // a removed file is not uploaded
    if (!wasDraft) await client.remove(this.#bucket, this.#objectName(node.path));
  }

  async removeFolder(folder, name) {
    const node = await this.lookUp(folder, name);
    const object = `${this.#objectName(node.path)}/`;
    if (!(await this.#isEmpty(object))) throw new FileError(ERRNO.ENOTEMPTY);
    this.#forget(node);
    await client.remove(this.#bucket, object);
  }

  async rename(folder, name, toFolder, toName) {
    const node = await this.lookUp(folder, name);
    const path = this.pathOf(toFolder, toName);
    if (node.isFolder) return this.#renameFolder(node, path);
    await this.sync(node);
    await this.#move(this.#objectName(node.path), this.#objectName(path));
    this.#forget(node);
    // The kernel continues to use the same node under its new name.
    const replaced = this.#nodes.get(this.#ids.get(path) ?? -1);
    if (replaced !== undefined) this.#nodes.delete(replaced.id);
    const object = await client.getObject(this.#bucket, this.#objectName(path));
    this.#keep(node.id, this.#factsOf(path, object));
  }

  async #move(from, to) {
    await client.copy(this.#bucket, from, this.#bucket, to);
    await client.remove(this.#bucket, from);
  }

  /** Renames object by object: a bucket has no folders to rename. */
  async #renameFolder(node, path) {
    const [from, to] = [`${this.#objectName(node.path)}/`, `${this.#objectName(path)}/`];
    if (!(await this.#isEmpty(to))) throw new FileError(ERRNO.ENOTEMPTY);
    const below = [...this.#nodes.values()].filter((other) => other.path.startsWith(`${node.path}/`));
    for (const each of below) await this.sync(each);
    const { items } = await client.list(this.#bucket, from);
    for (const { name } of items) await this.#move(name, `${to}${name.slice(from.length)}`);
    for (const each of [node, ...below]) {
      this.#forget(each);
      this.#keep(each.id, { path: `${path}${each.path.slice(node.path.length)}` });
    }
  }
}
