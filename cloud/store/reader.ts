import { accessTokens } from '../access-token.js';
import { endlessListing, MOST_LIST_PAGES, type StoredObject, type StoreReader } from './port.js';
import { notJson } from '../../domain/errors.js';
import { connectionWords, httpStatusOf, isMissingBucket, messageIn, storeError } from './store-error.js';

const GOOGLE = 'https://storage.googleapis.com';
const REQUEST_TIMEOUT_MS = 30_000;
const TRIES = 3;
const FIRST_PAUSE_MS = 250;

/**
 * Reads a bucket by plain HTTP, for commands that start, print and end. A process that lists and reads once takes 0.18 s of CPU
 * against 0.30 s with Google's client (`node -e 0`: 0.05 s; built code, two loaded cores, 2026-11-21). It has the same answers
 * and errors as `createStore`.
 */
export function createStoreReader(options: { readonly endpoint?: string; readonly bucket: string }): StoreReader {
  return new HttpStoreReader(options.bucket, options.endpoint ?? GOOGLE);
}

class HttpStoreReader implements StoreReader {
  readonly bucket: string;
  readonly #endpoint: string;
  readonly #objects: string;
  readonly #token: () => Promise<string | undefined>;

  constructor(bucket: string, endpoint: string) {
    this.bucket = bucket;
    this.#endpoint = endpoint;
    this.#objects = `${endpoint.replace(/\/$/, '')}/storage/v1/b/${encodeURIComponent(bucket)}/o`;
    this.#token = accessTokens(endpoint);
  }

  async read(name: string, range?: { readonly start: number; readonly end?: number }): Promise<Buffer | undefined> {
    if (range?.end !== undefined && range.end <= range.start) return Buffer.alloc(0);
    const last = range?.end === undefined ? '' : range.end - 1;
    const headers: Record<string, string> = range ? { range: `bytes=${range.start}-${last}` } : {};
    const url = `${this.#objects}/${encodeURIComponent(name)}?alt=media`;
    try {
      return await this.#get(url, headers);
    } catch (error) {
      if (httpStatusOf(error) === 416) return Buffer.alloc(0);
      return this.#absentOr(error, `read ${this.#place(name)}`);
    }
  }

  async stat(name: string): Promise<StoredObject | undefined> {
    try {
      return storedObject(
        await this.#getJson<ApiObject>(`${this.#objects}/${encodeURIComponent(name)}?fields=${FIELDS}`),
      );
    } catch (error) {
      return this.#absentOr(error, `look at ${this.#place(name)}`);
    }
  }

  async list(prefix: string, startOffset?: string, most = Infinity): Promise<readonly StoredObject[]> {
    const found: StoredObject[] = [];
    let pageToken: string | undefined;
    for (let pages = 0; pages < MOST_LIST_PAGES; pages++) {
      const query = new URLSearchParams({ prefix, fields: `items(${FIELDS}),nextPageToken` });
      if (startOffset !== undefined) query.set('startOffset', startOffset);
      if (most < Infinity) query.set('maxResults', String(most - found.length));
      if (pageToken !== undefined) query.set('pageToken', pageToken);
      const page = await this.#getJson<ApiPage>(`${this.#objects}?${query}`).catch((error: unknown) => {
        throw storeError(error, `list ${this.#place(prefix)}*`, { endpoint: this.#endpoint });
      });
      for (const one of (page.items ?? []).map(storedObject)) found.push(one);
      pageToken = page.nextPageToken;
      if (pageToken === undefined || found.length >= most) return found;
    }
    throw endlessListing(this.#place(prefix));
  }

  #place(name: string): string {
    return `gs://${this.bucket}/${name}`;
  }

  #absentOr(error: unknown, what: string): undefined {
    if (httpStatusOf(error) === 404 && !isMissingBucket(error)) return undefined;
    throw storeError(error, what, { endpoint: this.#endpoint });
  }

  async #getJson<T>(url: string): Promise<T> {
    const text = (await this.#get(url, {})).toString();
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      throw new Error(`what ${new URL(url).origin} answers is ${notJson(error, text)}: no Cloud Storage`, {
        cause: error,
      });
    }
  }

  /** Repeats the request after failures that may pass; throws the last failure. */
  async #get(url: string, headers: Record<string, string>): Promise<Buffer> {
    const token = await this.#token();
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    for (let tries = 1; ; tries++) {
      try {
        return await this.#getOnce(url, { ...headers, ...authorization });
      } catch (error) {
        const status = httpStatusOf(error);
        const mayPass = status === undefined || status >= 500 || status === 429 || status === 408;
        if (!mayPass || tries === TRIES) throw error;
        await new Promise((resolve) => setTimeout(resolve, FIRST_PAUSE_MS * 2 ** (tries - 1)));
      }
    }
  }

  async #getOnce(url: string, headers: Record<string, string>): Promise<Buffer> {
    const { status, body } = await get(url, headers);
    if (status >= 200 && status < 300) return body;
    throw Object.assign(new Error(messageIn(body.toString())), { status });
  }
}

/**
 * Does not use `fetch`: if a server takes the connection and closes it, its promise never settles (Node.js 20.20), and a process
 * with nothing else to wait for ends silently.
 */
async function get(url: string, headers: Record<string, string>): Promise<{ status: number; body: Buffer }> {
  const { request } = await (url.startsWith('http:') ? import('node:http') : import('node:https'));
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void =>
      reject(new Error(connectionWords(error, new URL(url).origin), { cause: error }));
    const asked = request(url, { headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts) }));
      response.once('error', fail);
    });
    asked.setTimeout(REQUEST_TIMEOUT_MS, () =>
      asked.destroy(Object.assign(new Error('silent'), { code: 'ETIMEDOUT' })),
    );
    asked.once('error', fail).end();
  });
}

const FIELDS = 'name,size,generation,updated';
interface ApiObject {
  readonly name: string;
  readonly size: string;
  readonly generation: string;
  readonly updated: string;
}
interface ApiPage {
  readonly items?: readonly ApiObject[];
  readonly nextPageToken?: string;
}

function storedObject({ name, size, generation, updated }: ApiObject): StoredObject {
  return { name, size: Number(size), generation: String(generation), updatedAt: Date.parse(updated) };
}
