import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions as TlsOptions } from 'node:tls';

/** The gRPC codes that a Temporal server answers with. */
const Code = {
  Cancelled: 1,
  InvalidArgument: 3,
  DeadlineExceeded: 4,
  NotFound: 5,
  PermissionDenied: 7,
  Unavailable: 14,
  Unauthenticated: 16,
} as const;

/** The reason why a Temporal server refused, from an SDK's error or a bare gRPC error. */
export type Refusal =
  | ({ readonly kind: 'unreachable' | 'refused' } & Unreachable)
  /** The namespace lacks search attributes that the call names. Only another call tells which. */
  | { readonly kind: 'search-attributes'; readonly why: string };

/**
 * Explains a failed call to the person who must fix it; undefined if the error is about the call itself. It compares names and
 * codes, so that no heavy module is loaded.
 * @param namespace the call's namespace
 */
export function explainRefusal(error: unknown, namespace: string): Refusal | undefined {
  const { code, text, name } = grpcFacts(error);
  if (name === 'NamespaceNotFoundError' || (code === Code.NotFound && /namespace/i.test(text))) {
    return {
      kind: 'refused',
      why: `namespace '${namespace}' is not there`,
      remedy: `set TEMPORAL_NAMESPACE (or --namespace) to one that is, or make it: jobctl setup server --namespace ${namespace}`,
    };
  }
  switch (code) {
    case Code.Unauthenticated:
    case Code.PermissionDenied:
      return { kind: 'refused', why: `it does not let this client in: ${text}`, remedy: credentialsRemedy(namespace) };
    // No call of ours is taken back: it is what a server says that is killed in the middle of one.
    case Code.Cancelled:
    case Code.Unavailable:
    case Code.DeadlineExceeded:
      return { kind: 'unreachable', why: text, remedy: 'is it up? try again' };
    case Code.InvalidArgument:
      return /search attribute/i.test(text) ? { kind: 'search-attributes', why: text } : undefined;
    default:
      return undefined;
  }
}

const credentialsRemedy = (namespace: string): string =>
  process.env['TEMPORAL_API_KEY'] === undefined
    ? `it wants an API key (TEMPORAL_API_KEY) or a client certificate (TEMPORAL_TLS_CLIENT_CERT_PATH) with rights in namespace ${namespace}`
    : `is TEMPORAL_API_KEY right, not expired, and has its owner rights in namespace ${namespace}?`;

interface GrpcFacts {
  readonly code: number | undefined;
  readonly text: string;
  readonly name: string;
}

/** The SDK wraps the gRPC error, and the cause has the code. A worker's connection has the code only in its text. */
function grpcFacts(error: unknown): GrpcFacts {
  const outer = (error ?? {}) as { name?: string; code?: unknown; message?: string; details?: string; cause?: unknown };
  const inner = outer.cause as typeof outer | undefined;
  const bare = typeof outer.code === 'number' ? outer : typeof inner?.code === 'number' ? inner : undefined;
  const text = bare?.details ?? bare?.message ?? outer.message ?? String(error);
  return {
    code: (bare?.code as number | undefined) ?? codeInWords(text),
    text: (/message: "([^"]*)"/.exec(text)?.[1] ?? text).replace(/^\d+ [A-Z_]+: /, ''),
    name: outer.name ?? '',
  };
}

