import type { Bucket, File, GetFilesResponse } from '@google-cloud/storage';
import type { FileSource } from '../../domain/local-files.js';
import { checkedChunks } from './checked-chunks.js';
import {
  endlessListing,
  type Expected,
  MOST_LIST_PAGES,
  MOST_PAGES,
  SourceChanged,
  StoreRefused,
  type StoredObject,
  type StorePort,
  type Written,
  replaceBy,
} from './port.js';
import { beginUpload, type SendUpload, uploadInChunks, uploadSender } from './resumable-upload.js';
import { httpStatusOf, isLoginRefused, isMissingBucket, storeError } from './store-error.js';

export interface StoreOptions {
  /** Absent: Google Cloud Storage with the application default credentials. Over `http:` no credentials are sent. */
  readonly endpoint?: string;
  readonly bucket: string;
  /** Google project; needed only to create the bucket. */
  readonly projectId?: string;
}

/** Contents up to this size are sent in one request; a resumable upload needs two. */
const SINGLE_BYTES = 1024 * 1024;
const GOOGLE = 'https://storage.googleapis.com';

/**
 * Limit of one call with its two repeats; after that the caller decides (activities are retried). The library's own defaults are
 * ten minutes in total and no timeout per request.
 */
const TOTAL_TIMEOUT_S = 60;
const REQUEST_TIMEOUT_MS = 30_000;

/** One bucket of Cloud Storage through Google's client. The client is heavy, so it is loaded at the first call. */
export function createStore(options: StoreOptions): StorePort {
  return new GcsStore(options);
}

/** Makes the bucket if it does not exist. Repeating is safe. */
export async function ensureBucket(options: StoreOptions): Promise<'created' | 'exists'> {
  const bucket = await openBucket(options);
  const what = `bucket ${options.bucket}`;
  if (await bucketExists(bucket, what)) return 'exists';
  try {
    // Uniform access: rights are given on the bucket and never on single objects.
    await bucket.create({ iamConfiguration: { uniformBucketLevelAccess: { enabled: true } } } as object);
    return 'created';
  } catch (error) {
    // 409: it was made meanwhile, or by this call if its answer was lost. The look refuses a bucket of another owner.
    if (httpStatusOf(error) === 409 && (await bucketExists(bucket, what))) return 'exists';
    throw storeError(error, `create ${what}`);
  }
}

async function bucketExists(bucket: Bucket, what: string): Promise<boolean> {
  try {
    await bucket.getMetadata();
    return true;
  } catch (error) {
    if (httpStatusOf(error) === 404) return false;
    throw storeError(error, `look for ${what}`);
  }
}

async function openBucket(options: StoreOptions): Promise<Bucket> {
  const { IdempotencyStrategy, Storage } = await import('@google-cloud/storage');
  const storage = new Storage({
    ...(options.endpoint && {
      apiEndpoint: options.endpoint,
      useAuthWithCustomEndpoint: options.endpoint.startsWith('https:'),
    }),
    ...(options.projectId && { projectId: options.projectId }),
    timeout: REQUEST_TIMEOUT_MS,
    // RetryAlways is right here: every write has a precondition, and a repeated removal is harmless. Under the default, one call
    // without a precondition switches retries off for the whole client (7.22; docs/facts.md, "Cloud Storage", pitfall b).
    retryOptions: {
      idempotencyStrategy: IdempotencyStrategy.RetryAlways,
      maxRetries: 2,
      totalTimeout: TOTAL_TIMEOUT_S,
    },
  });
  return storage.bucket(options.bucket);
}

class GcsStore implements StorePort {
  readonly bucket: string;
  readonly #options: StoreOptions;
  #opened: Promise<Bucket> | undefined;

  constructor(options: StoreOptions) {
    this.bucket = options.bucket;
    this.#options = options;
  }

  /** Checks only that the bucket exists and can be listed. Preconditions need no check, because Cloud Storage honours them. */
  async probe(): Promise<void> {
    await this.list('system/', undefined, 1);
  }

