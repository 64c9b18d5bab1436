import { setTimeout as sleep } from 'node:timers/promises';
import type { Readable } from 'node:stream';
import {
  type AnswerOf,
  type BodySent,
  type Operation,
  type OperationName,
  OPERATIONS,
  type Params,
  type QueryKey,
} from '../../contract/operations.js';
import {
  ServerUnreachable,
  WaitInterrupted,
  Forbidden,
  JobNotFound,
  JobRefused,
  NotLoggedIn,
  ServerRefused,
  TooManyRequests,
} from '../errors.js';
import { ConnectionLost, type HttpAnswer, type OpenAnswer, openExchange, whole } from './exchange.js';
import { serverAddress, type ServerOptions } from './server-options.js';
import type { ApiErrorCode, ApiProblem } from '../../contract/api/failures.js';
import { messageIn } from '../../cloud/store/store-error.js';
import { toldOnce, toldWait, type Waiter } from '../wait-notes.js';
import { notJson } from '../../domain/errors.js';

/** A call of an operation, which determines its method, its path and whether it may be repeated. */
export interface Ask<Name extends OperationName> {
  readonly params?: Params<Name>;
  readonly query?: { readonly [Key in QueryKey<Name>]?: string | number | boolean | undefined };
  /** Sent as JSON. */
  readonly body?: BodySent<Name>;
  readonly bytes?: { readonly size: number; readonly read: () => Readable };
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly meanings?: Meanings;
  /** Aborts the call without another try. */
  readonly signal?: AbortSignal;
}

/** The same call as it is sent. */
interface Request extends Omit<Ask<OperationName>, 'params' | 'query' | 'body'> {
  readonly method: string;
  /** Path below the server's address, such as `v1/jobs`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  /** The call may be repeated if its answer was lost. */
  readonly isRepeatable: boolean;
}

function requestOf<Name extends OperationName>(name: Name, { params, ...ask }: Ask<Name>): Request {
  const { call, isOnce }: Operation = OPERATIONS[name];
  const [method = '', path = ''] = call.split(' ');
  const values = (params ?? {}) as Readonly<Record<string, string>>;
  const filled = path.slice(1).replace(/:(\w+)/, (_, key: string) => encodeURIComponent(values[key] ?? ''));
  return { ...ask, method, path: filled, isRepeatable: isOnce !== true };
}

const TIMEOUT_MS = 45_000;
/** Longest wait for a server that cannot have read the call. The other limit is for one that may have read it. */
const UNSENT_PATIENCE_MS = 4_000;
const SENT_PATIENCE_MS = 60_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
const UNAVAILABLE: ReadonlySet<number> = new Set([502, 503, 504]);

/** Calls to one `jobctl serve` with a token. Safe calls are repeated, and each failure says what to do. */
export class ServerCalls {
  /** The server's address, for messages. */
  readonly address: string;
  readonly #base: URL;
  readonly #options: ServerOptions;
  readonly #waiter: Waiter;

  /** @throws ServerRefused for an address to which no token may be sent */
  constructor(options: ServerOptions) {
    this.#base = serverAddress(options.server);
    this.address = this.#base.href.replace(/\/$/, '');
    this.#options = options;
    this.#waiter = toldOnce(options);
  }

  /** @throws ServerUnreachable, ServerRefused, NotLoggedIn, Forbidden, TooManyRequests; errors of `meanings` */
  async json<Name extends OperationName>(name: Name, ask: Ask<Name> = {}): Promise<AnswerOf<Name>> {
    return jsonOf<AnswerOf<Name>>(await this.send(name, ask), this.address);
  }

