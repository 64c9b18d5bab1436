import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolderSync } from '../folders.js';
import type { StagedBlob } from './blobs.js';
import { Blobs } from './blobs.js';
import { NameIndex } from './name-index.js';
import type { ObjectChange } from './object-log.js';
import { ObjectLog } from './object-log.js';
import type { ObjectAttributes, ObjectRecord } from './object-record.js';
import { hashesOf, newRecord, patched, replaced } from './object-record.js';
import type { Preconditions } from './preconditions.js';
import { checkPreconditions } from './preconditions.js';
import { storeErrors } from './store-error.js';

/** The bucket's settings that its objects use. */
export interface ObjectsContext {
  readonly bucket: string;
  readonly folder: string;
  /** Always greater than the last one. */
  readonly nextGeneration: () => string;
  /** Epoch ms. */
  readonly now: () => number;
  /** Whether overwritten and deleted objects are kept as noncurrent versions. */
  readonly isVersioned: () => boolean;
  /** Time during which an object is neither replaced, moved nor removed, ms. */
  readonly retentionMs: () => number;
}

/** A log with this many more lines than there are objects is rewritten when the bucket is opened. */
const SPARE_LINES = 1000;

/**
 * The objects of one bucket, in a folder: `blobs/<generation>` holds bytes, `objects.jsonl` the objects' changes. A blob is
 * complete before the log names it, so a crash leaves the old object or the new one.
 */
export class BucketObjects {
  readonly #context: ObjectsContext;
  readonly #blobs: Blobs;
  readonly #log: ObjectLog;
  readonly #live = new Map<string, ObjectRecord>();
  /** Noncurrent versions, oldest first; no empty lists. */
  readonly #archived = new Map<string, readonly ObjectRecord[]>();
  /** Names that have a version, live or not. */
  readonly names: NameIndex;

