import type { Agent, IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { connectionWords } from '../../cloud/store/store-error.js';

export interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Of bytes: read anew for each try. */
  readonly body?: string | (() => Readable);
  /** Silence that is waited for. */
  readonly timeoutMs: number;
  readonly ca?: string | Buffer | undefined;
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

/** One request on a kept connection; no redirect is followed. Not by `fetch`: see cloud/store/reader.ts. @throws ConnectionLost */
export async function exchange(url: URL, { method, headers, body, timeoutMs, ca }: HttpRequest): Promise<HttpAnswer> {
  const [http, roots] = await Promise.all([
    url.protocol === 'http:' ? import('node:http') : import('node:https'),
    ca === undefined ? [] : import('node:tls').then(({ rootCertificates }) => [...rootCertificates, ca]),
  ]);
  const agent = agents.get(url.protocol) ?? new http.Agent({ keepAlive: true });
  agents.set(url.protocol, agent);
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers, agent, ...(ca === undefined ? {} : { ca: roots }) });
    const fail = (error: NodeJS.ErrnoException): void =>
      reject(new ConnectionLost(error, url.origin, request.reusedSocket));
    request.once('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) }),
      );
      response.once('error', fail);
    });
    request.setTimeout(timeoutMs, () => request.destroy(Object.assign(new Error('silent'), { code: 'ETIMEDOUT' })));
    request.once('error', fail);
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