  /** Like `json`, for an answer of another form. */
  async send<Name extends OperationName>(name: Name, ask: Ask<Name> = {}): Promise<HttpAnswer> {
    const collect = async ({ status, headers, chunks }: OpenAnswer): Promise<HttpAnswer> => {
      return { status, headers, body: await whole(chunks) };
    };
    const request = requestOf(name, ask);
    const call = (): Promise<HttpAnswer> => this.#answer(request, collect);
    // Uploads have a progress of their own.
    if (request.method === 'GET' || request.bytes !== undefined) return call();
    const server = `jobctl serve at ${this.address}`;
    const what = `interrupted before ${server} answered; the call may still be carried out`;
    const interrupted = () => Promise.resolve(new WaitInterrupted(what));
    const wait = { whom: `of ${server}`, mostMs: request.timeoutMs ?? TIMEOUT_MS, interrupted };
    return toldWait(this.#waiter, call, wait);
  }

  /** Like `send`, for a streamed body: yields its chunks as they arrive. @throws ServerUnreachable if it breaks off */
  async *stream<Name extends OperationName>(name: Name, ask: Ask<Name>): AsyncGenerator<Buffer> {
    const { chunks } = await this.#answer(requestOf(name, ask), async (answer) => answer);
    try {
      yield* chunks;
    } catch (error) {
      throw error instanceof ConnectionLost && ask.signal?.aborted !== true ? this.#unreachable(error, true) : error;
    }
  }

  /** The error for an answer that broke off. */
  brokeOff(what: string): ServerUnreachable {
    return new ServerUnreachable(`jobctl serve at ${this.address}: ${what}`);
  }

  /** @param read reads a successful answer */
  async #answer<A>(ask: Request, read: (answer: OpenAnswer) => Promise<A>): Promise<A> {
    const { isRepeatable } = ask;
    const began = Date.now();
    let busyLeft = this.#options.busyPatienceMs ?? 0;
    let patience = UNSENT_PATIENCE_MS;
    let refused: string | undefined;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const token = await this.#options.token(refused);
      const answer = await this.#once(ask, token, read).catch(lost);
      const spent = Date.now() - began;
      if (answer instanceof ConnectionLost) {
        if (!answer.isUnsent) patience = SENT_PATIENCE_MS;
        const mayRepeat = answer.isUnsent || isRepeatable;
        const isOver = answer.isLasting || spent + pause > patience || ask.signal?.aborted === true;
        if (!mayRepeat || isOver) throw this.#unreachable(answer, mayRepeat);
        await sleep(pause);
        continue;
      }
      if ('granted' in answer) return answer.granted;
      const wait = retryAfterMs(answer.headers);
      if (answer.status === 401 && refused === undefined) {
        refused = token;
      } else if (answer.status === 429 && wait !== undefined && wait <= busyLeft) {
        busyLeft -= wait;
        this.#options.onBusy?.(errorOf(answer, this.address).message, wait);
        await sleep(wait);
      } else if (UNAVAILABLE.has(answer.status) && isRepeatable && spent + pause < SENT_PATIENCE_MS) {
        await sleep(Math.max(pause, Math.min(wait ?? 0, LONGEST_PAUSE_MS)));
      } else throw errorOf(answer, this.address, ask.meanings);
    }
  }

  async #once<A>(
    { method, path, query = {}, body, bytes, headers, timeoutMs, signal }: Request,
    token: string,
    read: (answer: OpenAnswer) => Promise<A>,
  ): Promise<{ readonly granted: A } | HttpAnswer> {
    const url = new URL(path, this.#base);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    const json = body === undefined ? undefined : JSON.stringify(body);
    const own =
      json === undefined ? {} : { 'content-type': 'application/json', 'content-length': `${Buffer.byteLength(json)}` };
    const ofBytes =
      bytes === undefined ? {} : { 'content-type': 'application/octet-stream', 'content-length': String(bytes.size) };
    const answer = await openExchange(url, {
      method,
      headers: { ...own, ...ofBytes, ...headers, authorization: `Bearer ${token}` },
      ...(json === undefined ? {} : { body: json }),
      ...(bytes === undefined ? {} : { body: bytes.read }),
      timeoutMs: timeoutMs ?? TIMEOUT_MS,
      ca: this.#options.ca,
      signal,
    });
    if (answer.status < 300) return { granted: await read(answer) };
    return { status: answer.status, headers: answer.headers, body: await whole(answer.chunks) };
  }

  #unreachable({ message, isUnsent }: ConnectionLost, mayRepeat: boolean): ServerUnreachable {
    const doubt = isUnsent || mayRepeat ? '' : '; it may have been done';
    return new ServerUnreachable(`jobctl serve at ${this.address} cannot be reached: ${message}${doubt}`);
  }
}

