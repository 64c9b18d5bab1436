import type { RequestListener, Server } from 'node:http';
import { createServer } from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { guarded } from './access/foreign-request.js';
import type { Certificates } from './access/certificates.js';

/** Settings that all HTTP servers of a rehearsal share. */
export interface Guard {
  /** Names of this computer that callers may use beside those of loopback. */
  readonly hostNames: readonly string[];
  /** Absent: plain HTTP. */
  readonly tls?: Certificates | undefined;
}

/** Creates a server that web pages cannot call. It does not listen yet. */
export function loopbackServer({ hostNames, tls }: Guard, listener: RequestListener): Server {
  const own = guarded(listener, hostNames);
  return tls === undefined ? createServer(own) : createTlsServer({ key: tls.key, cert: tls.certificate }, own);
}

/** URL of a listening server, without a trailing slash. */
export function urlOf(server: Server): string {
  const scheme = server instanceof TlsServer ? 'https' : 'http';
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
