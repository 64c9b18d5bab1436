import type { OutgoingHttpHeaders } from 'node:http';
import type { StoredObject } from './objects.js';
import { storeErrors } from './store-error.js';

export interface Media {
  readonly status: 200 | 206;
  readonly headers: OutgoingHttpHeaders;
  readonly content: Buffer;
}

/** An object's bytes as `alt=media` answers them, a part if a Range header asks for one. Throws StoreError 416. */
export function mediaOf(object: StoredObject, content: Buffer, range: string | undefined): Media {
  const headers: OutgoingHttpHeaders = {
    'content-type': object.contentType ?? 'application/octet-stream',
    ...(object.contentEncoding === undefined ? {} : { 'content-encoding': object.contentEncoding }),
    'accept-ranges': 'bytes',
    etag: object.etag,
    'last-modified': new Date(object.updated).toUTCString(),
    'x-goog-generation': object.generation,
    'x-goog-metageneration': object.metageneration,
    'x-goog-hash': [`crc32c=${object.crc32c}`, ...(object.md5Hash === undefined ? [] : [`md5=${object.md5Hash}`])].join(
      ',',
    ),
    'x-goog-stored-content-length': object.size,
    'x-goog-stored-content-encoding': object.contentEncoding ?? 'identity',
    'x-goog-storage-class': object.storageClass,
  };
  const part = range === undefined ? undefined : parseRange(range, content.byteLength);
  if (part === undefined) return { status: 200, headers, content };
  const contentRange = `bytes ${part.start}-${part.end}/${content.byteLength}`;
  const cut = content.subarray(part.start, part.end + 1);
  return { status: 206, headers: { ...headers, 'content-range': contentRange }, content: cut };
}

/** First and last byte of `bytes=a-b`, `bytes=a-` or `bytes=-n`; undefined for a form that servers ignore. */
function parseRange(header: string, size: number): { readonly start: number; readonly end: number } | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header);
  if (match === null || (match[1] === '' && match[2] === '')) return undefined;
  const [first, last] = [match[1] ?? '', match[2] ?? ''];
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (start >= size || end < start) throw storeErrors.badRange(header);
  return { start, end };
}
