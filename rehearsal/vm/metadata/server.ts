import { createHash } from 'node:crypto';
import type { IncomingMessage, Server as HttpServer, ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import type { Server as NetServer, Socket } from 'node:net';
import { METADATA_NAMES } from '../../access/foreign-request.js';
import { isOwnLogin, NOT_OWN_LOGIN } from '../../access/own-login.js';
import { loopbackServer } from '../../loopback-server.js';
import type { MetadataTree, MetadataValue } from './instance.js';
import { flatText, isFolder, listing, lookUp } from './lookup.js';

/** The source of a VM's metadata. */
export interface MetadataSource {
  readonly tree: () => MetadataTree;
  /** Token of the VM's service account in Google's form, or undefined if it has none. */
  readonly token: () => object | undefined;
}

export interface VmMetadata {
  /** `ADDRESS` or `ADDRESS:PORT`, for GCE_METADATA_HOST. */
  readonly host: string;
  /** Cuts every connection. */
  close(): Promise<void>;
}

interface Listener {
  readonly source: MetadataSource;
  readonly sockets: Set<Socket>;
  /** Checks of all waiting readers, whichever VM they asked. */
  readonly waiting: Set<() => void>;
}

const ROOT = '/computeMetadata/v1';
const FLAVOR = 'Metadata-Flavor';

/** 80 is Google's port. The others avoid ports that jobs listen on: a job on 0.0.0.0 takes the VMs' addresses too. */
const PORTS = [80, ...Array.from({ length: 20 }, (_, index) => 10_780 + index)];

/**
 * The metadata servers of all VMs of a process: one HTTP server, and a listening socket for each VM. Plain HTTP, as Google's.
 * They give tokens to clients that send none, so they answer only processes of this login, as VMs' processes are.
 */
export class MetadataService {
  readonly #http: HttpServer;
  readonly #listeners = new WeakMap<Socket, Listener>();
  readonly #waiting = new Set<() => void>();
  #port: number | undefined;

  constructor() {
    this.#http = loopbackServer({ hostNames: METADATA_NAMES }, (request, response) => {
      const listener = this.#listeners.get(request.socket);
      if (listener === undefined) request.socket.destroy();
      else if (!isOwnLogin(request.socket)) send(response, 403, NOT_OWN_LOGIN);
      else answer(listener, request, response);
    });
    // A reader may wait for days for a change.
    this.#http.requestTimeout = 0;
  }

  /** Listens at a VM's address, on port 80 if this user may. Rejects if no port is free there. */
  async open(address: string, source: MetadataSource): Promise<VmMetadata> {
    const listener: Listener = { source, sockets: new Set(), waiting: this.#waiting };
    const net = createServer((socket) => {
      this.#listeners.set(socket, listener);
      listener.sockets.add(socket);
      socket.once('close', () => listener.sockets.delete(socket));
      this.#http.emit('connection', socket);
    });
    const port = await this.#listen(net, address);
    return {
      host: port === 80 ? address : `${address}:${port}`,
      async close() {
        for (const socket of listener.sockets) socket.destroy();
        await new Promise((resolve) => net.close(resolve));
      },
    };
  }

  /** Call when a source may answer differently: readers that wait for such a change are answered. */
  changed(): void {
    for (const look of [...this.#waiting]) look();
  }

  /** Uses the first VM's port for all, if possible. */
  async #listen(net: NetServer, address: string): Promise<number> {
    for (const port of this.#port === undefined ? PORTS : [this.#port, ...PORTS]) {
      if (await canListen(net, port, address)) return (this.#port ??= port);
    }
    const last = PORTS.at(-1);
    throw new Error(`metadata server of a VM: no port is free on ${address}: tried 80 and ${PORTS[1]} to ${last}`);
  }
}

async function canListen(net: NetServer, port: number, address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const refused = (): void => resolve(false);
    net.once('error', refused);
    net.listen(port, address, () => {
      net.off('error', refused);
      resolve(true);
    });
  });
}

