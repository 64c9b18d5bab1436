import { fileErrorWords } from '../../../domain/errors.js';
import { readFileSync } from 'node:fs';
import { newCodecKey } from '../../../cloud/codec/codec-key.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type ContextFlags, resolveContext } from '../../place/context.js';
import { writeNewKey } from '../../terminal/file-on-disk.js';
import { watchEnd } from '../../terminal/interruptions.js';
import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type AesGcmPayloadCodec,
  openCodec,
  payloadsFromJson,
  payloadsToJson,
} from '../../../cloud/codec/payload-codec.js';

export interface NewKeyFlags {
  readonly file?: string;
  readonly id?: string;
}

export function newKey({ file, id }: NewKeyFlags): number {
  writeNewKey(newCodecKey(new Date(), id), file);
  return ExitCode.Done;
}

export interface ServeFlags extends Pick<ContextFlags, 'codecKey' | 'codecDecodeKeys'> {
  readonly port: number;
  readonly host: string;
  readonly uiOrigin?: readonly string[];
  readonly tokenFile?: string;
  readonly allowEncode?: true;
}

/** Runs until Ctrl-C or SIGTERM. */
export async function serve(flags: ServeFlags): Promise<number> {
  const { temporal, uiUrl } = resolveContext(flags);
  if (temporal.codec === undefined) {
    const what = 'jobctl codec serve: no key is given';
    throw new CliError(ExitCode.Usage, what, 'name it with --codec-key or JOBCTL_CODEC_KEY, such as file:///PATH');
  }
  const uiOrigins = originsOf(flags.uiOrigin ?? (uiUrl === undefined ? [] : [new URL(uiUrl).origin]));
  const token = tokenOf(flags);
  const codec = await openCodec(temporal.codec, { onUnknownKey: 'mark' });
  const end = watchEnd();
  const { host, port, allowEncode = false } = flags;
  const server = await startCodecServer({ codec, host, port, uiOrigins, token, isEncoding: allowEncode });
  process.stdout.write(`http://${host}:${server.port}\n`);
  process.stderr.write(`codec server for ${uiOrigins.join(', ')}; Ctrl-C ends it\n`);
  await new Promise<void>((resolve) => end.addEventListener('abort', () => resolve(), { once: true }));
  await server.close();
  return ExitCode.Done;
}

/** Adds both names of a loopback origin, because a UI may be opened under either. */
function originsOf(given: readonly string[]): readonly string[] {
  if (given.length === 0) {
    const what = "jobctl codec serve: the Web UI's origin is not known";
    throw new CliError(ExitCode.Usage, what, 'name it with --ui-origin, such as http://127.0.0.1:8233');
  }
  const twins = given.flatMap((origin) => [
    origin,
    origin.replace('//127.0.0.1:', '//localhost:'),
    origin.replace('//localhost:', '//127.0.0.1:'),
  ]);
  return [...new Set(twins)];
}

const LOOPBACK = /^(127\.|::1$|localhost$)/;
const SHORTEST_TOKEN = 16;

/** Reads the token. @throws CliError if there is none and the host is not loopback: it would decode for a whole network */
function tokenOf({ tokenFile, host }: ServeFlags): string | undefined {
  if (tokenFile === undefined) {
    if (LOOPBACK.test(host)) return undefined;
    const what = `jobctl codec serve: --host ${host} would decode for everybody who reaches it`;
    throw new CliError(ExitCode.Usage, what, 'give --token-file too, and put TLS in front of it');
  }
  let token: string;
  try {
    token = readFileSync(tokenFile, 'utf8').trim();
  } catch (error) {
    throw new CliError(ExitCode.Usage, `--token-file ${tokenFile}: ${fileErrorWords(error)}`);
  }
  if (token.length >= SHORTEST_TOKEN) return token;
  const short = `--token-file ${tokenFile}: the token has ${token.length} characters, fewer than ${SHORTEST_TOKEN}`;
  throw new CliError(ExitCode.Usage, short, 'make one: openssl rand -hex 32');
}

