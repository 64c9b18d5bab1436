import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32c, md5 } from './crc32c.js';
import type { Preconditions } from './preconditions.js';
import { checkPreconditions } from './preconditions.js';
import { storeErrors } from './store-error.js';

/** Fields of an object that a writer may give (Cloud Storage JSON API, "Objects"). */
export interface ObjectAttributes {
  readonly contentType?: string;
  readonly contentEncoding?: string;
  readonly contentLanguage?: string;
  readonly contentDisposition?: string;
  readonly cacheControl?: string;
  readonly customTime?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface StoredObject extends ObjectAttributes {
  readonly kind: 'storage#object';
  readonly id: string;
  readonly name: string;
  readonly bucket: string;
  readonly generation: string;
  readonly metageneration: string;
  readonly size: string;
  readonly md5Hash?: string;
  readonly crc32c: string;
  readonly etag: string;
  readonly timeCreated: string;
  readonly updated: string;
  readonly storageClass: 'STANDARD';
  readonly componentCount?: number;
}

/**
 * The objects of one bucket, in a folder: `blobs/<generation>` holds bytes, `objects/<hash of name>.json` the resource
 * that is in force. A blob is whole before the resource names it, so a crash leaves the old object or the new one.
 */
export class BucketObjects {
  readonly #bucket: string;
  readonly #folder: string;
  readonly #objects = new Map<string, StoredObject>();
  readonly #nextGeneration: () => string;

  constructor(bucket: string, folder: string, nextGeneration: () => string) {
    this.#bucket = bucket;
    this.#folder = folder;
    this.#nextGeneration = nextGeneration;
    for (const part of ['blobs', 'objects']) mkdirSync(join(folder, part), { recursive: true });
    for (const file of readdirSync(join(folder, 'objects')).filter((name) => name.endsWith('.json'))) {
      const object = JSON.parse(readFileSync(join(folder, 'objects', file), 'utf8')) as StoredObject;
      this.#objects.set(object.name, object);
    }
  }

  get count(): number {
    return this.#objects.size;
  }

  /** Names in byte order, as Cloud Storage lists them. */
  list(prefix: string): readonly StoredObject[] {
    const found = [...this.#objects.values()].filter((object) => object.name.startsWith(prefix));
    return found.toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  }

  find(name: string): StoredObject | undefined {
    return this.#objects.get(name);
  }

  /** Throws StoreError 404 if there is none, or none of that generation. */
  get(name: string, generation?: string): StoredObject {
    const object = this.#objects.get(name);
    if (object === undefined || (generation !== undefined && object.generation !== generation)) {
      throw storeErrors.noObject(this.#bucket, name);
    }
    return object;
  }

  async read(object: StoredObject): Promise<Buffer> {
    return readFile(this.#blob(object.generation)).catch(() => {
      // Overwritten or deleted between the look and the read.
      throw storeErrors.noObject(this.#bucket, object.name);
    });
  }

  /** Throws StoreError 412 if the object is not as the preconditions want it; then nothing is written. */
  async write(
    name: string,
    content: Uint8Array,
    attributes: ObjectAttributes,
    wanted: Preconditions,
    componentCount?: number,
  ): Promise<StoredObject> {
    checkPreconditions(this.find(name), wanted);
    const generation = this.#nextGeneration();
    await writeFile(this.#blob(generation), content);
    try {
      // Again, and from here on without a pause: somebody may have written while the bytes went to disk.
      checkPreconditions(this.find(name), wanted);
    } catch (error) {
      await rm(this.#blob(generation), { force: true });
      throw error;
    }
    const old = this.find(name);
    const object = makeObject(this.#bucket, name, generation, content, attributes, componentCount);
    this.#keep(object);
    if (old !== undefined) await rm(this.#blob(old.generation), { force: true });
    return object;
  }

  /** Changes attributes; `null` takes one away. Keys of `metadata` are merged. */
  patch(name: string, changes: Readonly<Record<string, unknown>>, wanted: Preconditions): StoredObject {
    const object = this.get(name);
    checkPreconditions(object, wanted);
    const { metadata, ...others } = changes;
    const merged = { ...object.metadata, ...(metadata as Record<string, string> | undefined) };
    const kept = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null));
    const next = {
      ...object,
      ...pickAttributes(others),
      metadata: kept,
      metageneration: String(Number(object.metageneration) + 1),
      updated: new Date().toISOString(),
    };
    this.#keep(next);
    return next;
  }

  async remove(name: string, wanted: Preconditions): Promise<void> {
    const object = this.get(name);
    checkPreconditions(object, wanted);
    this.#objects.delete(name);
    rmSync(this.#resource(name));
    await rm(this.#blob(object.generation), { force: true });
  }

  #keep(object: StoredObject): void {
    const file = this.#resource(object.name);
    writeFileSync(`${file}.new`, JSON.stringify(object));
    renameSync(`${file}.new`, file);
    this.#objects.set(object.name, object);
  }

  #blob(generation: string): string {
    return join(this.#folder, 'blobs', generation);
  }

  #resource(name: string): string {
    return join(this.#folder, 'objects', `${createHash('sha256').update(name).digest('hex')}.json`);
  }
}

const ATTRIBUTES = [
  'contentType',
  'contentEncoding',
  'contentLanguage',
  'contentDisposition',
  'cacheControl',
  'customTime',
];

/** The attributes among the fields of a request's object resource; the rest is the service's to say. */
export function pickAttributes(resource: Readonly<Record<string, unknown>>): ObjectAttributes {
  const picked = Object.entries(resource).filter(
    ([key, value]) => ATTRIBUTES.includes(key) && typeof value === 'string',
  );
  const metadata = resource['metadata'];
  return {
    ...Object.fromEntries(picked),
    ...(metadata === undefined ? {} : { metadata: metadata as Record<string, string> }),
  };
}

function makeObject(
  bucket: string,
  name: string,
  generation: string,
  content: Uint8Array,
  attributes: ObjectAttributes,
  componentCount: number | undefined,
): StoredObject {
  const now = new Date().toISOString();
  return {
    contentType: 'application/octet-stream',
    ...attributes,
    kind: 'storage#object',
    id: `${bucket}/${name}/${generation}`,
    name,
    bucket,
    generation,
    metageneration: '1',
    size: String(content.byteLength),
    // A composite object has no MD5.
    ...(componentCount === undefined ? { md5Hash: md5(content) } : { componentCount }),
    crc32c: crc32c(content),
    etag: Buffer.from(generation).toString('base64'),
    timeCreated: now,
    updated: now,
    storageClass: 'STANDARD',
  };
}