function answer(listener: Listener, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://metadata');
  response.setHeader(FLAVOR, 'Google');
  response.setHeader('Server', 'Metadata Server for VM');
  if (pathname === '/') return send(response, 200, 'computeMetadata/\n');
  if (request.headers['metadata-flavor'] !== 'Google') {
    return send(response, 403, `Missing required header "${FLAVOR}": "Google"\n`);
  }
  // Google's guard against a proxy that is tricked into a request.
  if (request.headers['x-forwarded-for'] !== undefined) return send(response, 403, 'X-Forwarded-For is not allowed\n');
  if (request.method !== 'GET' && request.method !== 'HEAD') return send(response, 405, 'Method Not Allowed\n');
  if (pathname !== ROOT && !pathname.startsWith(`${ROOT}/`)) return notFound(response, pathname);
  const path = pathname.slice(ROOT.length).split('/').filter(Boolean).map(decodeURIComponent);
  const token = tokenAt(listener, path);
  if (token !== undefined) return send(response, 200, JSON.stringify(token), 'application/json');
  const query = readQuery(searchParams);
  if (query === undefined) return send(response, 400, 'timeout_sec must be a number of seconds\n');
  if (query.waitForChange) wait(listener, { path, pathname, query }, response);
  else give(listener, { path, pathname, query }, response);
}

interface Query {
  readonly isRecursive: boolean;
  readonly alt: string | null;
  readonly waitForChange: boolean;
  readonly lastEtag: string | null;
  /** Undefined: for ever. */
  readonly timeoutMs: number | undefined;
}

interface Question {
  readonly path: readonly string[];
  readonly pathname: string;
  readonly query: Query;
}

function readQuery(parameters: URLSearchParams): Query | undefined {
  const isTrue = (name: string): boolean => parameters.get(name)?.toLowerCase() === 'true';
  const seconds = parameters.get('timeout_sec');
  if (seconds !== null && !/^\d+(\.\d+)?$/.test(seconds)) return undefined;
  return {
    isRecursive: isTrue('recursive'),
    alt: parameters.get('alt'),
    waitForChange: isTrue('wait_for_change'),
    lastEtag: parameters.get('last_etag'),
    timeoutMs: seconds === null ? undefined : Math.min(Number(seconds) * 1000, 0x7fffffff),
  };
}

/** Answers once the ETag differs from the reader's (or from the one at the request, if it sent none), or at the timeout. */
function wait(listener: Listener, question: Question, response: ServerResponse): void {
  const { lastEtag, timeoutMs } = question.query;
  const known = lastEtag ?? etagOf(valueOf(listener, question.path));
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    listener.waiting.delete(look);
    clearTimeout(timer);
  };
  const look = (): void => {
    if (etagOf(valueOf(listener, question.path)) === known) return;
    end();
    give(listener, question, response);
  };
  listener.waiting.add(look);
  response.once('close', end);
  if (timeoutMs !== undefined) {
    timer = setTimeout(() => {
      end();
      give(listener, question, response);
    }, timeoutMs);
  }
  look();
}

function give(listener: Listener, { path, pathname, query }: Question, response: ServerResponse): void {
  const value = valueOf(listener, path);
  if (value === undefined) return notFound(response, pathname);
  response.setHeader('ETag', etagOf(value));
  const isJson = query.alt === 'json' || (query.isRecursive && query.alt !== 'text' && isFolder(value));
  if (isJson) return send(response, 200, JSON.stringify(value), 'application/json');
  send(response, 200, query.isRecursive && isFolder(value) ? flatText(value) : listing(value));
}

function valueOf(listener: Listener, path: readonly string[]): MetadataValue | undefined {
  return lookUp(listener.source.tree(), path);
}

/**
 * Token of the service account, by its email or as `default`. It is not part of the tree, because it is given only on request.
 */
function tokenAt(listener: Listener, path: readonly string[]): object | undefined {
  const [instance, accounts, , token] = path;
  if (instance !== 'instance' || accounts !== 'service-accounts' || token !== 'token' || path.length !== 4)
    return undefined;
  return valueOf(listener, path.slice(0, 3)) === undefined ? undefined : listener.source.token();
}

function etagOf(value: MetadataValue | undefined): string {
  return createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('hex')
    .slice(0, 16);
}

function notFound(response: ServerResponse, pathname: string): void {
  send(response, 404, `The requested URL ${pathname} was not found on this server.\n`);
}

function send(response: ServerResponse, status: number, content: string, type = 'application/text'): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(content) }).end(content);
}