export interface CodecServerOptions {
  readonly codec: AesGcmPayloadCodec;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Origins of the Web UIs that may send requests, such as `http://127.0.0.1:8233`. Pages of any other origin are refused. */
  readonly uiOrigins: readonly string[];
  /** The token that `Authorization: Bearer ..` must hold; absent: no token is required. */
  readonly token?: string | undefined;
  /** True also answers /encode: its callers can make payloads that workers trust. */
  readonly isEncoding: boolean;
}

/** A refused request. Neither message nor log ever holds a payload. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Limit of a request's body: room for several messages. The largest message of Temporal's API has 4 MB, a third more in base64.
 */
const MOST_BODY_BYTES = 16_000_000;
const REQUEST_TIMEOUT_MS = 30_000;

/**
 * Serves Temporal's codec server protocol for the Web UI and the `temporal` command: `POST /decode` (and `/encode`), also below a
 * namespace. It stores and logs nothing.
 */
export async function startCodecServer(
  options: CodecServerOptions,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer((request, response) => void answer(options, request, response));
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  await listen(server, options);
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { port: (server.address() as AddressInfo).port, close };
}

function listen(server: Server, { host, port }: CodecServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(`the codec server cannot listen on ${host}:${port}: ${error.code}; choose another --port`)),
    );
    server.listen(port, host, resolve);
  });
}

async function answer(options: CodecServerOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const origin = request.headers.origin;
  const isKnown = origin !== undefined && options.uiOrigins.includes(origin);
  if (isKnown) allow(origin, request, response);
  try {
    // A browser always sends the origin of a page; a request without one is from a program, such as the `temporal` command.
    if (origin !== undefined && !isKnown) throw new Refusal(403, `origin ${origin} is not the Web UI's (--ui-origin)`);
    if (request.method === 'OPTIONS') return void response.writeHead(204).end();
    const body = await converted(options, request);
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(body);
  } catch (error) {
    const { message, status } = error instanceof Refusal ? error : new Refusal(500, 'the request failed');
    // The rest of a refused body is not awaited.
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
    response.end(`${JSON.stringify({ message })}\n`);
  }
}

/** Allows CORS for this origin only. The browser first asks whether a page from a public address may call a loopback address. */
function allow(origin: string, request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('vary', 'origin');
  if (request.method !== 'OPTIONS') return;
  response.setHeader('access-control-allow-methods', 'POST');
  response.setHeader('access-control-allow-headers', 'content-type, x-namespace, authorization, authorization-extras');
  if (request.headers['access-control-request-private-network'] === 'true')
    response.setHeader('access-control-allow-private-network', 'true');
}

async function converted(options: CodecServerOptions, request: IncomingMessage): Promise<string> {
  const [, verb] = /^(?:\/[^/]+)?\/(decode|encode)$/.exec(request.url?.split('?')[0] ?? '') ?? [];
  if (verb === undefined || (verb === 'encode' && !options.isEncoding))
    throw new Refusal(404, 'only POST /decode is here');
  if (request.method !== 'POST') throw new Refusal(405, `${verb} takes POST`);
  if (!isAuthorized(options.token, request)) throw new Refusal(401, 'the Authorization header does not hold the token');
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? ''))
    throw new Refusal(415, 'the body has to be application/json');
  const text = await bodyOf(request);
  try {
    return payloadsToJson(await options.codec[verb === 'encode' ? 'encode' : 'decode'](payloadsFromJson(text)));
  } catch (error) {
    const why =
      (error as Error).name === 'PayloadTampered' ? (error as Error).message : 'the body is no list of payloads';
    throw new Refusal(400, why);
  }
}

/** Compares in constant time. */
function isAuthorized(token: string | undefined, { headers }: IncomingMessage): boolean {
  if (token === undefined) return true;
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(headers.authorization ?? ''), digest(`Bearer ${token}`));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BODY_BYTES) throw new Refusal(413, `the body has more than ${MOST_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
