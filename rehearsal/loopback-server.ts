import type { RequestListener, Server } from 'node:http';
import { createServer } from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { guarded } from './access/foreign-request.js';
import type { Certificates } from './access/certificates.js';

/** What every HTTP server of a rehearsal has in common. */
export interface Guard {
  /** Names that callers may use for this computer, beside those of loopback. */
  readonly hostNames: readonly string[];
  /** Absent: plain HTTP. */
  readonly tls?: Certificates | undefined;
}

/** A server that web pages cannot call. It does not listen yet. */
export function loopbackServer({ hostNames, tls }: Guard, listener: RequestListener): Server {
  const own = guarded(listener, hostNames);
  return tls === undefined ? createServer(own) : createTlsServer({ key: tls.key, cert: tls.certificate }, own);
}

/** Of one that listens, without a slash at its end. */
export function urlOf(server: Server): string {
  const scheme = server instanceof TlsServer ? 'https' : 'http';
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
