import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { pipeline } from 'node:stream';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { ObjectRecord } from './object-record.js';
import { etagOf } from './object-record.js';
import type { BucketObjects } from './objects.js';
import { storeErrors } from './store-error.js';

export interface Media {
  readonly status: 200 | 206;
  readonly headers: OutgoingHttpHeaders;
  readonly content: Readable | Buffer;
}

/** Content up to this many bytes is read whole: a stream would cost more. */
const SMALL_BYTES = 64 * 1024;

/**
 * An object's bytes for `alt=media`. A Range header selects a part. Content that is stored with gzip is unpacked, without ranges,
 * if the reader does not accept gzip (cloud.google.com/storage/docs/transcoding, 2026-11). Throws StoreError 404 and 416.
 * @param isHead no bytes are wanted
 */
export async function mediaOf(
  objects: BucketObjects,
  object: ObjectRecord,
  headers: IncomingHttpHeaders,
  isHead = false,
): Promise<Media> {
  const size = Number(object.size);
  if (isTranscoded(object, headers)) return unpacked(object, await readable(objects, object, isHead));
  const part = headers.range === undefined ? undefined : parseRange(headers.range, size);
  const encoding = object.contentEncoding === undefined ? {} : { 'content-encoding': object.contentEncoding };
  const { start, end } = part ?? { start: 0, end: size - 1 };
  const answered = { ...mediaHeaders(object), ...encoding, 'content-length': end - start + 1 };
  const content = await readable(objects, object, isHead, { start, end });
  if (part === undefined) return { status: 200, headers: answered, content };
  return { status: 206, headers: { ...answered, 'content-range': `bytes ${start}-${end}/${size}` }, content };
}

async function readable(
  objects: BucketObjects,
  object: ObjectRecord,
  isHead: boolean,
  part = { start: 0, end: Number(object.size) - 1 },
): Promise<Readable | Buffer> {
  const file = await objects.open(object);
  const length = part.end - part.start + 1;
  if (!isHead && length > SMALL_BYTES) return file.createReadStream(part);
  try {
    const content = Buffer.alloc(isHead ? 0 : length);
    if (content.length > 0) await file.read(content, 0, content.length, part.start);
    return content;
  } finally {
    await file.close();
  }
}

function mediaHeaders(object: ObjectRecord): OutgoingHttpHeaders {
  const md5 = object.md5Hash === undefined ? [] : [`md5=${object.md5Hash}`];
  return {
    'content-type': object.contentType ?? 'application/octet-stream',
    ...(object.cacheControl !== undefined && { 'cache-control': object.cacheControl }),
    ...(object.contentDisposition !== undefined && { 'content-disposition': object.contentDisposition }),
    ...(object.contentLanguage !== undefined && { 'content-language': object.contentLanguage }),
    'accept-ranges': 'bytes',
    etag: etagOf(object),
    'last-modified': new Date(object.updated).toUTCString(),
    'x-goog-generation': object.generation,
    'x-goog-metageneration': object.metageneration,
    'x-goog-hash': [`crc32c=${object.crc32c}`, ...md5].join(','),
    'x-goog-stored-content-length': object.size,
    'x-goog-stored-content-encoding': object.contentEncoding ?? 'identity',
    'x-goog-storage-class': object.storageClass ?? 'STANDARD',
  };
}

/** Custom metadata, which only the XML API answers as headers. Entries that no header can carry are left out. */
export function metadataHeaders(object: ObjectRecord): OutgoingHttpHeaders {
  const entries = Object.entries(object.metadata ?? {}).filter(
    ([key, value]) => /^[\w.-]+$/.test(key) && /^[\x20-\x7e]*$/.test(value),
  );
  return Object.fromEntries(entries.map(([key, value]) => [`x-goog-meta-${key}`, value]));
}

function isTranscoded(object: ObjectRecord, headers: IncomingHttpHeaders): boolean {
  const takesGzip = /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''));
  return object.contentEncoding === 'gzip' && !takesGzip && !/no-transform/.test(object.cacheControl ?? '');
}

/** Unpacks stored gzip. Content that is not gzip breaks off, as at a proxy that unpacks. */
function unpacked(object: ObjectRecord, packed: Readable | Buffer): Media {
  const headers = { ...mediaHeaders(object), warning: '214 UploadServer gunzipped', 'accept-ranges': 'none' };
  if (Buffer.isBuffer(packed) && packed.length === 0) return { status: 200, headers, content: packed };
  const gunzip = createGunzip();
  // The stream's reader gets the error too. Without a listener here an earlier error would end the process.
  gunzip.on('error', () => undefined);
  if (Buffer.isBuffer(packed)) gunzip.end(packed);
  else pipeline(packed, gunzip, () => undefined);
  return { status: 200, headers, content: gunzip };
}

/** First and last byte of `bytes=a-b`, `bytes=a-` or `bytes=-n`; undefined for a form that servers ignore. */
function parseRange(header: string, size: number): { readonly start: number; readonly end: number } | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header);
  if (match === null || (match[1] === '' && match[2] === '')) return undefined;
  const [first, last] = [match[1] ?? '', match[2] ?? ''];
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && first !== '' && Number(last) < Number(first)) return undefined;
  if (start >= size || end < start) throw storeErrors.badRange(header);
  return { start, end };
}
