import { json } from './answers.js';
import { withoutMd5 } from './blobs.js';
import type { StoreAnswer, StoreCall, StoreMethod, StoreParts } from './call.js';
import { readGeneration } from './object-calls.js';
import type { ObjectAttributes, ObjectRecord } from './object-record.js';
import { pickAttributes, resourceOf } from './object-record.js';
import type { BucketObjects } from './objects.js';
import { checkReadPreconditions, preconditionsOf, readPreconditions } from './preconditions.js';
import { storeErrors } from './store-error.js';
import { checkObjectName } from './upload-calls.js';

/** cloud.google.com/storage/docs/composite-objects, 2026-11. */
const MAX_SOURCES = 32;
const MIB = 1024 * 1024;

export const COPY_METHODS = {
  'objects.compose': composeObject,
  'objects.copy': async (parts, call) => {
    const copy = await readCopy(parts, call);
    return json(resourceOf(copy.write(), copy.bucket, call.origin));
  },
  'objects.rewrite': rewriteObject,
  'objects.move': ({ buckets }, call) => {
    const { object: to } = destinationOf(call);
    const wanted = { source: readPreconditions(call.query, 'ifSource'), target: readPreconditions(call.query) };
    const moved = buckets.get(call.bucket).objects.move(call.object, to, wanted);
    return json(resourceOf(moved, call.bucket, call.origin));
  },
} as const satisfies Readonly<Record<string, StoreMethod>>;

async function composeObject({ buckets }: StoreParts, call: StoreCall): Promise<StoreAnswer> {
  const { objects, defaults } = buckets.get(call.bucket);
  checkObjectName(call.object);
  const request = await call.body.json();
  const sources = readSources(request['sourceObjects']).map((source) => {
    const object = objects.get(source.name, source.generation);
    if ((source.wantedGeneration ?? object.generation) !== object.generation) throw storeErrors.preconditionFailed();
    return object;
  });
  const destination = request['destination'];
  const attributes: ObjectAttributes = { ...defaults, ...pickAttributes(isRecord(destination) ? destination : {}) };
  const componentCount = sources.reduce((sum, object) => sum + (object.componentCount ?? 1), 0);
  const staged = withoutMd5(await objects.stage(contentsOf(objects, sources)));
  const wanted = readPreconditions(call.query);
  const record = objects.write(call.object, staged, { attributes, wanted, componentCount });
  return json(resourceOf(record, call.bucket, call.origin));
}

interface ComposeSource {
  readonly name: string;
  readonly generation: string | undefined;
  readonly wantedGeneration: string | undefined;
}

/** Throws StoreError 400. */
function readSources(given: unknown): readonly ComposeSource[] {
  if (!Array.isArray(given) || given.length === 0) throw storeErrors.required('sourceObjects');
  if (given.length > MAX_SOURCES) throw storeErrors.tooManySources(given.length, MAX_SOURCES);
  return given.map((source: unknown) => {
    if (!isRecord(source) || typeof source['name'] !== 'string') throw storeErrors.required('sourceObjects[].name');
    const { generation, objectPreconditions } = source;
    const wanted = isRecord(objectPreconditions) ? objectPreconditions['ifGenerationMatch'] : undefined;
    return {
      name: source['name'],
      generation: preconditionsOf((name) => (name === 'GenerationMatch' ? generation : undefined)).generation,
      wantedGeneration: preconditionsOf((name) => (name === 'GenerationMatch' ? wanted : undefined)).generation,
    };
  });
}

async function* contentsOf(objects: BucketObjects, sources: readonly ObjectRecord[]): AsyncGenerator<Buffer> {
  for (const source of sources) {
    const file = await objects.open(source);
    for await (const chunk of file.createReadStream()) yield chunk as Buffer;
  }
}

interface Copy {
  readonly bucket: string;
  readonly source: ObjectRecord;
  readonly write: () => ObjectRecord;
}

async function readCopy({ buckets }: StoreParts, call: StoreCall): Promise<Copy> {
  const { bucket, object: name } = destinationOf(call);
  const body = await call.body.json();
  const { objects } = buckets.get(call.bucket);
  const source = objects.get(call.object, readGeneration(call.query, 'sourceGeneration'));
  checkReadPreconditions(source, readPreconditions(call.query, 'ifSource'));
  const target = buckets.get(bucket);
  // Metadata in the request replaces all of the source's.
  const { storageClass: _, ...own } = pickAttributes({ ...source });
  const attributes = { ...target.defaults, ...(Object.keys(body).length === 0 ? own : pickAttributes(body)) };
  const { componentCount } = source;
  const request = { attributes, wanted: readPreconditions(call.query), ...(componentCount && { componentCount }) };
  const write = (): ObjectRecord => target.objects.write(name, target.objects.stageCopy(objects, source), request);
  return { bucket, source, write };
}

/**
 * With `maxBytesRewrittenPerCall` a copy takes as many calls as at Google, though it costs nothing here. The token holds the
 * whole progress, so it stays valid over a restart.
 */
async function rewriteObject(parts: StoreParts, call: StoreCall): Promise<StoreAnswer> {
  const copy = await readCopy(parts, call);
  const size = Number(copy.source.size);
  const rewritten = Math.min(size, bytesBefore(call, copy.source) + bytesPerCall(call.query));
  const progress = {
    kind: 'storage#rewriteResponse',
    totalBytesRewritten: String(rewritten),
    objectSize: String(size),
  };
  if (rewritten < size) {
    const token = JSON.stringify({ generation: copy.source.generation, rewritten });
    return json({ ...progress, done: false, rewriteToken: Buffer.from(token).toString('base64url') });
  }
  return json({ ...progress, done: true, resource: resourceOf(copy.write(), copy.bucket, call.origin) });
}

/** Throws StoreError 400. */
function bytesPerCall(query: URLSearchParams): number {
  const text = query.get('maxBytesRewrittenPerCall');
  if (text === null || text === '0') return Infinity;
  if (!/^\d{1,15}$/.test(text) || Number(text) % MIB !== 0) {
    throw storeErrors.invalidValue('maxBytesRewrittenPerCall', text);
  }
  return Number(text);
}

/** Bytes that earlier calls of this rewrite copied. Throws StoreError 400 for a token of another rewrite. */
function bytesBefore({ query }: StoreCall, source: ObjectRecord): number {
  const token = query.get('rewriteToken');
  if (token === null || token === '') return 0;
  try {
    const content = JSON.parse(Buffer.from(token, 'base64url').toString()) as Record<string, unknown>;
    const { generation, rewritten } = content;
    if (generation === source.generation && typeof rewritten === 'number' && rewritten >= 0) return rewritten;
  } catch {
    // Not a token of ours: refused below.
  }
  throw storeErrors.invalidValue('rewriteToken', token);
}

function destinationOf({ destination }: StoreCall): { readonly bucket: string; readonly object: string } {
  if (destination === undefined) throw new TypeError('a copy without a destination: its route has one');
  checkObjectName(destination.object);
  return destination;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
