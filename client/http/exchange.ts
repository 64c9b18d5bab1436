import type { Agent, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { connectionWords } from '../../cloud/store/store-error.js';
import { ServerRefused } from '../errors.js';

export interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Of bytes: read anew for each try. */
  readonly body?: string | (() => Readable);
  /** Silence that is waited for. */
  readonly timeoutMs: number;
  readonly ca?: string | Buffer | undefined;
  /** Breaks it off. */
  readonly signal?: AbortSignal | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** No answer came. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
  /** The server cannot have read the request. */
  readonly isUnsent: boolean;
  /** To wait and try again cannot help. */
  readonly isLasting: boolean;

  constructor(error: NodeJS.ErrnoException, origin: string, isReused: boolean) {
    super(words(error, origin), { cause: error });
    const { code = '' } = error;
    // A kept connection that the server closed while nothing was asked.
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

/** An answer whose body is still to be read. */
export interface OpenAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Once. @throws ConnectionLost where it breaks off, or is silent for longer than `timeoutMs` */
  readonly chunks: AsyncIterable<Buffer>;
}

/** One request on a kept connection; no redirect is followed. Not by `fetch`: see cloud/store/reader.ts. @throws ConnectionLost */
export async function exchange(url: URL, request: HttpRequest): Promise<HttpAnswer> {
  const { status, headers, chunks } = await openExchange(url, request);
  return { status, headers, body: await whole(chunks) };
}

/** Far more than any answer that is read whole. */
const MOST_ANSWER_BYTES = 128 * 1024 * 1024;

/** @throws ServerRefused for a body without end, which would fill the memory here */
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

/** As `exchange`, for an answer that goes on. */
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
          // What is wrong here is no fault of the connection.
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
