import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { Buckets } from './buckets.js';
import { listPage } from './listing.js';
import { mediaOf } from './media.js';
import type { StoredObject } from './objects.js';
import { pickAttributes } from './objects.js';
import { checkReadPreconditions, readPreconditions } from './preconditions.js';
import { storeErrors } from './store-error.js';
import type { ResumableUploads } from './uploads.js';
import { splitMultipart, writeUpload } from './uploads.js';

/** One HTTP request, its path taken apart by the router. */
export interface StoreCall {
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly bucket: string;
  readonly object: string;
  /** Of a copy: `destination bucket`, `destination object`. */
  readonly destination?: { readonly bucket: string; readonly object: string };
  /** Scheme and authority that the client used. */
  readonly origin: string;
}

export type StoreAnswer =
  | { readonly kind: 'json'; readonly json: unknown; readonly status?: number; readonly headers?: OutgoingHttpHeaders }
  | {
      readonly kind: 'bytes';
      readonly status: number;
      readonly headers: OutgoingHttpHeaders;
      readonly content: Buffer;
    };

export interface StoreParts {
  readonly buckets: Buckets;
  readonly uploads: ResumableUploads;
  /** Which of these the caller holds, by its header; none for a token that is not good. */
  readonly granted: (authorization: string | undefined, permissions: readonly string[]) => readonly string[];
}

type StoreMethod = (parts: StoreParts, call: StoreCall) => StoreAnswer | Promise<StoreAnswer>;

/** Calls by the names of the JSON API's reference. */
export const STORE_METHODS = {
  'buckets.list': ({ buckets }) =>
    json({ kind: 'storage#buckets', items: buckets.list().map((bucket) => bucket.resource) }),
  'buckets.insert': ({ buckets }, call) => json(buckets.create(parseJson(call.body)).resource),
  'buckets.get': ({ buckets }, call) => json(buckets.get(call.bucket).resource),
  'buckets.patch': ({ buckets }, call) => json(buckets.patch(call.bucket, parseJson(call.body)).resource),
  'buckets.delete': ({ buckets }, call) => {
    buckets.remove(call.bucket);
    return noContent();
  },
  'buckets.testIamPermissions': ({ buckets, granted }, call) => {
    buckets.get(call.bucket);
    const permissions = granted(call.headers.authorization, call.query.getAll('permissions'));
    // As every list that is empty, it is left out of the answer.
    return json({
      kind: 'storage#testIamPermissionsResponse',
      ...(permissions.length > 0 && { permissions }),
    });
  },
  'objects.list': ({ buckets }, call) => json(listPage(buckets.get(call.bucket).objects, call.query)),
  'objects.get': getObject,
  'objects.insert': insertObject,
  'objects.insert.resume': resumeInsert,
  'objects.insert.cancel': ({ uploads }, call) => {
    uploads.cancel(call.query.get('upload_id') ?? '');
    return { kind: 'json', json: {}, status: 499 };
  },
  'objects.patch': ({ buckets }, call) => {
    const { objects } = buckets.get(call.bucket);
    return json(objects.patch(call.object, parseJson(call.body), readPreconditions(call.query)));
  },
  'objects.delete': async ({ buckets }, call) => {
    await buckets.get(call.bucket).objects.remove(call.object, readPreconditions(call.query));
    return noContent();
  },
  'objects.compose': composeObject,
  'objects.copy': async (parts, call) => json(await copyObject(parts, call)),
  'objects.rewrite': async (parts, call) => {
    const resource = await copyObject(parts, call);
    const { size } = resource;
    return json({ kind: 'storage#rewriteResponse', done: true, totalBytesRewritten: size, objectSize: size, resource });
  },
} as const satisfies Readonly<Record<string, StoreMethod>>;
export type StoreMethodName = keyof typeof STORE_METHODS;

async function getObject({ buckets }: StoreParts, call: StoreCall): Promise<StoreAnswer> {
  const { objects } = buckets.get(call.bucket);
  const object = objects.get(call.object, call.query.get('generation') ?? undefined);
  checkReadPreconditions(object, readPreconditions(call.query));
  if (call.query.get('alt') !== 'media') return json(resourceOf(object, call.origin));
  return { kind: 'bytes', ...mediaOf(object, await objects.read(object), call.headers.range) };
}

async function insertObject(parts: StoreParts, call: StoreCall): Promise<StoreAnswer> {
  const { objects } = parts.buckets.get(call.bucket);
  const wanted = readPreconditions(call.query);
  const contentType = call.headers['content-type'] ?? '';
  const type = call.query.get('uploadType') ?? 'media';
  if (type === 'resumable') return beginResumable(parts, call);
  const { resource, content } =
    type === 'multipart' ? splitMultipart(call.body, contentType) : { resource: { contentType }, content: call.body };
  const name = objectName(call, resource);
  const object = await writeUpload({ objects, name, attributes: pickAttributes(resource), wanted }, resource, content);
  return json(resourceOf(object, call.origin));
}

