import { randomUUID } from 'node:crypto';
import type { FileSource } from '../../domain/local-files.js';
import {
  globTest,
  literalPrefix,
  compareBytes,
  endlessListing,
  type Expected,
  MOST_LIST_PAGES,
  MOST_PAGES,
  type StoredObject,
  type StorePort,
  StoreRefused,
  type Written,
  replaceBy,
} from './port.js';
import { checkedChunks } from './checked-chunks.js';
import { nameProblem, placeOfObject, storeText } from '../../domain/store-place.js';
import { s3Failure, s3Refusal, bareEtag, nameBefore, readS3Page, type S3Page } from './s3-answers.js';
import { type S3Answer, S3Requests, type S3Timing } from './s3-requests.js';
import { uploadInParts } from './s3-upload.js';

export interface S3Options {
  readonly bucket: string;
  /** Empty, or ends with a slash. */
  readonly prefix: string;
  /** Absent: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's endpoint, Amazon's own, in this order. */
  readonly endpoint?: string;
  readonly timing?: S3Timing;
}

/** Contents up to this size are sent in one request, which must be done in time even on a slow line. Parts have longer. */
const SINGLE_BYTES = 1024 * 1024;
/** The page size of S3. */
const PAGE = 1_000;
/** Time for which a bucket that was seen is assumed to exist when an object in it is missing. */
const BUCKET_MS = 60_000;
const WEEK_MS = 7 * 86_400_000;

/** Makes the bucket if it does not exist. Repeating is safe. */
export async function ensureS3Bucket({ bucket, endpoint }: S3Options): Promise<'created' | 'exists'> {
  const requests = new S3Requests(bucket, endpoint);
  const what = `make bucket s3://${bucket}`;
  const found = await requests.ask({ method: 'HEAD' }, what);
  if (found.status === 200) return 'exists';
  if (found.status !== 404) throw s3Failure(found, what);
  const made = await requests.once({ method: 'PUT', ...(await requests.bucketConstraint()) }, 30_000);
  const { code = '' } = s3Refusal(made);
  if (made.status === 200) return 'created';
  if (code === 'BucketAlreadyOwnedByYou') return 'exists';
  throw s3Failure(made, what);
}

/**
 * One bucket, or one prefix of it, of a store that speaks S3 and honours `If-None-Match: *` and `If-Match: ETAG`, as Amazon's
 * does since 2024-11 (docs/adr/0131). The generation of an object is its ETag: the same content has the same one again.
 */
export class S3Store implements StorePort {
  readonly bucket: string;
  readonly #prefix: string;
  readonly #requests: S3Requests;
  #bucketSeen = 0;
  #probed: Promise<void> | undefined;

  constructor({ bucket, prefix, endpoint, timing }: S3Options) {
    this.bucket = storeText({ kind: 's3', bucket, prefix });
    this.#prefix = prefix;
    this.#requests = new S3Requests(bucket, endpoint, timing);
  }

