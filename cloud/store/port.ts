import type { FileSource } from '../../domain/local-files.js';
import { placeOfObject } from '../../domain/store-place.js';

/** Page limit of one search, which must end however many objects there are. */
export const MOST_PAGES = 20;

/**
 * Page limit of one listing without `most`: hosts write into the bucket too, and a listing must end. 2,000,000 objects are the
 * output of four hosts over two months.
 */
export const MOST_LIST_PAGES = 2_000;

export interface StoredObject {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** Identifies this content. In an S3 store, the same content written again has the same generation. */
  readonly generation: string;
  readonly updatedAt: number;
}

/** The generation a write expects: `absent` (must not exist) or the one that was read. */
export type Expected = 'absent' | { readonly generation: string };
export type Written = { readonly kind: 'written'; readonly generation: string } | { readonly kind: 'conflict' };

/**
 * One bucket of an object store, or a folder. Every write carries a precondition. Rejects with `StoreUnavailable`
 * (repeat) or `StoreRefused` (credentials, no such bucket).
 */
export interface StorePort {
  /** The bare name of a Google bucket, else a URL: `storeText` of domain/store-place.ts. */
  readonly bucket: string;
  /** Called once, at the start. @throws StoreRefused if the store does not exist, or cannot tell two writers apart */
  probe(): Promise<void>;
  /**
   * `conflict`: the object is not at the expected generation, and nothing was written. A call whose first answer was lost is
   * repeated internally and then finds its own object. So a single writer should compare contents before it assumes another
   * writer.
   */
  write(name: string, content: Uint8Array | string, expected: Expected, contentType?: string): Promise<Written>;
  /**
   * Makes the object from a source of any size unless the name exists, with one piece in memory at a time. It looks for the
   * object first, and sends nothing if it exists. After a cut it continues at the same place. If the store takes no more bytes,
   * it gives up within some minutes.
   * @throws SourceChanged: then no object was made
   */
  upload(name: string, source: FileSource): Promise<'uploaded' | 'exists'>;
  /**
   * Returns the address of an upload of `size` bytes. The upload creates the object only if no object has the name. It uses
   * Cloud Storage's resumable protocol, is valid for a week, and needs no login.
   * @throws StoreRefused if the store has no `uploadUrl`
   */
  uploadSession(name: string, size: number): Promise<string>;
  /** Overwrites the object, by reading its generation first; for objects with one writer. */
  replace(name: string, content: Uint8Array | string, contentType?: string): Promise<void>;
  /**
   * Undefined if there is no such object. `range` in bytes, `end` not included. Bytes beyond the object's end are left out, so
   * the answer may be shorter or empty.
   */
  read(name: string, range?: { readonly start: number; readonly end?: number }): Promise<Buffer | undefined>;
  stat(name: string): Promise<StoredObject | undefined>;
  /**
   * Lists all objects with the prefix, in byte order of their names, over all pages. `startOffset`: names from this one on.
   * `most`: limit of the number of objects; up to 1,000 take one request.
   * @throws StoreRefused if the listing has no end: `endlessListing`
   */
  list(prefix: string, startOffset?: string, most?: number): Promise<readonly StoredObject[]>;
  /**
   * Returns the first `most` names that a glob of Cloud Storage matches (`*` stops at a slash, `**` does not, `{a,b}`), in byte
   * order. The store searches all names with the glob's fixed beginning, in pages that may be empty. After `MOST_PAGES` pages
   * `isWhole` is false, and there may be more.
   */
  find(glob: string, most: number): Promise<{ readonly names: readonly string[]; readonly isWhole: boolean }>;
  /** Succeeds also if the object does not exist. */
  remove(name: string): Promise<void>;
  /**
   * The URL for reading the object with the token of an account that may read it; over `http:` without a token. Sends no request.
   * This and the next two are undefined in a store that takes no Google tokens: hosts then read and write it through their
   * worker.
   */
  downloadUrl(name: string): string | undefined;
  /**
   * The URL at which a POST of the bytes makes or replaces the object, with the token of an account that may write it; over
   * `http:` without.
   * @param expected `absent`: it only makes the object, and is answered with 412 if it exists
   */
  uploadUrl(name: string, expected?: 'absent'): string | undefined;
  /** The URL at which a PUT makes or replaces the object by the XML API, which compares `Content-MD5`; else like `uploadUrl`. */
  objectUrl(name: string): string | undefined;
  /**
   * A URL that reads the object without a login for `forMs`, a week at most. Does not check that the object exists. Undefined if
   * the credentials cannot sign (a person's login), for Google's store over `http:` (no credentials), and for a folder.
   */
  signedUrl(name: string, forMs: number): Promise<string | undefined>;
}

