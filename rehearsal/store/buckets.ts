import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BucketObjects } from './objects.js';
import { storeErrors } from './store-error.js';

export interface Bucket {
  readonly resource: Readonly<Record<string, unknown>> & { readonly name: string };
  readonly objects: BucketObjects;
}

/** All buckets, each a folder of its own. Nobody has one until a client makes it. */
export class Buckets {
  readonly #folder: string;
  readonly #buckets = new Map<string, Bucket>();
  #lastGeneration = 0n;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
    for (const name of readdirSync(folder)) {
      const file = join(folder, name, 'bucket.json');
      if (existsSync(file)) this.#open(JSON.parse(readFileSync(file, 'utf8')) as Bucket['resource']);
    }
  }

  list(): readonly Bucket[] {
    return [...this.#buckets.values()].toSorted((a, b) => (a.resource.name < b.resource.name ? -1 : 1));
  }

  find(name: string): Bucket | undefined {
    return this.#buckets.get(name);
  }

  /** Throws StoreError 404. */
  get(name: string): Bucket {
    const bucket = this.#buckets.get(name);
    if (bucket === undefined) throw storeErrors.noBucket();
    return bucket;
  }

  /** Throws StoreError 409 if there is one of that name. */
  create(request: Readonly<Record<string, unknown>>): Bucket {
    const name = request['name'];
    if (typeof name !== 'string' || !/^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/.test(name)) {
      throw storeErrors.invalid(`Invalid bucket name: '${String(name)}'`);
    }
    if (this.#buckets.has(name)) throw storeErrors.bucketTaken(name);
    const now = new Date().toISOString();
    const fixed = { kind: 'storage#bucket', id: name, name, metageneration: '1', timeCreated: now, updated: now };
    const resource = { storageClass: 'STANDARD', ...request, ...placeOf(request['location']), ...fixed };
    this.#save(resource);
    return this.#open(resource);
  }

  patch(name: string, changes: Readonly<Record<string, unknown>>): Bucket {
    const { resource, objects } = this.get(name);
    const metageneration = String(Number(resource['metageneration']) + 1);
    const next = { ...resource, ...changes, name, metageneration, updated: new Date().toISOString() };
    this.#save(next);
    const bucket = { resource: next, objects };
    this.#buckets.set(name, bucket);
    return bucket;
  }

  /** Throws StoreError 409 if it holds objects. */
  remove(name: string): void {
    if (this.get(name).objects.count > 0) throw storeErrors.bucketNotEmpty();
    this.#buckets.delete(name);
    rmSync(join(this.#folder, name), { recursive: true });
  }

  #save(resource: Bucket['resource']): void {
    const folder = join(this.#folder, resource.name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'bucket.json.new'), JSON.stringify(resource));
    renameSync(join(folder, 'bucket.json.new'), join(folder, 'bucket.json'));
  }

  #open(resource: Bucket['resource']): Bucket {
    const objects = new BucketObjects(resource.name, join(this.#folder, resource.name), () => this.#generation());
    const bucket = { resource, objects };
    this.#buckets.set(resource.name, bucket);
    return bucket;
  }

  /** Microseconds since 1970, as Google's generations look, never twice. */
  #generation(): string {
    const now = BigInt(Date.now()) * 1000n;
    this.#lastGeneration = now > this.#lastGeneration ? now : this.#lastGeneration + 1n;
    return String(this.#lastGeneration);
  }
}

/** As Cloud Storage writes it: in capitals, and of which kind. */
function placeOf(asked: unknown): { readonly location: string; readonly locationType: string } {
  const location = typeof asked === 'string' ? asked.toUpperCase() : 'US';
  if (['US', 'EU', 'ASIA'].includes(location)) return { location, locationType: 'multi-region' };
  return { location, locationType: location.includes('-') ? 'region' : 'dual-region' };
}
