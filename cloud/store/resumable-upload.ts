import { setTimeout as sleep } from 'node:timers/promises';
import type { FileSource } from '../../domain/file-source.js';
import { type Chunk, checkedChunks } from './checked-chunks.js';
import { messageIn } from './store-error.js';

export interface UploadRequest {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}
export interface UploadAnswer {
  readonly status: number;
  /** Of an upload that began. */
  readonly location?: string;
  /** `bytes=0-N`: what is stored of it. */
  readonly range?: string;
  readonly text: string;
}
/** Whatever the status is; rejects where there is no answer in time. */
export type SendUpload = (request: UploadRequest, timeoutMs: number) => Promise<UploadAnswer>;

export interface UploadTiming {
  /** Of one request, with its chunk. What has arrived when it is given up is kept. */
  readonly requestMs: number;
  /** The upload is given up when no more bytes were stored for so long. */
  readonly stallMs: number;
  /** Before the first repeat; it doubles, up to 16 times. */
  readonly pauseMs: number;
}

export interface UploadWish {
  /** Where such uploads begin, with the object's name and the precondition. */
  readonly url: string;
  readonly source: FileSource;
  readonly send: SendUpload;
  readonly timing?: UploadTiming;
}

/** Bytes; of 256 KiB a multiple. In memory, and at most so much is sent again. */
export const CHUNK_BYTES = 8 * 1024 * 1024;
const TIMING: UploadTiming = { requestMs: 120_000, stallMs: 240_000, pauseMs: 500 };
/** Sessions that the store forgot in their midst, which no store does. */
const MAX_SESSIONS = 3;

type Progress = 'more' | 'uploaded' | 'exists' | 'lost' | 'unknown';

/**
 * Sends a source by Cloud Storage's resumable protocol (cloud.google.com/storage/docs/performing-resumable-uploads, 2026-11). After
 * a cut the store is asked what it has, and the rest of that chunk is sent; each byte is read once. Google's own client is not
 * used: it counts repeats over the whole upload, ends them at a total time, and has no timeout for a request (7.22;
 * docs/adr/0030-uploads-in-chunks.md).
 * @throws SourceChanged; errors with `status` where the store refused, without where it did not answer
 */
export async function uploadInChunks(wish: UploadWish): Promise<'uploaded' | 'exists'> {
  for (let sessions = 1; ; sessions++) {
    const ended = await new UploadSession(wish).run();
    if (ended === 'uploaded' || ended === 'exists') return ended;
    if (sessions === MAX_SESSIONS) throw new Error(`the store forgot the upload ${sessions} times`);
  }
}

/** An upload that somebody else began: its address is the right to go on with it. */
export interface BegunUpload extends Pick<UploadWish, 'source' | 'send' | 'timing'> {
  readonly session: string;
}

/** Sends a source into an upload that was begun before. @throws as `uploadInChunks`; also where the store has forgotten the upload */
export async function uploadInto({ session, ...wish }: BegunUpload): Promise<void> {
  const ended = await new UploadSession({ ...wish, url: session }, session).run();
  if (ended === 'lost') throw new Error('the store has forgotten the upload');
}

/** Begins an upload for somebody else, where there is no such object. @returns its address @throws where the store refuses it */
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
  /** Why nothing more is stored. */
  #failure: unknown;

  /** @param begun the address of one that was begun; absent: it begins one */
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
      // What it has is of no use; a session that is left lapses in a week.
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
    // The time that reading it took is not the store's.
    this.#moved();
    for (let at = start; at < end;) {
      const rest = bytes.subarray(at - start);
      let answer = await this.#put(`${at}-${end - 1}`, rest, md5);
      while (answer === undefined) answer = await this.#put('*', Buffer.alloc(0), md5);
      const progress = progressOf(answer);
      if (progress !== 'more') return progress;
      const stored = storedBytes(answer);
      // It keeps less than it had confirmed, and those bytes are not here any more.
      if (stored < start) return 'lost';
      if (stored > at) this.#moved();
      else await this.#pause(answer);
      at = stored;
    }
    return 'more';
  }

  /** @param range `*` asks what is stored. Undefined, after a pause: that is not known. */
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

  /** Undefined: no answer. */
  async #request(
    request: Pick<UploadRequest, 'method' | 'headers' | 'body'> & { readonly url?: string },
  ): Promise<UploadAnswer | undefined> {
    const left = Math.max(1, this.#movedAt + this.#timing.stallMs - Date.now());
    try {
      return await this.#wish.send({ url: this.#url, ...request }, Math.min(this.#timing.requestMs, left));
    } catch (error) {
      // The last request is cut short by the end of all time: what the store said before tells more.
      this.#failure ??= error;
      return undefined;
    }
  }

  /** Before a repeat. @throws where repeating does not help, or has not helped for too long */
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
