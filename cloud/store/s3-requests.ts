import { createHash } from 'node:crypto';
import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { StoreRefused, StoreUnavailable } from './port.js';
import { s3Failure } from './s3-answers.js';
import { type S3Settings, s3Settings } from './s3-credentials.js';
import { connectionWords } from './store-error.js';

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** The object's key, with the store's prefix. Absent: the bucket itself. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export interface S3Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export interface S3Timing {
  /** Limit of one request; an answer that takes longer is given up. */
  readonly requestMs: number;
  /** Limit of a call with its repeats. */
  readonly totalMs: number;
  /** Pause before the first repeat; it doubles. */
  readonly pauseMs: number;
}

const TIMING: S3Timing = { requestMs: 30_000, totalMs: 60_000, pauseMs: 250 };
const TRIES = 3;
/** 409: S3 refuses one of two simultaneous writes so; repeating shows its result (docs.aws.amazon.com, "Conditional writes"). */
const PASSING: ReadonlySet<number> = new Set([408, 409, 429]);
/** Limit of one answer except to a read: listings of 1,000 names of 1,024 bytes, each of which may be escaped. */
const MOST_ANSWER_BYTES = 16 * 1024 * 1024;
const SOCKETS = 64;

/** Signed requests for one bucket, with time limits and repeats. Repeating is safe: every write has a condition. */
export class S3Requests {
  readonly #bucket: string;
  readonly #timing: S3Timing;
  readonly #endpoint: string | undefined;
  readonly #agents = {
    'http:': new HttpAgent({ keepAlive: true, maxSockets: SOCKETS }),
    'https:': new HttpsAgent({ keepAlive: true, maxSockets: SOCKETS }),
  };
  readonly #keys = new Map<string, ArrayBuffer>();
  #settings: Promise<S3Settings> | undefined;

  /** @param endpoint absent: found as Amazon's tools do */
  constructor(bucket: string, endpoint: string | undefined, timing = TIMING) {
    [this.#bucket, this.#endpoint, this.#timing] = [bucket, endpoint, timing];
  }

  /**
   * Returns the first answer that is not a passing failure, whatever its status.
   * @param what the action and its object
   * @param mostBytes limit of the answer's body; more is refused
   * @throws StoreUnavailable after some tries, StoreRefused without credentials
   */
  async ask(
    request: S3Request,
    what: string,
    mostBytes = MOST_ANSWER_BYTES,
    { requestMs, totalMs } = this.#timing as Pick<S3Timing, 'requestMs' | 'totalMs'>,
  ): Promise<S3Answer> {
    const until = Date.now() + totalMs;
    for (let tries = 1; ; tries++) {
      const left = Math.max(1, until - Date.now());
      const tried = await this.once(request, Math.min(requestMs, left), mostBytes).catch(
        (error: unknown) => error as Error,
      );
      if (tried instanceof StoreRefused) throw tried;
      const mayPass = tried instanceof Error || tried.status >= 500 || PASSING.has(tried.status);
      if (!mayPass) return tried;
      const pauseMs = this.#timing.pauseMs * 2 ** (tries - 1) * (0.5 + Math.random());
      // In each round of simultaneous writes one of them succeeds.
      const most = !(tried instanceof Error) && tried.status === 409 ? 4 * TRIES : TRIES;
      if (tries >= most || Date.now() + pauseMs >= until) {
        if (tried instanceof Error) throw new StoreUnavailable(`store: ${what}: ${tried.message}`, { cause: tried });
        throw s3Failure(tried, what);
      }
      await sleep(pauseMs);
    }
  }

  /** Rejects if there is no answer in time. */
  async once(request: S3Request, timeoutMs: number, mostBytes = MOST_ANSWER_BYTES): Promise<S3Answer> {
    const { method, headers, body = Buffer.alloc(0) } = request;
    const settings = await this.#open();
    const url = this.#url(settings, request);
    const signed = await new AwsV4Signer({
      ...{ method, url, service: 's3', region: settings.region, cache: this.#keys },
      headers: { ...headers, 'x-amz-content-sha256': createHash('sha256').update(body).digest('hex') },
      ...(await settings.credentials()),
    }).sign();
    const sent = { ...Object.fromEntries(signed.headers), 'content-length': String(body.length) };
    return this.#send(signed.url, { method, headers: sent, body }, timeoutMs, mostBytes);
  }

  /** @param forMs at most a week */
  async signedUrl(key: string, forMs: number): Promise<string> {
    const settings = await this.#open();
    const url = new URL(this.#url(settings, { method: 'GET', key }));
    url.searchParams.set('X-Amz-Expires', String(Math.max(1, Math.floor(forMs / 1000))));
    const signer = new AwsV4Signer({
      ...{ method: 'GET', url: url.href, service: 's3', region: settings.region, signQuery: true },
      ...(await settings.credentials()),
    });
    return (await signer.sign()).url.href;
  }

  /** The body with which a bucket is made outside of the first region. */
  async bucketConstraint(): Promise<Pick<S3Request, 'body'>> {
    const { region } = await this.#open();
    if (region === 'us-east-1') return {};
    const text = `<CreateBucketConfiguration><LocationConstraint>${region}</LocationConstraint></CreateBucketConfiguration>`;
    return { body: Buffer.from(text) };
  }

  async #open(): Promise<S3Settings> {
    this.#settings ??= s3Settings(this.#endpoint);
    return this.#settings.catch((error: unknown) => {
      this.#settings = undefined;
      throw error;
    });
  }

  /** The bucket is in the path, except at Amazon, where it is in the host's name unless a dot in it breaks the certificate. */
  #url({ endpoint, region }: S3Settings, { key, query = {} }: S3Request): string {
    const isHost = endpoint === undefined && !this.#bucket.includes('.');
    const base =
      endpoint?.replace(/\/$/, '') ?? `https://${isHost ? `${this.#bucket}.` : ''}s3.${region}.${domainOf(region)}`;
    const path = [...(isHost ? [] : [this.#bucket]), ...(key === undefined ? [] : key.split('/'))]
      .map(encoded)
      .join('/');
    const words = Object.entries(query).map(([name, value]) => `${encoded(name)}=${encoded(value)}`);
    return `${base}/${path}${words.length === 0 ? '' : `?${words.join('&')}`}`;
  }

  /** Does not use `fetch`, for the reason in reader.ts. */
  #send(
    url: URL,
    {
      method,
      headers,
      body,
    }: { readonly method: string; readonly headers: Record<string, string>; readonly body: Buffer },
    timeoutMs: number,
    mostBytes: number,
  ): Promise<S3Answer> {
    const { protocol, origin } = url;
    return new Promise((resolve, reject) => {
      const isOpen = protocol === 'http:';
      const agent = this.#agents[isOpen ? 'http:' : 'https:'];
      const asked = (isOpen ? httpRequest : httpsRequest)(url, { method, headers, agent }, (response) => {
        const parts: Buffer[] = [];
        let length = 0;
        response.on('data', (part: Buffer) => {
          length += part.length;
          if (length > mostBytes)
            asked.destroy(new StoreRefused(`store: ${origin} answers with more than ${mostBytes} bytes`));
          else parts.push(part);
        });
        response.once('end', () => {
          clearTimeout(timer);
          if (!asked.writableFinished) {
            // The server answered before it read everything and may close. Without a listener the failed send would end the
            // process.
            asked.socket?.on('error', () => undefined);
            asked.destroy();
          }
          if (response.complete)
            resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) });
        });
        response.once('error', fail);
        response.once('close', () => fail(Object.assign(new Error('cut'), { code: 'ECONNRESET' })));
      });
      const timer = setTimeout(
        () => asked.destroy(Object.assign(new Error('silent'), { code: 'ETIMEDOUT' })),
        timeoutMs,
      );
      function fail(error: Error): void {
        clearTimeout(timer);
        reject(error instanceof StoreRefused ? error : new Error(connectionWords(error, origin), { cause: error }));
      }
      asked.once('error', fail).end(body);
    });
  }
}

const domainOf = (region: string): string => `amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;

/** Escapes as signatures do: all but letters, digits, - _ . and ~ */
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
