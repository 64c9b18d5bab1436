import type { Agent, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { connectionWords } from '../../cloud/store/store-error.js';
import { ServerRefused } from '../errors.js';

export interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body. A function is called again for each attempt. */
  readonly body?: string | (() => Readable);
  /** Longest time without a byte from the server. */
  readonly timeoutMs: number;
  readonly ca?: string | Buffer | undefined;
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The connection failed before an answer came. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
  /** True if the server cannot have read the request. */
  readonly isUnsent: boolean;
  /** True if waiting and retrying cannot help. */
  readonly isLasting: boolean;

  constructor(error: NodeJS.ErrnoException, origin: string, isReused: boolean) {
    super(words(error, origin), { cause: error });
    const { code = '' } = error;
    // A kept-alive connection that the server closed while idle.
    this.isUnsent = UNSENT.has(code) || (isReused && code === 'ECONNRESET') || isCertificate(error);
    this.isLasting = code === 'ENOTFOUND' || code.startsWith('HPE_') || isCertificate(error);
  }
}

const UNSENT: ReadonlySet<string> = new Set(['EAI_AGAIN', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND']);
const isCertificate = ({ code = '' }: NodeJS.ErrnoException): boolean =>
  /CERT|^DEPTH_ZERO|^UNABLE_TO|^ERR_TLS|^ERR_SSL|^EPROTO$/.test(code);

function words(error: NodeJS.ErrnoException, origin: string): string {
  if (!isCertificate(error)) return connectionWords(error as Error & { readonly code?: string }, origin);
  return error.code === 'EPROTO' || error.code?.startsWith('ERR_SSL')
    ? `${origin} does not speak TLS`
    : `the certificate of ${origin} is not accepted: ${error.message}`;
}

const agents = new Map<string, Agent>();

/** An answer whose body is not read yet. */
export interface OpenAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Can be read once. @throws ConnectionLost if it breaks off, or is silent for longer than `timeoutMs` */
  readonly chunks: AsyncIterable<Buffer>;
}

/**
 * Makes one request on a kept-alive connection, without redirects. It does not use `fetch` (see cloud/store/reader.ts).
 * @throws ConnectionLost
 */
export async function exchange(url: URL, request: HttpRequest): Promise<HttpAnswer> {
  const { status, headers, chunks } = await openExchange(url, request);
  return { status, headers, body: await whole(chunks) };
}

/** Limit for an answer that is read completely, far above any real one. */
const MOST_ANSWER_BYTES = 128 * 1024 * 1024;

/** Reads a body to its end. @throws ServerRefused if it is endless: it would fill the memory */
export async function whole(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of chunks) {
    bytes += part.length;
    if (bytes > MOST_ANSWER_BYTES)
      throw new ServerRefused(`the server answers with more than ${MOST_ANSWER_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Like `exchange`, for an answer that is streamed. */
export async function openExchange(
  url: URL,
  { method, headers, body, timeoutMs, ca, signal }: HttpRequest,
): Promise<OpenAnswer> {
  const [http, roots] = await Promise.all([
    url.protocol === 'http:' ? import('node:http') : import('node:https'),
    ca === undefined ? [] : import('node:tls').then(({ rootCertificates }) => [...rootCertificates, ca]),
  ]);
  const agent = agents.get(url.protocol) ?? new http.Agent({ keepAlive: true });
  agents.set(url.protocol, agent);
  return new Promise((resolve, reject) => {
    const more = { ...(signal === undefined ? {} : { signal }), ...(ca === undefined ? {} : { ca: roots }) };
    const request = http.request(url, { method, headers, agent, ...more });
    let first: NodeJS.ErrnoException | undefined;
    const lost = (error: NodeJS.ErrnoException): ConnectionLost =>
      new ConnectionLost((first ??= error), url.origin, request.reusedSocket);
    request.once('response', (response) =>
      resolve({ status: response.statusCode ?? 0, headers: response.headers, chunks: chunksOf(response, lost) }),
    );
    request.setTimeout(timeoutMs, () => request.destroy(Object.assign(new Error('silent'), { code: 'ETIMEDOUT' })));
    request.on('error', (error) => reject(lost(error)));
    if (typeof body !== 'function') request.end(body);
    else
      body()
        .once('error', (error) => {
          // A local error is no fault of the connection.
          reject(error);
          request.destroy();
        })
        .pipe(request);
  });
}

async function* chunksOf(
  response: IncomingMessage,
  lost: (error: NodeJS.ErrnoException) => ConnectionLost,
): AsyncGenerator<Buffer> {
  try {
    yield* response;
  } catch (error) {
    throw lost(error as NodeJS.ErrnoException);
  }
}
