import { setTimeout as sleep } from 'node:timers/promises';
import type { gaxios } from 'google-auth-library';
import type { FileSource } from '../../domain/local-files.js';
import { answerWithin } from '../abort.js';
import { type Chunk, checkedChunks } from './checked-chunks.js';
import { messageIn } from './store-error.js';

interface UploadRequest {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}
interface UploadAnswer {
  readonly status: number;
  /** The upload's address, in the answer that begins it. */
  readonly location?: string;
  /** `bytes=0-N`: the stored bytes. */
  readonly range?: string;
  readonly text: string;
}
/** Resolves for any status; rejects if there is no answer in time. */
export type SendUpload = (request: UploadRequest, timeoutMs: number) => Promise<UploadAnswer>;

interface UploadTiming {
  /** Limit of one request with its chunk. Bytes that have arrived when it is given up are kept. */
  readonly requestMs: number;
  /** The upload is given up if no more bytes were stored for this long. */
  readonly stallMs: number;
  /** Pause before the first repeat; it doubles, up to 16 times. */
  readonly pauseMs: number;
}

interface UploadWish {
  /** The address at which the upload begins, with the object's name and the precondition. */
  readonly url: string;
  readonly source: FileSource;
  readonly send: SendUpload;
  readonly timing?: UploadTiming;
}

/** Bytes, a multiple of 256 KiB. A chunk is held in memory, and at most one is sent again. */
const CHUNK_BYTES = 8 * 1024 * 1024;
const TIMING: UploadTiming = { requestMs: 120_000, stallMs: 240_000, pauseMs: 500 };
/** Number of sessions that the store may forget midway before the upload is given up. No store is known to do so. */
const MAX_SESSIONS = 3;

type Progress = 'more' | 'uploaded' | 'exists' | 'lost' | 'unknown';

/**
 * Sends a source by Cloud Storage's resumable protocol (cloud.google.com/storage/docs/performing-resumable-uploads, 2026-11).
 * After a cut it asks the store for the stored range and sends the rest of that chunk; each byte of the source is read once.
 * Google's client is not used: it counts repeats over the whole upload, ends them at a total time, and has no timeout for a
 * request (7.22; docs/adr/0030-uploads-in-chunks.md).
 * @throws SourceChanged; errors with `status` if the store refused, without if it did not answer
 */
export async function uploadInChunks(wish: UploadWish): Promise<'uploaded' | 'exists'> {
  for (let sessions = 1; ; sessions++) {
    const ended = await new UploadSession(wish).run();
    if (ended === 'uploaded' || ended === 'exists') return ended;
    if (sessions === MAX_SESSIONS) throw new Error(`the store forgot the upload ${sessions} times`);
  }
}

/** An upload that another party began: its address is the right to continue it. */
interface BegunUpload extends Pick<UploadWish, 'source' | 'send' | 'timing'> {
  readonly session: string;
}

/** Sends a source into an upload that was begun before. @throws like `uploadInChunks`; also if the store has forgotten it */
export async function uploadInto({ session, ...wish }: BegunUpload): Promise<void> {
  const ended = await new UploadSession({ ...wish, url: session }, session).run();
  if (ended === 'lost') throw new Error('the store has forgotten the upload');
}

/** Begins an upload for another party unless the object exists. @returns its address @throws if the store refuses it */
export async function beginUpload({ url, size, send }: Pick<UploadWish, 'url' | 'send'> & { readonly size: number }) {
  const headers = { 'x-upload-content-length': String(size), 'content-length': '0' };
  const { location, status, text } = await send({ method: 'POST', url, headers }, BEGIN_MS);
  if (location !== undefined) return location;
  throw Object.assign(new Error(messageIn(text) || 'refused'), { status });
}
const BEGIN_MS = 30_000;

class UploadSession {
  readonly #wish: UploadWish;
  readonly #timing: UploadTiming;
  #url: string;
  #movedAt = Date.now();
  #repeats = 0;
  /** The reason why no more bytes are stored. */
  #failure: unknown;

  /** @param begun the address of an upload that was begun; absent: it begins one */
  constructor(wish: UploadWish, begun = '') {
    this.#wish = wish;
    this.#url = begun;
    this.#timing = wish.timing ?? TIMING;
  }