/** `code: 'The caller does not have permission ..', message: ".."` is how the SDK's core (tonic) writes a status. */
function codeInWords(text: string): number | undefined {
  if (/code: 'The caller does not have permission/.test(text)) return Code.PermissionDenied;
  if (/code: 'The request does not have valid authentication/.test(text)) return Code.Unauthenticated;
  return undefined;
}

/** The address and TLS settings as @temporalio/envconfig resolves them. */
export interface TemporalTarget {
  /** host:port */
  readonly address: string;
  readonly tls?: boolean | null | TemporalTls;
}

export interface TemporalTls {
  readonly serverRootCACertificate?: Uint8Array | undefined;
  readonly serverNameOverride?: string | undefined;
  readonly clientCertPair?: { readonly crt: Uint8Array; readonly key: Uint8Array } | undefined;
}

/** The reason why a client cannot reach a server, and the remedy for a person. */
export interface Unreachable {
  readonly why: string;
  readonly remedy: string;
  /** The cause is a setting: waiting does not help. */
  readonly isLasting?: boolean;
}

const PROBE_TIMEOUT_MS = 5_000;

/**
 * Finds out why a Temporal address does not answer. The SDKs say 'deadline' or 'transport error' whatever the cause is, so this
 * tries the steps of a connection itself: name, port, TLS, certificate.
 * @returns undefined if all steps succeed: then the Temporal server itself does not answer
 */
export async function whyUnreachable(target: TemporalTarget): Promise<Unreachable | undefined> {
  const { host, port } = placeOf(target.address);
  const refused = await failureOf(() => connectTcp({ host, port }), 'connect');
  if (refused !== undefined) return explainTcp(refused, target.address);
  const found = await whyNoTls(host, port, target.tls ?? false);
  return found && { isLasting: true, ...found };
}

async function whyNoTls(host: string, port: number, tls: boolean | TemporalTls): Promise<Unreachable | undefined> {
  const listener = tls === false ? await listenerAt(host, port) : undefined;
  if (listener === 'http2') return undefined;
  if (listener === 'http1') return OTHERS.http1;
  const speaksTls =
    (await failureOf(() => tlsTo(host, port, { rejectUnauthorized: false }), 'secureConnect')) === undefined;
  if (tls === false || listener !== undefined) return speaksTls ? TLS_IS_NEEDED : OTHERS[listener ?? 'silent'];
  if (!speaksTls) return explainRefusedTls(host, port, tls);
  const { serverRootCACertificate: ca, serverNameOverride } = tlsOptionsOf(tls);
  const options: TlsOptions = {
    ...(ca === undefined ? {} : { ca: Buffer.from(ca) }),
    ...(serverNameOverride === undefined ? {} : { servername: serverNameOverride }),
  };
  const distrust = await failureOf(() => tlsTo(host, port, options), 'secureConnect');
  return distrust === undefined ? undefined : explainCertificate(distrust, ca !== undefined);
}

type Listener = 'http2' | 'http1' | 'other' | 'closes' | 'silent';

const OTHERS: Readonly<Record<Exclude<Listener, 'http2'>, Unreachable>> = {
  http1: {
    why: 'a web server answers there, and no Temporal server',
    remedy: "is it the port of Temporal's Web UI? The server itself listens at 7233 unless it is told otherwise",
  },
  other: {
    why: 'what answers there is no Temporal server',
    remedy:
      'is the port right (TEMPORAL_ADDRESS, --temporal-address)? Temporal listens at 7233 unless it is told otherwise',
  },
  closes: {
    why: 'the connection is closed as soon as it is made',
    remedy: 'of a tunnel or port-forward: does its other end run?',
    isLasting: false,
  },
  silent: {
    why: 'the connection is taken, and nothing answers',
    remedy: 'is the port right (TEMPORAL_ADDRESS, --temporal-address), and does the server still work?',
    isLasting: false,
  },
};

/** The first bytes of an HTTP/2 client and an empty SETTINGS frame; the server answers with its SETTINGS (RFC 9113, 3.4). */
const HTTP2_PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');
const SETTINGS_FRAME = 4;
const LISTEN_MS = 2_000;

/** Finds out which protocol the address answers in plain text. */
function listenerAt(host: string, port: number): Promise<Listener> {
  return new Promise((resolve) => {
    const socket = connectTcp({ host, port });
    const done = (listener: Listener): void => {
      socket.destroy();
      resolve(listener);
    };
    socket.setTimeout(LISTEN_MS, () => done('silent'));
    socket.once('connect', () => socket.write(HTTP2_PREFACE));
    socket.once('data', (answer: Buffer) => {
      if (answer.toString('latin1', 0, 5) === 'HTTP/') done('http1');
      else done(answer[3] === SETTINGS_FRAME && answer[0] === 0 ? 'http2' : 'other');
    });
    socket.once('error', () => done('closes'));
    socket.once('close', () => done('closes'));
  });
}

const tlsOptionsOf = (tls: true | TemporalTls): TemporalTls => (tls === true ? {} : tls);

function placeOf(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(':');
  if (colon === -1) return { host: address, port: 7233 };
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) };
}

