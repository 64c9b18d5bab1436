import { empty, json } from './answers.js';
import type { StoreAnswer, StoreCall, StoreMethod, StoreParts } from './call.js';
import { parseContentRange } from './content-range.js';
import type { UploadHead } from './multipart.js';
import { readMultipart } from './multipart.js';
import type { ObjectRecord } from './object-record.js';
import { pickAttributes, resourceOf } from './object-record.js';
import { readPreconditions } from './preconditions.js';
import type { Preconditions } from './preconditions.js';
import { storeErrors } from './store-error.js';
import { checkHashes, expectedHashes } from './upload-checks.js';
import type { ResumableAnswer } from './uploads.js';

/** Limit in bytes of UTF-8 (cloud.google.com/storage/docs/objects#naming, 2026-11). */
const MAX_NAME_BYTES = 1024;

export const UPLOAD_METHODS = {
  'objects.insert': async (parts, call) => {
    const wanted = readPreconditions(call.query);
    if (call.query.get('uploadType') === 'resumable') return beginResumable(parts, call, wanted);
    return json(resourceOf(await writeUpload(parts, call, wanted), call.bucket, call.origin));
  },
  'objects.insert.resume': async (parts, call) => {
    const answer = await resumeUpload(parts, call);
    return answer.kind === 'more'
      ? askForMore(call, answer)
      : json(resourceOf(answer.object, call.bucket, call.origin));
  },
  'objects.insert.cancel': ({ uploads }, { query }) => {
    uploads.cancel(query.get('upload_id') ?? '');
    return empty(499);
  },
} as const satisfies Readonly<Record<string, StoreMethod>>;

/** Reads the part before the content. Throws StoreError 400. */
export async function readUploadHead({ query, headers, body }: StoreCall): Promise<UploadHead> {
  const type = query.get('uploadType');
  const contentType = headers['content-type'];
  if (type === 'multipart') return readMultipart(body.stream(), contentType ?? '');
  if (type === 'media') return { resource: typed(contentType), content: body.stream() };
  if (type !== 'resumable') throw storeErrors.wrongUploadUrl();
  const given = headers['x-upload-content-type'];
  const resource = { ...typed(typeof given === 'string' ? given : undefined), ...(await body.json()) };
  return { resource, content: body.stream() };
}

function typed(contentType: string | undefined): Record<string, unknown> {
  return contentType === undefined ? {} : { contentType };
}

/** The name that an upload gives its object. Throws StoreError 400. */
export function uploadedName(query: URLSearchParams, resource: Readonly<Record<string, unknown>>): string {
  const name = query.get('name') ?? resource['name'];
  if (typeof name !== 'string' || name === '') throw storeErrors.required('name');
  checkObjectName(name);
  return name;
}

/** Throws StoreError 400. */
export function checkObjectName(name: string): void {
  const bytes = Buffer.byteLength(name);
  if (bytes > MAX_NAME_BYTES) throw storeErrors.nameTooLong(bytes);
  const isForbidden = ['', '.', '..'].includes(name) || /[\r\n]|^\.well-known\/acme-challenge\//.test(name);
  if (isForbidden) throw storeErrors.invalid(`Invalid object name: ${JSON.stringify(name)}`);
}

/** Stores the content and makes it the object. */
export async function writeUpload(parts: StoreParts, call: StoreCall, wanted: Preconditions): Promise<ObjectRecord> {
  const { objects, defaults } = parts.buckets.get(call.bucket);
  const { resource, content } = headOf(call);
  const attributes = { ...defaults, ...pickAttributes(resource) };
  const staged = await objects.stage(content);
  try {
    checkHashes(expectedHashes(resource, call.headers), staged.hashes);
  } catch (error) {
    staged.discard();
    throw error;
  }
  return objects.write(call.object, staged, { attributes, wanted });
}

function headOf({ upload }: StoreCall): UploadHead {
  if (upload === undefined) throw new TypeError('an upload without its head: the service reads it first');
  return upload;
}

function beginResumable(parts: StoreParts, call: StoreCall, wanted: Preconditions): StoreAnswer {
  const id = beginUpload(parts, call, wanted);
  const path = `/upload/storage/v1/b/${encodeURIComponent(call.bucket)}/o?uploadType=resumable`;
  const location = `${call.origin}${path}&name=${encodeURIComponent(call.object)}&upload_id=${id}`;
  return empty(200, { location, 'x-guploader-uploadid': id });
}

/** @returns the id of the session. */
export function beginUpload({ uploads }: StoreParts, call: StoreCall, wanted: Preconditions): string {
  const { resource } = headOf(call);
  pickAttributes(resource);
  const expected = expectedHashes(resource, call.headers);
  return uploads.begin({ bucket: call.bucket, name: call.object, resource, wanted, expected });
}

export function resumeUpload({ uploads }: StoreParts, call: StoreCall): Promise<ResumableAnswer> {
  const range = parseContentRange(call.headers['content-range']);
  return uploads.put(call.query.get('upload_id') ?? '', range, call.body.stream(), expectedHashes({}, call.headers));
}

/**
 * Answers 308. Without a Range header the client starts from 0. The Go client asks for 200 instead, because 308 means a redirect
 * elsewhere (google.golang.org/api/internal/gensupport, 0.280).
 */
export function askForMore(
  { headers }: StoreCall,
  { received }: ResumableAnswer & { readonly kind: 'more' },
): StoreAnswer {
  const isOverridden = headers['x-guploader-no-308'] === 'yes';
  const range = received === 0 ? {} : { range: `bytes=0-${received - 1}` };
  const override = isOverridden ? { 'x-http-status-code-override': '308' } : {};
  const status = isOverridden ? 200 : 308;
  return empty(status, { ...range, ...override });
}