function beginResumable({ buckets, uploads }: StoreParts, call: StoreCall): StoreAnswer {
  const { objects } = buckets.get(call.bucket);
  const contentType = call.headers['x-upload-content-type'];
  const resource = { ...(typeof contentType === 'string' ? { contentType } : {}), ...parseJson(call.body) };
  const upload = { objects, name: objectName(call, resource), wanted: readPreconditions(call.query) };
  const id = uploads.begin(upload, resource);
  const path = `/upload/storage/v1/b/${encodeURIComponent(call.bucket)}/o?uploadType=resumable&upload_id=${id}`;
  return { kind: 'json', json: {}, headers: { location: `${call.origin}${path}`, 'x-guploader-uploadid': id } };
}

async function resumeInsert({ uploads }: StoreParts, call: StoreCall): Promise<StoreAnswer> {
  const answer = await uploads.put(call.query.get('upload_id') ?? '', call.body, call.headers['content-range']);
  if (answer.kind === 'done') return json(resourceOf(answer.object, call.origin));
  // Without a Range header the client starts from 0.
  const headers = answer.received === 0 ? {} : { range: `bytes=0-${answer.received - 1}` };
  return { kind: 'bytes', status: 308, headers, content: Buffer.alloc(0) };
}

async function composeObject({ buckets }: StoreParts, call: StoreCall): Promise<StoreAnswer> {
  const { objects } = buckets.get(call.bucket);
  const request = parseJson(call.body) as {
    readonly destination?: Record<string, unknown>;
    readonly sourceObjects?: readonly {
      readonly name: string;
      readonly generation?: string;
      readonly objectPreconditions?: { readonly ifGenerationMatch?: string };
    }[];
  };
  const sources = request.sourceObjects ?? [];
  if (sources.length === 0 || sources.length > 32) {
    throw storeErrors.invalid(`The number of source components provided (${sources.length}) must be 1 to 32`);
  }
  const found = sources.map((source) => {
    const object = objects.get(source.name, source.generation);
    const wanted = source.objectPreconditions?.ifGenerationMatch;
    if (wanted !== undefined && String(wanted) !== object.generation) throw storeErrors.preconditionFailed();
    return object;
  });
  const contents = await Promise.all(found.map((object) => objects.read(object)));
  const components = found.reduce((sum, object) => sum + (object.componentCount ?? 1), 0);
  const attributes = pickAttributes(request.destination ?? {});
  const wanted = readPreconditions(call.query);
  return json(await objects.write(call.object, Buffer.concat(contents), attributes, wanted, components));
}

async function copyObject({ buckets }: StoreParts, call: StoreCall): Promise<StoredObject> {
  if (call.destination === undefined) throw storeErrors.invalid('a copy needs a destination');
  const { objects } = buckets.get(call.bucket);
  const source = objects.get(call.object, call.query.get('sourceGeneration') ?? undefined);
  checkReadPreconditions(source, readPreconditions(call.query, 'ifSource'));
  const attributes = { ...pickAttributes({ ...source }), ...pickAttributes(parseJson(call.body)) };
  const destination = buckets.get(call.destination.bucket).objects;
  const content = await objects.read(source);
  return destination.write(call.destination.object, content, attributes, readPreconditions(call.query));
}

function resourceOf(object: StoredObject, origin: string): object {
  const path = `b/${encodeURIComponent(object.bucket)}/o/${encodeURIComponent(object.name)}`;
  const mediaLink = `${origin}/download/storage/v1/${path}?generation=${object.generation}&alt=media`;
  return { ...object, selfLink: `${origin}/storage/v1/${path}`, mediaLink };
}

function objectName(call: StoreCall, resource: Readonly<Record<string, unknown>>): string {
  const name = call.query.get('name') ?? resource['name'];
  if (typeof name !== 'string' || name === '') throw storeErrors.invalid('Required parameter: name');
  if (Buffer.byteLength(name) > 1024)
    throw storeErrors.invalid(`object name of ${Buffer.byteLength(name)} bytes, at most 1024`);
  return name;
}

function parseJson(body: Buffer): Record<string, unknown> {
  if (body.byteLength === 0) return {};
  try {
    return JSON.parse(body.toString()) as Record<string, unknown>;
  } catch {
    throw storeErrors.invalid('Parse Error: the request body is not JSON');
  }
}

function json(content: unknown): StoreAnswer {
  return { kind: 'json', json: content };
}

function noContent(): StoreAnswer {
  return { kind: 'bytes', status: 204, headers: {}, content: Buffer.alloc(0) };
}