function tlsTo(host: string, port: number, options: TlsOptions): Socket {
  const servername = options.servername ?? (/^[\d.]+$|:/.test(host) ? '' : host);
  return connectTls({ host, port, ALPNProtocols: ['h2'], ...options, servername });
}

/** The error of one attempt to connect, or undefined if `event` occurred. */
function failureOf(open: () => Socket, event: 'connect' | 'secureConnect'): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const socket = open();
    const done = (error?: NodeJS.ErrnoException): void => {
      socket.destroy();
      resolve(error);
    };
    socket.setTimeout(PROBE_TIMEOUT_MS, () => done(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })));
    socket.once(event, () => done());
    socket.once('error', done);
    socket.once('close', () => done(Object.assign(new Error('it hung up'), { code: 'ECONNRESET' })));
  });
}

function explainTcp({ code = '', message }: NodeJS.ErrnoException, address: string): Unreachable {
  const remedy = 'is the address right (TEMPORAL_ADDRESS, --temporal-address), and does the server run?';
  switch (code) {
    case 'ECONNREFUSED':
      return { why: 'nothing listens there', remedy };
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return { why: `no computer has the name ${placeOf(address).host}`, remedy };
    case 'ETIMEDOUT':
      return { why: 'nothing answers (a firewall, or another network)', remedy };
    default:
      return { why: message, remedy };
  }
}

const TLS_IS_NEEDED: Unreachable = {
  why: 'the server speaks TLS, and this client does not',
  remedy:
    'set TEMPORAL_TLS=true, and TEMPORAL_TLS_SERVER_CA_CERT_PATH where the certificate is of an authority of your own',
};

/** The handshake fails even if the certificate is not checked: the server speaks plain text or wants a client certificate. */
async function explainRefusedTls(host: string, port: number, tls: true | TemporalTls): Promise<Unreachable> {
  const error = await failureOf(() => tlsTo(host, port, { rejectUnauthorized: false }), 'secureConnect');
  const isPlain =
    /wrong version number|packet length too long/i.test(error?.message ?? '') || error?.code === 'ECONNRESET';
  if (isPlain || error === undefined)
    return {
      why: 'this client speaks TLS, and the server does not',
      remedy: 'unset TEMPORAL_TLS and TEMPORAL_API_KEY (a key turns TLS on)',
    };
  const pair = tlsOptionsOf(tls).clientCertPair;
  return {
    why: `the TLS handshake failed: ${error.message}`,
    remedy:
      pair === undefined
        ? 'a server that wants client certificates needs TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH'
        : 'is TEMPORAL_TLS_CLIENT_CERT_PATH of an authority that the server trusts, and not expired?',
  };
}

function explainCertificate({ code = '', message }: NodeJS.ErrnoException, hasCa: boolean): Unreachable {
  const ca = hasCa
    ? 'is TEMPORAL_TLS_SERVER_CA_CERT_PATH the certificate of the authority that signed the certificate of the server?'
    : 'set TEMPORAL_TLS_SERVER_CA_CERT_PATH to the certificate of the authority that signed the certificate of the server';
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return { why: 'the certificate of the server has expired', remedy: 'whoever runs the server must renew it' };
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return {
        why: `the certificate of the server is for another name: ${message}`,
        remedy: 'set TEMPORAL_TLS_SERVER_NAME to a name that it holds, or use that name as the address',
      };
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'CERT_SIGNATURE_FAILURE':
      return { why: `the certificate of the server is not trusted (${code})`, remedy: ca };
    default:
      return { why: `the certificate of the server is refused: ${message}`, remedy: ca };
  }
}