function lost(error: unknown): ConnectionLost {
  if (error instanceof ConnectionLost) return error;
  throw error;
}

/** Errors for the codes of refusals in one call. A code without an entry has the same error in every call. */
export type Meanings = Readonly<Partial<Record<ApiErrorCode, (detail: string, remedy?: string) => Error>>>;

/** Meanings of refusals of a call about one job. @param address the server's */
export const meaningsOfJob = (id: string, address: string): Meanings => ({
  'not-found': (detail) => new JobNotFound(id, `on ${address}`, detail.includes('is a group of jobs')),
  refused: (why) => new JobRefused(id, why),
});

/** The error for a refusing answer. @param address the server's */
export function errorOf(answer: HttpAnswer, address: string, meanings: Meanings = {}): Error {
  const problem = problemIn(answer);
  if (problem !== undefined) return errorOfProblem(problem, address, meanings, retryAfterMs(answer.headers));
  return foreign(answer, address, messageIn(answer.body.toString('utf8')).trim());
}

export function errorOfProblem(
  { code, status, detail, remedy, requestId }: ApiProblem,
  address: string,
  meanings: Meanings = {},
  retryAfter?: number,
): Error {
  const meaning = meanings[code];
  if (meaning !== undefined) return meaning(detail, remedy);
  switch (code) {
    case 'unauthenticated':
      return new NotLoggedIn(detail, remedy ?? 'log in with `jobctl login`');
    case 'forbidden':
      return new Forbidden(detail, remedy ?? '`jobctl whoami` shows whom the server knows you as');
    case 'too-many-requests':
      return new TooManyRequests(detail, retryAfter, remedy);
    case 'unavailable':
      return new ServerUnreachable(`jobctl serve at ${address}: ${detail}`, remedy);
    case 'internal':
      return new ServerRefused(
        `jobctl serve at ${address} failed (HTTP ${status}): ${detail}`,
        remedy ?? `its log has it under the id ${requestId}`,
      );
    default:
      return new ServerRefused(detail, remedy);
  }
}

function problemIn({ headers, body }: HttpAnswer): ApiProblem | undefined {
  if (headers['content-type']?.startsWith('application/problem+json') !== true) return undefined;
  try {
    const problem = JSON.parse(body.toString('utf8')) as Partial<ApiProblem>;
    return typeof problem.code === 'string' && typeof problem.detail === 'string' ? (problem as ApiProblem) : undefined;
  } catch {
    return undefined;
  }
}

/** The error for an answer of a proxy, or of a server that is not jobctl's. */
function foreign({ status, headers }: HttpAnswer, address: string, said: string): Error {
  const { location } = headers;
  if (location !== undefined && status < 400)
    return new ServerRefused(`${address} leads to ${location}`, 'name that address instead, if you trust it');
  const words = said === '' ? '' : `: ${said.slice(0, 300)}`;
  const what = `${address} answers HTTP ${status}${words}`;
  if (status === 429) return new TooManyRequests(what, retryAfterMs(headers));
  return status >= 502 && status <= 504
    ? new ServerUnreachable(what)
    : new ServerRefused(what, 'is it the address of a `jobctl serve`?');
}

/** @throws ServerRefused if the body is not JSON */
export function jsonOf<T>({ body, headers }: HttpAnswer, address: string): T {
  const text = body.toString('utf8');
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    const what = /html/.test(headers['content-type'] ?? '') ? 'a web page' : notJson(error, text);
    throw new ServerRefused(`what answers at ${address} is ${what}`, 'is it the address of a `jobctl serve`?');
  }
}

/** Wait in ms by the header Retry-After, which holds seconds or a date. Undefined: the header is missing or invalid. */
function retryAfterMs(headers: HttpAnswer['headers']): number | undefined {
  const text = headers['retry-after'];
  if (text === undefined) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