/** The reading methods, for commands that start often and only read. */
export type StoreReader = Pick<StorePort, 'bucket' | 'read' | 'stat' | 'list'>;

/** Longest exit record or sign of life that is read; further bytes are ignored. */
export const MOST_RECORD_BYTES = 4096;
/** Largest object that is read whole and that a host may have written. */
export const MOST_WHOLE_BYTES = 64 * 1024 * 1024;

/**
 * Reads the whole of an object that a host may have written: hosts write into the bucket of their jobs.
 * @throws ObjectTooLong before more than `most` bytes of it are in memory
 */
export async function readAtMost(
  store: Pick<StoreReader, 'read'>,
  name: string,
  most = MOST_WHOLE_BYTES,
): Promise<Buffer | undefined> {
  const content = await store.read(name, { start: 0, end: most + 1 });
  if (content === undefined || content.length <= most) return content;
  throw new ObjectTooLong(`${name} is longer than ${most} bytes, which no jobctl writes`);
}

/** Objects of one request, in all stores. */
const PAGE = 1_000;

/** All objects with a prefix, a request at a time: only one page of them is in memory, regardless of their number. */
export async function* pagesOf(
  store: Pick<StoreReader, 'list'>,
  prefix: string,
): AsyncGenerator<readonly StoredObject[], void> {
  for (let from = prefix; ;) {
    const page = await store.list(prefix, from, PAGE);
    yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    // The least name after it.
    from = `${last.name}\u0000`;
  }
}

/** The place of an object, for people. */
export const objectPlace = ({ bucket }: Pick<StoreReader, 'bucket'>, name: string): string =>
  placeOfObject(bucket, name);

export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused';
}
/** The bucket itself does not exist. The message has the command that makes it. */
export class BucketMissing extends StoreRefused {}
/** @param place the prefix's place, for the message */
export const endlessListing = (place: string): StoreRefused =>
  new StoreRefused(
    `store: list ${place}*: there is no end after ${MOST_LIST_PAGES} pages, more than any job writes: hosts may have put them there; ` +
      'look at the prefix, and remove what is not wanted',
  );
export class ObjectTooLong extends Error {
  override readonly name = 'ObjectTooLong';
}
/** Returns whether the store refused or was unavailable. */
export const isOfStore = (error: unknown): error is StoreUnavailable | StoreRefused =>
  error instanceof StoreUnavailable || error instanceof StoreRefused;

/** The bytes read for an upload differ from the source's description. The message continues a sentence about the source. */
export class SourceChanged extends Error {
  override readonly name = 'SourceChanged';

  constructor(how: string) {
    super(`changed while it was uploaded: ${how}`);
  }
}

/** The longest prefix of a glob without special characters. */
export const literalPrefix = (glob: string): string => /^[^*?[{\\]*/.exec(glob)?.[0] ?? '';

/**
 * Returns a test of names by a glob of Cloud Storage: `*` and `?` stop at a slash, `**` does not, `{a,b}` is either, without
 * nested braces.
 * @throws RangeError for a glob with `[` or `\`, which no caller has, or with an unclosed brace
 */
export function globTest(glob: string): (name: string) => boolean {
  const parts = glob.match(/\*\*|\*|\?|\{[^{}]*\}|[^*?{}[\]\\]+|[\s\S]/g) ?? [];
  const pattern = new RegExp(`^${parts.map(patternOf).join('')}$`, 'su');
  return (name) => pattern.test(name);
}

function patternOf(part: string): string {
  if (part === '**') return '.*';
  if (part === '*') return '[^/]*';
  if (part === '?') return '[^/]';
  if (/^[[\]{}\\]$/.test(part)) throw new RangeError(`glob: '${part}' is not understood here`);
  if (!part.startsWith('{')) return literal(part);
  return `(?:${part.slice(1, -1).split(',').map(literal).join('|')})`;
}

const literal = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

/** Orders names as a store does: by their bytes in UTF-8, which is not the order of JavaScript's strings. */
export const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** Limit of attempts of `replace` if others write in between. */
const REPLACE_TRIES = 5;

/** Implements `StorePort.replace` by the other methods. @param place the object's place, for the error */
export async function replaceBy(
  store: Pick<StorePort, 'stat'>,
  name: string,
  write: (expected: Expected) => Promise<Written>,
  place: string,
): Promise<void> {
  for (let tries = 0; tries < REPLACE_TRIES; tries++) {
    const found = await store.stat(name);
    if ((await write(found ? { generation: found.generation } : 'absent')).kind === 'written') return;
  }
  const why = `it was written by others ${REPLACE_TRIES} times meanwhile: it should have one writer`;
  throw new StoreUnavailable(`store: replace ${place}: ${why}`);
}
