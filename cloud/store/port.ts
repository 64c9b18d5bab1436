import type { FileSource } from '../../domain/file-source.js';
import { placeOfObject } from '../../domain/store-place.js';

/** Of one search: it must end, however many objects there are. */
export const MOST_PAGES = 20;

/**
 * Of one listing without `most`: hosts write into the bucket too, and whoever lists must come to an end. 2,000,000 objects: the output
 * of four hosts over two months.
 */
export const MOST_LIST_PAGES = 2_000;

export interface StoredObject {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** Of this content. In an S3 store the same content has the same one again. */
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
  /** The bare name of a bucket of Google's, else a URL: `storeText` of domain/store-place.ts. */
  readonly bucket: string;
  /** @throws StoreRefused where it cannot tell two writers apart, or is not there: whoever decides by it asks once, at the start */
  probe(): Promise<void>;
  /**
   * `conflict`: the object is not at the expected generation; nothing was written. A call whose first answer was lost is
   * repeated inside and then finds its own work: who may be the only writer compares before believing in another.
   */
  write(name: string, content: Uint8Array | string, expected: Expected, contentType?: string): Promise<Written>;
  /**
   * Makes the object from a source of any size, a piece of it in memory at a time, where there is none of that name: it is looked
   * for first, and then nothing is sent. After a cut it goes on where it was. A store that takes no more bytes is given up within
   * some minutes. @throws SourceChanged: then no object was made
   */
  upload(name: string, source: FileSource): Promise<'uploaded' | 'exists'>;
  /**
   * The address of an upload that makes the object from `size` bytes, where there is none of that name: by Cloud Storage's resumable
   * protocol, for a week, and for whoever has the address, without a login. @throws StoreRefused where there is no `uploadUrl`
   */
  uploadSession(name: string, size: number): Promise<string>;
  /** Writes whatever is there now, by reading its generation first; for objects with one writer. */
  replace(name: string, content: Uint8Array | string, contentType?: string): Promise<void>;
  /**
   * Undefined if there is no such object. `range` in bytes, `end` not included; what lies behind the object's end is left
   * out, so the answer may be shorter or empty.
   */
  read(name: string, range?: { readonly start: number; readonly end?: number }): Promise<Buffer | undefined>;
  stat(name: string): Promise<StoredObject | undefined>;
  /**
   * All objects with the prefix, in byte order of their names; pages are joined. `startOffset`: names from this one on. `most`:
   * the first so many of them, which is one request for 1,000 or less. @throws StoreRefused where they have no end: `endlessListing`
   */
  list(prefix: string, startOffset?: string, most?: number): Promise<readonly StoredObject[]>;
  /**
   * Names that a glob of Cloud Storage matches (`*` stops at a slash, `**` does not, `{a,b}`), in byte order, the first `most`. The
   * store looks through all names that begin as the glob does, and gives them in pages that may be empty: after `MOST_PAGES` of
   * them `isWhole` is false, and there may be more.
   */
  find(glob: string, most: number): Promise<{ readonly names: readonly string[]; readonly isWhole: boolean }>;
  /** Also if it is not there. */
  remove(name: string): Promise<void>;
  /**
   * Where the object's bytes are had with a token of somebody who may read it; over `http:` without. Nothing is looked up. Undefined,
   * as the next two, in a store that no token of Google's opens: what hosts read and write there passes through their worker.
   */
  downloadUrl(name: string): string | undefined;
  /**
   * Where a POST of its bytes makes or replaces the object, with a token of somebody who may; over `http:` without.
   * @param expected `absent`: it only makes it, and is answered with 412 if it is there
   */
  uploadUrl(name: string, expected?: 'absent'): string | undefined;
  /** Where a PUT of its bytes makes or replaces the object, by the XML API, which compares `Content-MD5`; else as `uploadUrl`. */
  objectUrl(name: string): string | undefined;
  /**
   * A URL that reads the object without a login for `forMs`, a week at most. Undefined where these credentials cannot sign,
   * such as a person's login, over Google's `http:`, where none are used, and of a folder. Whether there is such an object is not looked up.
   */
  signedUrl(name: string, forMs: number): Promise<string | undefined>;
}

/** The reading half, for those who start often and only look. */
export type StoreReader = Pick<StorePort, 'bucket' | 'read' | 'stat' | 'list'>;

/** Bytes of an exit record or a sign of life: more of one is not read. */
export const MOST_RECORD_BYTES = 4096;
/** Bytes of the largest object that is read whole and that a host may have written. */
export const MOST_WHOLE_BYTES = 64 * 1024 * 1024;

/**
 * The whole of an object that others than jobctl may have written: hosts write into the bucket of their jobs.
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

/** Where an object is, for people. */
export const objectPlace = ({ bucket }: Pick<StoreReader, 'bucket'>, name: string): string =>
  placeOfObject(bucket, name);

export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused';
}
/** @param place of the prefix */
export const endlessListing = (place: string): StoreRefused =>
  new StoreRefused(
    `store: list ${place}*: there is no end after ${MOST_LIST_PAGES} pages, more than any job writes: hosts may have put them there; ` +
      'look at the prefix, and remove what is not wanted',
  );
export class ObjectTooLong extends Error {
  override readonly name = 'ObjectTooLong';
}
/** Not to be had from the store now, whyever. */
export const isOfStore = (error: unknown): error is StoreUnavailable | StoreRefused =>
  error instanceof StoreUnavailable || error instanceof StoreRefused;

/** What was read for an upload is not what its source said: its message continues a sentence that begins with the source. */
export class SourceChanged extends Error {
  override readonly name = 'SourceChanged';

  constructor(how: string) {
    super(`changed while it was uploaded: ${how}`);
  }
}
