import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderSync } from '../folders.js';
import type { JsonObject } from '../json.js';
import { asObject } from '../json.js';
import type { BucketPolicy, BucketResource } from './bucket-resource.js';
import {
  changedBucketResource,
  changedPolicy,
  newBucketResource,
  newPolicy,
  objectDefaults,
  retentionMs,
} from './bucket-resource.js';
import { compareNames } from './name-index.js';
import type { ObjectAttributes } from './object-record.js';
import { BucketObjects } from './objects.js';
import type { Preconditions } from './preconditions.js';
import { checkBucketPreconditions } from './preconditions.js';
import { storeErrors } from './store-error.js';

/** The stored data of a bucket, without its objects. */
interface BucketFile {
  readonly resource: BucketResource;
  /** Absent in buckets of a version that did not store the project. Such a bucket is in every project. */
  readonly project?: string;
  readonly policy: BucketPolicy;
}

export interface Bucket extends BucketFile {
  readonly objects: BucketObjects;
  /** Attributes of a new object, if its writer gives none. */
  readonly defaults: ObjectAttributes;
}

/** All buckets, each in a separate folder. None exists until a client creates it. */
export class Buckets {
  readonly #folder: string;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();
  #lastGeneration = 0n;

  /** @param now epoch ms of the cloud's clock */
  constructor(folder: string, now: () => number) {
    this.#folder = folder;
    this.#now = now;
    makeFolderSync(folder);
    for (const name of readdirSync(folder)) {
      const file = join(folder, name, 'bucket.json');
      if (existsSync(file)) this.#open(readBucketFile(readFileSync(file, 'utf8')));
    }
    for (const { objects } of this.#buckets.values()) {
      if (objects.lastGeneration > this.#lastGeneration) this.#lastGeneration = objects.lastGeneration;
    }
  }

  /** Buckets of a project, sorted by name. */
  list(project: string): readonly Bucket[] {
    const found = [...this.#buckets.values()].filter((bucket) => (bucket.project ?? project) === project);
    return found.toSorted((a, b) => compareNames(a.resource.name, b.resource.name));
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

  /** Throws StoreError 409 if the name is taken. */
  create(request: JsonObject, project: string): Bucket {
    const resource = newBucketResource(request, project, this.#isoNow());
    if (this.#buckets.has(resource.name)) throw storeErrors.bucketTaken(resource.name);
    const file = { resource, project, policy: newPolicy(project) };
    this.#save(file);
    return this.#open(file);
  }

  /** @param mode `update` replaces every field that may change. Throws StoreError 400, 404, 412. */
  change(
    name: string,
    changes: JsonObject,
    { mode, wanted }: { readonly mode: 'patch' | 'update'; readonly wanted: Preconditions },
  ): Bucket {
    const bucket = this.get(name);
    checkBucketPreconditions(bucket.resource, wanted);
    const resource = changedBucketResource(bucket.resource, changes, { mode, now: this.#isoNow() });
    return this.#replace({ ...bucket, resource, defaults: objectDefaults(resource) });
  }

  /** Throws StoreError 400, 404, 412. */
  setPolicy(name: string, request: JsonObject): Bucket {
    const bucket = this.get(name);
    return this.#replace({ ...bucket, policy: changedPolicy(bucket.policy, request) });
  }

  /** Throws StoreError 409 if the bucket holds objects. */
  remove(name: string, wanted: Preconditions): void {
    const { objects, resource } = this.get(name);
    checkBucketPreconditions(resource, wanted);
    if (!objects.isEmpty) throw storeErrors.bucketNotEmpty();
    this.#buckets.delete(name);
    objects.close();
    rmSync(join(this.#folder, name), { recursive: true });
  }

  close(): void {
    for (const { objects } of this.#buckets.values()) objects.close();
  }

  #replace(bucket: Bucket): Bucket {
    this.#save(bucket);
    this.#buckets.set(bucket.resource.name, bucket);
    return bucket;
  }

  #save({ resource, project, policy }: BucketFile): void {
    const folder = join(this.#folder, resource.name);
    makeFolderSync(folder);
    const file: BucketFile = { resource, ...(project !== undefined && { project }), policy };
    writeFileSync(join(folder, 'bucket.json.new'), JSON.stringify(file));
    renameSync(join(folder, 'bucket.json.new'), join(folder, 'bucket.json'));
  }

  #open(file: BucketFile): Bucket {
    const { name } = file.resource;
    const objects = new BucketObjects({
      bucket: name,
      folder: join(this.#folder, name),
      nextGeneration: () => this.#generation(),
      now: this.#now,
      isVersioned: () => asObject(this.#buckets.get(name)?.resource['versioning'])['enabled'] === true,
      retentionMs: () => retentionMs(this.#buckets.get(name)?.resource),
    });
    const bucket = { ...file, objects, defaults: objectDefaults(file.resource) };
    this.#buckets.set(name, bucket);
    return bucket;
  }

  /** Microseconds since 1970, as Google's generations look. Never the same twice, even if the clock was set back. */
  #generation(): string {
    const now = BigInt(Math.floor(this.#now())) * 1000n;
    this.#lastGeneration = now > this.#lastGeneration ? now : this.#lastGeneration + 1n;
    return String(this.#lastGeneration);
  }

  #isoNow(): string {
    return new Date(this.#now()).toISOString();
  }
}

/** Version 0.1 stored only the resource. */
function readBucketFile(text: string): BucketFile {
  const content = JSON.parse(text) as BucketFile | BucketResource;
  if ('policy' in content) return content as BucketFile;
  return { resource: content, policy: newPolicy('rehearsal') };
}