  async write(name: string, content: Uint8Array | string, expected: Expected, contentType?: string): Promise<Written> {
    const ifGenerationMatch = expected === 'absent' ? 0 : expected.generation;
    const file = await this.#file(name);
    try {
      // Not resumable: a resumable upload is two requests, however small the object.
      await file.save(content, {
        resumable: false,
        preconditionOpts: { ifGenerationMatch },
        ...(contentType && { contentType }),
      });
      return { kind: 'written', generation: String(file.metadata.generation) };
    } catch (error) {
      if (httpStatusOf(error) === 412) return { kind: 'conflict' };
      return this.#fail(error, `write ${this.#place(name)}`);
    }
  }

  async upload(name: string, source: FileSource): Promise<'uploaded' | 'exists'> {
    if ((await this.stat(name)) !== undefined) return 'exists';
    if (source.size <= SINGLE_BYTES) {
      let content: Uint8Array = new Uint8Array();
      for await (const { bytes } of checkedChunks(source, SINGLE_BYTES)) content = bytes;
      return (await this.write(name, content, 'absent')).kind === 'written' ? 'uploaded' : 'exists';
    }
    try {
      return await uploadInChunks({ url: this.#uploadUrl(name), source, send: await this.#uploadSender() });
    } catch (error) {
      if (error instanceof SourceChanged) throw error;
      return this.#fail(error, `upload ${this.#place(name)}`);
    }
  }

  async uploadSession(name: string, size: number): Promise<string> {
    try {
      return await beginUpload({ url: this.#uploadUrl(name), size, send: await this.#uploadSender() });
    } catch (error) {
      return this.#fail(error, `begin an upload of ${this.#place(name)}`);
    }
  }

  async replace(name: string, content: Uint8Array | string, contentType?: string): Promise<void> {
    await replaceBy(this, name, (expected) => this.write(name, content, expected, contentType), this.#place(name));
  }

  async read(name: string, range?: { readonly start: number; readonly end?: number }): Promise<Buffer | undefined> {
    if (range?.end !== undefined && range.end <= range.start) return Buffer.alloc(0);
    const file = await this.#file(name);
    // HTTP names the last byte; our `end` is not included.
    const bytes = range && { start: range.start, ...(range.end !== undefined && { end: range.end - 1 }) };
    try {
      const [content] = await file.download(bytes);
      return content;
    } catch (error) {
      if (httpStatusOf(error) === 416) return Buffer.alloc(0);
      return this.#absentOr(error, `read ${this.#place(name)}`);
    }
  }

  async stat(name: string): Promise<StoredObject | undefined> {
    const file = await this.#file(name);
    try {
      await file.getMetadata();
      return storedObject(name, file.metadata);
    } catch (error) {
      return this.#absentOr(error, `look at ${this.#place(name)}`);
    }
  }

  async list(prefix: string, startOffset?: string, most = Infinity): Promise<readonly StoredObject[]> {
    const bucket = await this.#open();
    const found: StoredObject[] = [];
    const fields = 'items(name,size,generation,updated),nextPageToken';
    let page: object | null = {
      prefix,
      fields,
      autoPaginate: false,
      ...(startOffset !== undefined && { startOffset }),
    };
    try {
      for (let pages = 0; page !== null && found.length < most; pages++) {
        if (pages === MOST_LIST_PAGES) throw endlessListing(this.#place(prefix));
        const limit: object = most === Infinity ? {} : { maxResults: most - found.length };
        const [files, next]: GetFilesResponse = await bucket.getFiles({ ...page, ...limit });
        // With `fields` the client returns what the API sent instead of files, whatever its types say (7.22, bucket.js getFiles).
        for (const object of files as unknown as ApiObject[]) found.push(storedObject(object.name, object));
        page = next;
      }
      return found;
    } catch (error) {
      if (error instanceof StoreRefused) throw error;
      return this.#fail(error, `list ${this.#place(prefix)}*`);
    }
  }

  async find(glob: string, most: number): Promise<{ readonly names: readonly string[]; readonly isWhole: boolean }> {
    const bucket = await this.#open();
    const names: string[] = [];
    const [prefix = ''] = /^[^*?[{]*/.exec(glob) ?? [];
    const fields = 'items(name),nextPageToken';
    let page: object | null = { prefix, matchGlob: glob, fields, maxResults: most, autoPaginate: false };
    try {
      for (let pages = 0; page !== null && names.length < most && pages < MOST_PAGES; pages++) {
        const [files, next]: GetFilesResponse = await bucket.getFiles(page);
        for (const one of files.map(({ name }) => name)) names.push(one);
        page = next;
      }
      return { names: names.slice(0, most), isWhole: page === null && names.length <= most };
    } catch (error) {
      return this.#fail(error, `list ${this.#place(glob)}`);
    }
  }

  async remove(name: string): Promise<void> {
    const file = await this.#file(name);
    try {
      await file.delete();
    } catch (error) {
      this.#absentOr(error, `remove ${this.#place(name)}`);
    }
  }

  #uploadUrl(name: string): string {
    const query = new URLSearchParams({ uploadType: 'resumable', name, ifGenerationMatch: '0' });
    return `${this.#endpoint()}/upload/storage/v1/b/${encodeURIComponent(this.bucket)}/o?${query}`;
  }

  #endpoint(): string {
    return (this.#options.endpoint ?? GOOGLE).replace(/\/$/, '');
  }

  async #uploadSender(): Promise<SendUpload> {
    const { storage } = await this.#open();
    return uploadSender(this.#endpoint().startsWith('http:') ? undefined : storage.authClient);
  }

  downloadUrl(name: string): string {
    const path = `${encodeURIComponent(this.bucket)}/o/${encodeURIComponent(name)}`;
    return `${this.#endpoint()}/download/storage/v1/b/${path}?alt=media`;
  }

  uploadUrl(name: string, expected?: 'absent'): string {
    const once = expected === 'absent' ? '&ifGenerationMatch=0' : '';
    const query = `uploadType=media&name=${encodeURIComponent(name)}${once}`;
    return `${this.#endpoint()}/upload/storage/v1/b/${encodeURIComponent(this.bucket)}/o?${query}`;
  }

  objectUrl(name: string): string {
    const path = name.split('/').map(encodeURIComponent).join('/');
    return `${this.#endpoint()}/${encodeURIComponent(this.bucket)}/${path}`;
  }

  async signedUrl(name: string, forMs: number): Promise<string | undefined> {
    if (this.#options.endpoint?.startsWith('http:')) return undefined;
    const file = await this.#file(name);
    try {
      const [url] = await file.getSignedUrl({ version: 'v4', action: 'read', expires: Date.now() + forMs });
      return url;
    } catch (error) {
      // The auth library's text for credentials that cannot sign (google-auth-library 9.15, googleauth.js `sign`).
      if (error instanceof Error && error.message.includes('Cannot sign data without')) return undefined;
      return this.#fail(error, `sign a URL of ${this.#place(name)}`);
    }
  }

  /** `undefined` for a missing object. A missing bucket is an error: no object can be in it. */
  #absentOr(error: unknown, what: string): undefined {
    if (httpStatusOf(error) === 404 && !isMissingBucket(error)) return undefined;
    return this.#fail(error, what);
  }

  #fail(error: unknown, what: string): never {
    // The library reads a login once. A person may have logged in again, so the next call reads it anew.
    if (isLoginRefused(error)) this.#opened = undefined;
    throw storeError(error, what, this.#options);
  }

  #place(name: string): string {
    return `gs://${this.bucket}/${name}`;
  }

  async #file(name: string): Promise<File> {
    return (await this.#open()).file(name);
  }

  #open(): Promise<Bucket> {
    this.#opened ??= openBucket(this.#options);
    return this.#opened;
  }
}

type ApiObject = File['metadata'] & { readonly name: string };

function storedObject(name: string, { size, generation, updated }: File['metadata']): StoredObject {
  return { name, size: Number(size), generation: String(generation), updatedAt: Date.parse(String(updated)) };
}