  async run(): Promise<Progress> {
    if (this.#url === '' && (await this.#begin()) === 'exists') return 'exists';
    try {
      for await (const chunk of checkedChunks(this.#wish.source, CHUNK_BYTES)) {
        const progress = await this.#sendChunk(chunk);
        if (progress !== 'more') return progress;
      }
      throw new Error('all bytes were sent, and the store waits for more');
    } catch (error) {
      // The stored bytes are useless; a session that is not deleted expires in a week.
      await this.#request({ method: 'DELETE', headers: {} }).catch(() => undefined);
      throw error;
    }
  }

  async #begin(): Promise<'begun' | 'exists'> {
    const { url, source } = this.#wish;
    for (;;) {
      const headers = { 'x-upload-content-length': String(source.size), 'content-length': '0' };
      const answer = await this.#request({ method: 'POST', url, headers });
      if (answer?.status === 412) return 'exists';
      if (answer?.location !== undefined) {
        this.#url = answer.location;
        return 'begun';
      }
      await this.#pause(answer);
    }
  }

  async #sendChunk({ start, bytes, md5 }: Chunk): Promise<Progress> {
    const end = start + bytes.length;
    // The time of reading the chunk does not count against the store.
    this.#moved();
    for (let at = start; at < end;) {
      const rest = bytes.subarray(at - start);
      let answer = await this.#put(`${at}-${end - 1}`, rest, md5);
      while (answer === undefined) answer = await this.#put('*', Buffer.alloc(0), md5);
      const progress = progressOf(answer);
      if (progress !== 'more') return progress;
      const stored = storedBytes(answer);
      // The store has less than it had confirmed, and the missing bytes are no longer in memory.
      if (stored < start) return 'lost';
      if (stored > at) this.#moved();
      else await this.#pause(answer);
      at = stored;
    }
    return 'more';
  }

  /** @param range `*` asks for the stored range. Undefined, after a pause, if the answer is unknown. */
  async #put(range: string, body: Buffer, md5: string | undefined): Promise<UploadAnswer | undefined> {
    const content = { 'content-range': `bytes ${range}/${this.#wish.source.size}` };
    const headers = { ...content, ...(md5 && { 'x-goog-hash': `md5=${md5}` }) };
    const answer = await this.#request({ method: 'PUT', headers, body });
    if (answer && progressOf(answer) !== 'unknown') return answer;
    await this.#pause(answer);
    return undefined;
  }

  #moved(): void {
    this.#movedAt = Date.now();
    this.#repeats = 0;
    this.#failure = undefined;
  }

  /** Undefined if there is no answer. */
  async #request(
    request: Pick<UploadRequest, 'method' | 'headers' | 'body'> & { readonly url?: string },
  ): Promise<UploadAnswer | undefined> {
    const left = Math.max(1, this.#movedAt + this.#timing.stallMs - Date.now());
    try {
      return await this.#wish.send({ url: this.#url, ...request }, Math.min(this.#timing.requestMs, left));
    } catch (error) {
      // The total limit cuts the last request short, so an earlier answer of the store tells more.
      this.#failure ??= error;
      return undefined;
    }
  }

  /** Pauses before a repeat. @throws if repeating does not help, or has not helped for too long */
  async #pause(answer: UploadAnswer | undefined): Promise<void> {
    if (answer !== undefined && answer.status !== 308) {
      const { status, text } = answer;
      this.#failure = Object.assign(new Error(messageIn(text) || 'refused'), { status });
      if (status < 500 && !PASSING.has(status)) throw this.#failure;
    }
    if (Date.now() - this.#movedAt >= this.#timing.stallMs) {
      const silence = `nothing more was stored for ${this.#timing.stallMs / 1000} s`;
      throw new Error(silence, { cause: this.#failure });
    }
    await sleep(this.#timing.pauseMs * 2 ** Math.min(this.#repeats++, 4));
  }
}

const PASSING: ReadonlySet<number> = new Set([408, 429]);

function progressOf({ status }: UploadAnswer): Progress {
  if (status === 308) return 'more';
  if (status >= 200 && status < 300) return 'uploaded';
  if (status === 412) return 'exists';
  return status === 404 || status === 410 ? 'lost' : 'unknown';
}

const storedBytes = ({ range }: UploadAnswer): number => Number(/-(\d+)$/.exec(range ?? '')?.[1] ?? -1) + 1;

interface Requester {
  request(options: gaxios.GaxiosOptions): Promise<gaxios.GaxiosResponse<unknown>>;
}

/** Sends by the HTTP client of Google's libraries, which supports proxies. @param login absent: no token is sent */
export function uploadSender(login: Requester | undefined): SendUpload {
  return async ({ method, url, headers, body }, timeoutMs) => {
    const options: gaxios.GaxiosOptions = {
      ...{ method, url, headers: { ...headers } },
      ...(body && { data: body }),
      responseType: 'text',
      // If a login has expired, the error of a 401 makes the library get a new token and send again.
      validateStatus: (status) => status !== 401,
      retry: false,
    };
    try {
      const requester = login ?? (await import('google-auth-library')).gaxios;
      // Limits the whole call: the library does not pass the signal on to the request for a token.
      return answerOf(await answerWithin(timeoutMs, (signal) => requester.request({ ...options, signal })));
    } catch (error) {
      const { response } = error as gaxios.GaxiosError<unknown>;
      if (response === undefined) throw error;
      return answerOf(response);
    }
  };
}

function answerOf({ status, headers, data }: gaxios.GaxiosResponse<unknown>): UploadAnswer {
  const { location, range } = headers as Readonly<Record<string, string | undefined>>;
  const text = typeof data === 'string' ? data : JSON.stringify(data ?? '');
  return { status, text, ...(location && { location }), ...(range && { range }) };
}