  probe(): Promise<void> {
    this.#probed ??= this.#probe().catch((error: unknown) => {
      this.#probed = undefined;
      throw error;
    });
    return this.#probed;
  }

  async write(name: string, content: Uint8Array | string, expected: Expected, contentType?: string): Promise<Written> {
    const condition = expected === 'absent' ? { 'if-none-match': '*' } : { 'if-match': `"${expected.generation}"` };
    const headers = { ...condition, 'content-type': contentType ?? 'application/octet-stream' };
    const body =
      typeof content === 'string'
        ? Buffer.from(content)
        : Buffer.from(content.buffer, content.byteOffset, content.length);
    const what = `write ${this.#place(name)}`;
    const answer = await this.#requests.ask({ method: 'PUT', key: this.#key(name), headers, body }, what);
    if (answer.status === 200) return { kind: 'written', generation: bareEtag(answer.headers.etag ?? '') };
    if (answer.status === 412) return { kind: 'conflict' };
    // The object to be replaced does not exist any more.
    if (answer.status === 404 && s3Refusal(answer).code === 'NoSuchKey') return { kind: 'conflict' };
    throw s3Failure(answer, what);
  }

  async upload(name: string, source: FileSource): Promise<'uploaded' | 'exists'> {
    if ((await this.stat(name)) !== undefined) return 'exists';
    if (source.size > SINGLE_BYTES) {
      const what = `upload ${this.#place(name)}`;
      return uploadInParts({ requests: this.#requests, key: this.#key(name), source, what });
    }
    let content: Uint8Array = new Uint8Array();
    for await (const { bytes } of checkedChunks(source, SINGLE_BYTES)) content = bytes;
    return (await this.write(name, content, 'absent')).kind === 'written' ? 'uploaded' : 'exists';
  }

  async uploadSession(name: string): Promise<string> {
    throw new StoreRefused(
      `store: ${this.#place(name)} takes no upload by Cloud Storage's protocol: it is not Google's`,
    );
  }

  async replace(name: string, content: Uint8Array | string, contentType?: string): Promise<void> {
    await replaceBy(this, name, (expected) => this.write(name, content, expected, contentType), this.#place(name));
  }

  async read(name: string, range?: { readonly start: number; readonly end?: number }): Promise<Buffer | undefined> {
    if (range?.end !== undefined && range.end <= range.start) return Buffer.alloc(0);
    const last = range?.end === undefined ? '' : range.end - 1;
    const headers: Record<string, string> = range ? { range: `bytes=${range.start}-${last}` } : {};
    const what = `read ${this.#place(name)}`;
    const most = range?.end === undefined ? Infinity : Math.max(range.end - range.start, 1024 * 1024);
    const answer = await this.#requests.ask({ method: 'GET', key: this.#key(name), headers }, what, most);
    if (answer.status === 206) return answer.body;
    // A server may ignore the range.
    if (answer.status === 200) return answer.body.subarray(range?.start ?? 0, range?.end);
    if (answer.status === 416) return Buffer.alloc(0);
    return this.#absentOr(answer, what);
  }

  async stat(name: string): Promise<StoredObject | undefined> {
    const what = `look at ${this.#place(name)}`;
    const answer = await this.#requests.ask({ method: 'HEAD', key: this.#key(name) }, what);
    if (answer.status !== 200) return this.#absentOr(answer, what);
    const { etag = '', 'content-length': size, 'last-modified': modified = '' } = answer.headers;
    return { name, size: Number(size), generation: bareEtag(etag), updatedAt: Date.parse(modified) };
  }

  async list(prefix: string, startOffset?: string, most = Infinity): Promise<readonly StoredObject[]> {
    const found: StoredObject[] = [];
    let pages = 0;
    for await (const { objects } of this.#pages(prefix, startOffset, most)) {
      for (const one of objects) if (found.length < most) found.push(one);
      if (found.length >= most) return found;
      if (++pages === MOST_LIST_PAGES) throw endlessListing(this.#place(prefix));
    }
    return found;
  }

  async find(glob: string, most: number): Promise<{ readonly names: readonly string[]; readonly isWhole: boolean }> {
    const names: string[] = [];
    const isMatch = globTest(glob);
    let pages = 0;
    for await (const { objects, next } of this.#pages(literalPrefix(glob), undefined, Infinity)) {
      for (const { name } of objects) if (isMatch(name)) names.push(name);
      if (names.length > most) return { names: names.slice(0, most), isWhole: false };
      if (++pages === MOST_PAGES && next !== undefined) return { names, isWhole: false };
    }
    return { names, isWhole: true };
  }

  async remove(name: string): Promise<void> {
    const what = `remove ${this.#place(name)}`;
    const answer = await this.#requests.ask({ method: 'DELETE', key: this.#key(name) }, what);
    if (answer.status !== 204 && answer.status !== 200) await this.#absentOr(answer, what);
  }

  downloadUrl(): undefined {
    return undefined;
  }

  uploadUrl(): undefined {
    return undefined;
  }

  objectUrl(): undefined {
    return undefined;
  }

  async signedUrl(name: string, forMs: number): Promise<string> {
    return this.#requests.signedUrl(this.#key(name), Math.min(forMs, WEEK_MS));
  }

  async *#pages(prefix: string, startOffset: string | undefined, most: number): AsyncGenerator<S3Page> {
    const what = `list ${this.#place(prefix)}*`;
    const after = startOffset === undefined ? undefined : nameBefore(startOffset);
    const isWanted = ({ name }: StoredObject): boolean =>
      startOffset === undefined || compareBytes(name, startOffset) >= 0;
    let token: string | undefined;
    do {
      const query = {
        'list-type': '2',
        'encoding-type': 'url',
        prefix: `${this.#prefix}${prefix}`,
        'max-keys': String(Math.min(PAGE, most)),
        ...(after !== undefined && after !== '' && { 'start-after': `${this.#prefix}${after}` }),
        ...(token !== undefined && { 'continuation-token': token }),
      };
      const answer = await this.#requests.ask({ method: 'GET', query }, what);
      if (answer.status !== 200) throw s3Failure(answer, what);
      const page: S3Page = await readS3Page(answer.body, this.#prefix);
      yield { ...page, objects: page.objects.filter(isWanted) };
      token = page.next;
    } while (token !== undefined);
  }

  /** Writes one object three times; two of the writes must be refused. */
  async #probe(): Promise<void> {
    const name = `system/probe-${randomUUID()}`;
    const what = `probe ${this.#place(name)}`;
    const key = this.#key(name);
    const put = (headers: Readonly<Record<string, string>>): Promise<S3Answer> =>
      this.#requests.ask({ method: 'PUT', key, headers, body: Buffer.from('jobctl') }, what);
    const first = await put({ 'if-none-match': '*' });
    try {
      refuseIgnorant(first, 'If-None-Match: *', what, 200);
      refuseIgnorant(await put({ 'if-none-match': '*' }), 'If-None-Match: *', what, 412);
      refuseIgnorant(await put({ 'if-match': '"00000000000000000000000000000000"' }), 'If-Match', what, 412);
    } finally {
      if (first.status === 200) await this.remove(name);
    }
  }

  async #absentOr(answer: S3Answer, what: string): Promise<undefined> {
    if (answer.status !== 404 || s3Refusal(answer).code === 'NoSuchBucket') throw s3Failure(answer, what);
    if (Date.now() - this.#bucketSeen < BUCKET_MS) return undefined;
    // The answer to a HEAD does not say whether the object or the bucket is missing.
    const bucket = await this.#requests.ask({ method: 'HEAD' }, what);
    if (bucket.status === 404)
      throw s3Failure(
        { status: 404, body: Buffer.from('<Code>NoSuchBucket</Code><Message>there is no such bucket</Message>') },
        what,
      );
    if (bucket.status !== 200) throw s3Failure(bucket, what);
    this.#bucketSeen = Date.now();
    return undefined;
  }

  /** @throws StoreRefused if a URL cannot keep the name */
  #key(name: string): string {
    const problem = nameProblem(name);
    if (problem === undefined) return `${this.#prefix}${name}`;
    throw new StoreRefused(`store: ${JSON.stringify(name)} ${problem}, which no object of jobctl has`);
  }

  #place(name: string): string {
    return placeOfObject(this.bucket, name);
  }
}

function refuseIgnorant(answer: S3Answer, header: string, what: string, wanted: number): void {
  if (answer.status === wanted) return;
  const { code = '' } = s3Refusal(answer);
  const isIgnored = answer.status === 200 && wanted === 412;
  if (!isIgnored && answer.status !== 501 && code !== 'NotImplemented') throw s3Failure(answer, what);
  throw new StoreRefused(
    `store: ${what}: this server ${isIgnored ? 'passes over' : 'does not have'} ${header}, so that of two workers both could believe that ` +
      'they have written: use a server that has conditional writes (Amazon S3, MinIO, Ceph, versitygw), or a folder: file:///PATH',
  );
}
