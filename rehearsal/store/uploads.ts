import { randomBytes } from 'node:crypto';
import { crc32c, md5 } from './crc32c.js';
import type { BucketObjects, ObjectAttributes, StoredObject } from './objects.js';
import { pickAttributes } from './objects.js';
import type { Preconditions } from './preconditions.js';
import { checkPreconditions } from './preconditions.js';
import { StoreError, storeErrors } from './store-error.js';

/** One object to be written, as an upload request describes it. */
export interface UploadRequest {
  readonly objects: BucketObjects;
  readonly name: string;
  readonly attributes: ObjectAttributes;
  readonly wanted: Preconditions;
}

/** The two parts of a multipart/related upload: the resource as JSON, and the bytes. */
export function splitMultipart(
  body: Buffer,
  contentType: string,
): { readonly resource: Record<string, unknown>; readonly content: Buffer } {
  const boundary = /boundary="?([^";]+)"?/.exec(contentType)?.[1];
  if (boundary === undefined) throw storeErrors.invalid(`content-type '${contentType}' has no boundary`);
  const parts = partsOf(body, Buffer.from(`--${boundary}`));
  const [first, second] = parts;
  if (first === undefined || second === undefined)
    throw storeErrors.invalid(`multipart upload of ${parts.length} parts, wanted 2`);
  const resource = JSON.parse(first.content.toString() || '{}') as Record<string, unknown>;
  return { resource: { ...contentTypeOf(second.headers), ...resource }, content: second.content };
}

function partsOf(body: Buffer, delimiter: Buffer): { readonly headers: string; readonly content: Buffer }[] {
  const parts = [];
  let start = body.indexOf(delimiter);
  for (let end = 0; start >= 0; start = end) {
    end = body.indexOf(Buffer.concat([Buffer.from('\r\n'), delimiter]), start + delimiter.length);
    if (end < 0) break;
    const part = body.subarray(start + delimiter.length + 2, end);
    const blank = part.indexOf('\r\n\r\n');
    // A part without headers starts with the blank line itself.
    const headers = part.subarray(0, Math.max(blank, 0)).toString();
    parts.push({ headers, content: part.subarray(blank < 0 ? 2 : blank + 4) });
    end += 2;
  }
  return parts;
}

function contentTypeOf(headers: string): { readonly contentType?: string } {
  const contentType = /^content-type:\s*(.+)$/im.exec(headers)?.[1]?.trim();
  return contentType === undefined ? {} : { contentType };
}

/** Writes an object after checking it against the hashes that its uploader gave. */
export async function writeUpload(
  upload: UploadRequest,
  resource: Record<string, unknown>,
  content: Buffer,
): Promise<StoredObject> {
  const expected = [
    ['crc32c', resource['crc32c'], crc32c],
    ['md5Hash', resource['md5Hash'], md5],
  ] as const;
  for (const [field, value, hash] of expected) {
    if (typeof value === 'string' && value !== hash(content)) {
      throw storeErrors.invalid(`Provided ${field} "${value}" doesn't match calculated ${field} "${hash(content)}".`);
    }
  }
  return upload.objects.write(upload.name, content, upload.attributes, upload.wanted);
}

interface Session extends UploadRequest {
  readonly resource: Record<string, unknown>;
  received: Buffer[];
  size: number;
}

export type ResumableAnswer =
  | { readonly kind: 'done'; readonly object: StoredObject }
  /** 308: so many bytes are here, send the rest. */
  | { readonly kind: 'more'; readonly received: number };

/**
 * Resumable uploads that have begun. They live in memory: after a restart of the rehearsal their sessions are gone
 * (410), and clients begin anew, as they do when a real session expires.
 */
export class ResumableUploads {
  readonly #sessions = new Map<string, Session>();

  /** @returns the session's id. Throws StoreError 412 if the object is already not as wanted. */
  begin(upload: Omit<UploadRequest, 'attributes'>, resource: Record<string, unknown>): string {
    checkPreconditions(upload.objects.find(upload.name), upload.wanted);
    const id = randomBytes(16).toString('hex');
    this.#sessions.set(id, { ...upload, attributes: pickAttributes(resource), resource, received: [], size: 0 });
    return id;
  }

  /** Takes a chunk; `range` is its Content-Range header (`bytes 0-*\/*`, `a-b/*`, `a-b/total`, or `*\/total` to ask). */
  async put(id: string, body: Buffer, range: string | undefined): Promise<ResumableAnswer> {
    const session = this.#sessions.get(id);
    if (session === undefined) throw new StoreError(410, 'gone', `upload session ${id} is not known`);
    const { start, end, total } = parseContentRange(range ?? 'bytes 0-*/*');
    if (start === undefined) {
      const isWhole = total !== undefined && total === session.size;
      return isWhole ? this.#finish(id, session) : { kind: 'more', received: session.size };
    }
    if (start > session.size) return { kind: 'more', received: session.size };
    // A chunk may be sent again from an earlier place: what is here already is passed over.
    const fresh = body.subarray(session.size - start);
    session.received.push(fresh);
    session.size += fresh.byteLength;
    // `bytes a-*/*` streams to its end; `a-b/*` says that more comes.
    const isLast = end === undefined || (total !== undefined && session.size >= total);
    return isLast ? this.#finish(id, session) : { kind: 'more', received: session.size };
  }

  cancel(id: string): void {
    this.#sessions.delete(id);
  }

  async #finish(id: string, session: Session): Promise<ResumableAnswer> {
    this.#sessions.delete(id);
    return { kind: 'done', object: await writeUpload(session, session.resource, Buffer.concat(session.received)) };
  }
}

function parseContentRange(header: string): {
  readonly start?: number;
  readonly end?: number;
  readonly total?: number;
} {
  const match = /^bytes (?:\*|(\d+)-(\d+|\*))\/(\d+|\*)$/.exec(header);
  if (match === null) throw storeErrors.invalid(`content-range '${header}' is not valid`);
  const number = (text: string | undefined): number | undefined =>
    text === undefined || text === '*' ? undefined : Number(text);
  const fields = { start: number(match[1]), end: number(match[2]), total: number(match[3]) };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
