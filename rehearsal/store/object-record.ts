import type { ContentHashes } from './crc32c.js';
import { storeErrors } from './store-error.js';

/** Fields of an object that a writer may give (Cloud Storage JSON API, "Objects"). */
export interface ObjectAttributes {
  readonly contentType?: string;
  readonly contentEncoding?: string;
  readonly contentLanguage?: string;
  readonly contentDisposition?: string;
  readonly cacheControl?: string;
  readonly customTime?: string;
  readonly storageClass?: string;
  readonly temporaryHold?: boolean;
  readonly eventBasedHold?: boolean;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Stored fields of an object; the rest of its resource follows from them. */
export interface ObjectRecord extends ObjectAttributes {
  readonly name: string;
  readonly generation: string;
  readonly metageneration: string;
  /** Bytes, in decimal. */
  readonly size: string;
  readonly md5Hash?: string;
  readonly crc32c: string;
  readonly timeCreated: string;
  readonly updated: string;
  /** When this version stopped being the live one; absent for the live version. */
  readonly timeDeleted?: string;
  /** Number of components of a composed object. */
  readonly componentCount?: number;
}

/** An object's resource in the JSON API's form. */
export type ObjectResource = ObjectRecord & Readonly<Record<string, unknown>>;

const ATTRIBUTES: Readonly<Record<Exclude<keyof ObjectAttributes, 'metadata'>, 'string' | 'boolean'>> = {
  contentType: 'string',
  contentEncoding: 'string',
  contentLanguage: 'string',
  contentDisposition: 'string',
  cacheControl: 'string',
  customTime: 'string',
  storageClass: 'string',
  temporaryHold: 'boolean',
  eventBasedHold: 'boolean',
};

/** The attributes in a request's object resource. The service sets all other fields. Throws StoreError 400. */
export function pickAttributes(resource: Readonly<Record<string, unknown>>): ObjectAttributes {
  return withoutNulls(pickChanges(resource));
}

/** The attributes that a patch changes. null removes an attribute. */
function pickChanges(resource: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const changes: Record<string, unknown> = {};
  for (const [field, type] of Object.entries(ATTRIBUTES)) {
    const value = resource[field];
    if (value === undefined) continue;
    if (value !== null && typeof value !== type) throw storeErrors.invalid(`Invalid value for: ${field}`);
    changes[field] = value;
  }
  const { metadata } = resource;
  if (metadata !== undefined) changes['metadata'] = metadata === null ? null : customMetadata(metadata);
  return changes;
}

function customMetadata(metadata: unknown): Readonly<Record<string, string | null>> {
  const isMap = typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata);
  if (!isMap) throw storeErrors.invalid('Invalid value for: metadata');
  const entries = Object.entries(metadata as Record<string, unknown>);
  if (entries.some(([, value]) => value !== null && typeof value !== 'string')) {
    throw storeErrors.invalid('Invalid value for: metadata');
  }
  return metadata as Readonly<Record<string, string | null>>;
}

/** Applies a patch to an object's attributes: null removes one, keys of `metadata` are merged. */
export function patched(record: ObjectRecord, patch: Readonly<Record<string, unknown>>, now: string): ObjectRecord {
  const changes = pickChanges(patch);
  const { metadata } = changes;
  if (typeof metadata === 'object' && metadata !== null) {
    changes['metadata'] = withoutNulls({ ...record.metadata, ...metadata });
  }
  return withNextMetageneration(withoutNulls({ ...record, ...changes }), now);
}

/** Replaces an object's attributes (objects.update). */
export function replaced(record: ObjectRecord, update: Readonly<Record<string, unknown>>, now: string): ObjectRecord {
  const cleared = Object.fromEntries([...Object.keys(ATTRIBUTES), 'metadata'].map((field) => [field, null]));
  const { storageClass } = record;
  const next = withoutNulls({ ...record, ...cleared, ...(storageClass && { storageClass }), ...pickChanges(update) });
  return withNextMetageneration({ ...next, ...(next.metadata && { metadata: withoutNulls(next.metadata) }) }, now);
}

function withNextMetageneration(record: ObjectRecord, now: string): ObjectRecord {
  return { ...record, metageneration: String(Number(record.metageneration) + 1), updated: now };
}

function withoutNulls<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as T;
}

export interface NewObject {
  readonly name: string;
  readonly generation: string;
  readonly hashes: ContentHashes;
  readonly attributes: ObjectAttributes;
  readonly componentCount?: number | undefined;
  /** ISO 8601. */
  readonly now: string;
}

export function newRecord({ name, generation, hashes, attributes, componentCount, now }: NewObject): ObjectRecord {
  const { size, crc32c, md5 } = hashes;
  return {
    ...attributes,
    name,
    generation,
    metageneration: '1',
    size: String(size),
    ...(md5 !== undefined && { md5Hash: md5 }),
    crc32c,
    timeCreated: now,
    updated: now,
    ...(componentCount !== undefined && { componentCount }),
  };
}

export function hashesOf(record: ObjectRecord): ContentHashes {
  const { size, crc32c, md5Hash } = record;
  return { size: Number(size), crc32c, ...(md5Hash !== undefined && { md5: md5Hash }) };
}

/** The object's etag. It also changes if only the metadata changes. */
export function etagOf({ generation, metageneration }: ObjectRecord): string {
  return Buffer.from(`${generation}/${metageneration}`).toString('base64');
}

/** @param origin scheme and authority that the client used. */
export function resourceOf(record: ObjectRecord, bucket: string, origin: string): ObjectResource {
  const { name, generation, timeCreated } = record;
  const path = `b/${encodeURIComponent(bucket)}/o/${encodeURIComponent(name)}`;
  return {
    kind: 'storage#object',
    id: `${bucket}/${name}/${generation}`,
    selfLink: `${origin}/storage/v1/${path}`,
    mediaLink: `${origin}/download/storage/v1/${path}?generation=${generation}&alt=media`,
    bucket,
    storageClass: 'STANDARD',
    ...record,
    etag: etagOf(record),
    timeStorageClassUpdated: timeCreated,
    timeFinalized: timeCreated,
  };
}