  constructor(context: ObjectsContext) {
    this.#context = context;
    makeFolderSync(context.folder);
    this.#blobs = new Blobs(context.folder);
    let lines = 0;
    this.#log = ObjectLog.open(join(context.folder, 'objects.jsonl'), (change) => {
      this.#apply(change);
      lines += 1;
    });
    this.#takeOverFiles();
    const records = [...this.#records()];
    if (lines > records.length + SPARE_LINES) this.#log.compact(records);
    const generations = new Set(records.map((record) => record.generation));
    this.#blobs.sweep((generation) => generations.has(generation));
    this.names = new NameIndex(new Set(records.map((record) => record.name)));
  }

  /** Whether there is no object. Noncurrent versions count too. */
  get isEmpty(): boolean {
    return this.names.length === 0;
  }

  /** The greatest generation of all; 0 without objects. */
  get lastGeneration(): bigint {
    let last = 0n;
    for (const { generation } of this.#records()) if (BigInt(generation) > last) last = BigInt(generation);
    return last;
  }

  find(name: string): ObjectRecord | undefined {
    return this.#live.get(name);
  }

  /** All versions of a name, oldest first, the live one last. */
  versions(name: string): readonly ObjectRecord[] {
    const live = this.#live.get(name);
    return [...(this.#archived.get(name) ?? []), ...(live === undefined ? [] : [live])];
  }

  /** The live object, or the version with this generation. Throws StoreError 404. */
  get(name: string, generation?: string): ObjectRecord {
    const live = this.#live.get(name);
    const object =
      generation === undefined || live?.generation === generation
        ? live
        : this.#archived.get(name)?.find((version) => version.generation === generation);
    if (object === undefined) throw storeErrors.noObject(this.#context.bucket, name);
    return object;
  }

  /**
   * Opens an object's bytes. Call it in the same turn as `get`. Later it rejects with StoreError 404 if the object was
   * overwritten meanwhile. The caller closes the file.
   */
  async open(object: ObjectRecord): Promise<FileHandle> {
    try {
      return await this.#blobs.open(object.generation);
    } catch {
      throw storeErrors.noObject(this.#context.bucket, object.name);
    }
  }

  stage(content: AsyncIterable<Uint8Array>): Promise<StagedBlob> {
    return this.#blobs.stage(content);
  }

  /** Takes content from a file of this state folder. */
  stageFile(path: string, hashes: StagedBlob['hashes']): StagedBlob {
    return this.#blobs.stageFile(path, hashes);
  }

  /** Takes the content of an object of any bucket. */
  stageCopy(from: BucketObjects, object: ObjectRecord): StagedBlob {
    return this.#blobs.stageCopy(from.#blobs, object.generation, hashesOf(object));
  }

  /**
   * Makes staged bytes the live object of a name, at once. Throws StoreError 412 if the present object does not meet the
   * preconditions, 403 if it is retained; then the bytes are discarded.
   */
  write(name: string, staged: StagedBlob, { attributes, wanted, componentCount }: ObjectToWrite): ObjectRecord {
    try {
      const old = this.find(name);
      checkPreconditions(old, wanted);
      this.#checkRetention(old);
      const generation = this.#context.nextGeneration();
      staged.settle(generation);
      const { hashes } = staged;
      const now = this.#now();
      const record = newRecord({ name, generation, hashes, attributes, componentCount, now });
      this.#change([...this.#endOf(old), { put: record }]);
      return record;
    } catch (error) {
      staged.discard();
      throw error;
    }
  }

  /** Changes attributes: null removes one, keys of `metadata` are merged. Mode `update` replaces them all. */
  patch(
    name: string,
    changes: Readonly<Record<string, unknown>>,
    { wanted, generation, mode }: { wanted: Preconditions; generation: string | undefined; mode: 'patch' | 'update' },
  ): ObjectRecord {
    const object = this.get(name, generation);
    checkPreconditions(object, wanted);
    const next = (mode === 'patch' ? patched : replaced)(object, changes, this.#now());
    this.#change([{ put: next }]);
    return next;
  }

  /** @param generation removes that version for good; absent: the live object, which a versioned bucket keeps as noncurrent */
  remove(name: string, wanted: Preconditions, generation?: string): void {
    const object = this.get(name, generation);
    checkPreconditions(object, wanted);
    this.#checkRetention(object);
    const gone = { drop: { name, generation: object.generation } };
    this.#change(generation === undefined ? this.#endOf(object) : [gone]);
  }

  /** Renames the live object, at once. Throws StoreError 403, 404 and 412. */
  move(
    from: string,
    to: string,
    wanted: { readonly source: Preconditions; readonly target: Preconditions },
  ): ObjectRecord {
    const source = this.get(from);
    checkPreconditions(source, wanted.source);
    const target = this.find(to);
    checkPreconditions(target, wanted.target);
    for (const object of [source, target]) this.#checkRetention(object);
    const generation = this.#context.nextGeneration();
    this.stageCopy(this, source).settle(generation);
    const record = { ...source, name: to, generation, metageneration: '1', updated: this.#now() };
    this.#change([...this.#endOf(target), ...this.#endOf(source), { put: record }]);
    return record;
  }

  /** Call when the bucket is deleted or the store closes. */
  close(): void {
    this.#log.close();
  }

  /** Applies to a versioned bucket too: a retained object is not made noncurrent there. */
  #checkRetention(object: ObjectRecord | undefined): void {
    const period = this.#context.retentionMs();
    if (object === undefined || period === 0) return;
    const until = Date.parse(object.timeCreated) + period;
    if (until > this.#context.now()) throw storeErrors.retained(this.#context.bucket, object.name, until);
  }

  /** Changes to the live object when it is replaced or removed. */
  #endOf(old: ObjectRecord | undefined): readonly ObjectChange[] {
    if (old === undefined) return [];
    if (this.#context.isVersioned()) return [{ put: { ...old, timeDeleted: this.#now() } }];
    return [{ drop: { name: old.name, generation: old.generation } }];
  }

  #change(changes: readonly ObjectChange[]): void {
    this.#log.append(changes);
    for (const change of changes) {
      this.#apply(change);
      const { name } = 'put' in change ? change.put : change.drop;
      if (this.#live.has(name) || this.#archived.has(name)) this.names.add(name);
      else this.names.remove(name);
      if ('drop' in change) this.#blobs.remove(change.drop.generation);
    }
  }

  #apply(change: ObjectChange): void {
    const { name, generation } = 'put' in change ? change.put : change.drop;
    if (this.#live.get(name)?.generation === generation) this.#live.delete(name);
    const others = this.#archived.get(name)?.filter((version) => version.generation !== generation) ?? [];
    const isNoncurrent = 'put' in change && change.put.timeDeleted !== undefined;
    const archived = isNoncurrent ? [...others, change.put].toSorted(byGeneration) : others;
    if (archived.length > 0) this.#archived.set(name, archived);
    else this.#archived.delete(name);
    if ('put' in change && !isNoncurrent) this.#live.set(name, change.put);
  }

  *#records(): Generator<ObjectRecord> {
    for (const versions of this.#archived.values()) yield* versions;
    yield* this.#live.values();
  }

  /** Imports the files of version 0.1, which stored a separate file for each object. */
  #takeOverFiles(): void {
    const folder = join(this.#context.folder, 'objects');
    if (!existsSync(folder)) return;
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
      const stored = JSON.parse(readFileSync(join(folder, file), 'utf8')) as ObjectRecord & Record<string, unknown>;
      const { kind: _kind, id: _id, bucket: _bucket, etag: _etag, ...record } = stored;
      const isLogged = this.#live.get(record.name)?.generation === record.generation;
      if (!isLogged) this.#log.append([{ put: record }]);
      this.#apply({ put: record });
    }
    rmSync(folder, { recursive: true });
  }

  #now(): string {
    return new Date(this.#context.now()).toISOString();
  }
}

export interface ObjectToWrite {
  readonly attributes: ObjectAttributes;
  readonly wanted: Preconditions;
  readonly componentCount?: number;
}

function byGeneration(a: ObjectRecord, b: ObjectRecord): number {
  return BigInt(a.generation) < BigInt(b.generation) ? -1 : 1;
}
