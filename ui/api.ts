import { createParser } from 'eventsource-parser';
import type { ApiProblem } from '../contract/api/failures.js';
import type { AnswerOf, BodySent, OperationName, OPERATIONS } from '../contract/operations.js';
import { pathOf } from './path.js';
import { type Series, seriesOf } from './series.js';
import { forgetToken, loggedIn, token } from './session.js';

/** Calls of the HTTP interface. Paths, bodies and answers are typed by the rows of contract/operations.ts. */

type Rows = typeof OPERATIONS;
export type Call = Rows[OperationName]['call'];
type NameOf<C extends Call> = { [Name in OperationName]: Rows[Name]['call'] extends C ? Name : never }[OperationName];
export type Answer<C extends Call> = AnswerOf<NameOf<C>>;
type Value = string | number | boolean | undefined;

export interface Asked<C extends Call> {
  /** The job, group, schedule or pool of the path. */
  readonly of?: string;
  readonly query?: Readonly<Record<string, Value>>;
  readonly body?: BodySent<NameOf<C>>;
  readonly signal?: AbortSignal;
}

/** The server refused the call, did not answer (`unreachable`), or does not know the call (`older`). */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly code: ApiProblem['code'] | 'unreachable' | 'older';
  readonly remedy: string | undefined;

  constructor({ code, detail, remedy }: Pick<ApiProblem, 'detail' | 'remedy'> & { readonly code: Refused['code'] }) {
    super(detail);
    this.code = code;
    this.remedy = remedy;
  }
}

/**
 * Cached answers with their ETags, by path: the server sends an answer again only if it has changed. The oldest is dropped
 * first.
 */
const known = new Map<string, { readonly tag: string; readonly answer: unknown }>();
const MOST_KNOWN = 40;

export async function call<C extends Call>(of: C, asked: Asked<C> = {}): Promise<Answer<C>> {
  const path = pathOf(of, asked.of, asked.query);
  const [method = 'GET'] = of.split(' ');
  const before = method === 'GET' ? known.get(path) : undefined;
  const response = await request(path, {
    method,
    ...(asked.signal && { signal: asked.signal }),
    headers: { ...(before && { 'if-none-match': before.tag }) },
    ...(asked.body !== undefined && { body: JSON.stringify(asked.body) }),
  });
  if (response.status === 304 && before) return before.answer as Answer<C>;
  if (response.status === 204) return undefined as Answer<C>;
  const answer = (await response.json()) as Answer<C>;
  const tag = response.headers.get('etag');
  if (method === 'GET' && tag !== null) {
    known.delete(path);
    known.set(path, { tag, answer });
    for (const oldest of known.keys()) if (known.size > MOST_KNOWN) known.delete(oldest);
  }
  return answer;
}

/** Text of a stored object. */
export async function objectText(name: string, signal?: AbortSignal): Promise<string> {
  const path = pathOf('GET /v1/objects/content', '', { name });
  return (await request(path, { method: 'GET', ...(signal && { signal }) })).text();
}

/** The first 16 MiB of a stored object. The server sends no more. */
export async function objectBytes(name: string): Promise<ArrayBuffer> {
  return (await request(pathOf('GET /v1/objects/content', '', { name }), { method: 'GET' })).arrayBuffer();
}

/** Names of stored objects, a thousand at most. */
export async function objectNames(prefix: string, signal: AbortSignal): Promise<readonly string[]> {
  const { objects } = await call('GET /v1/objects', { query: { prefix }, signal });
  return objects.map(({ name }) => name);
}

interface Sent {
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/** @throws Refused */
async function request(path: string, { headers = {}, ...sent }: Sent): Promise<Response> {
  const own = token();
  const response = await fetch(path, {
    ...sent,
    headers: {
      ...headers,
      ...(own !== undefined && { authorization: `Bearer ${own}` }),
      ...(sent.body !== undefined && { 'content-type': 'application/json' }),
    },
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
  }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Refused({
      code: 'unreachable',
      detail: 'The server does not answer.',
      remedy: 'This page keeps trying.',
    });
  });
  if (response.ok || response.status === 304) return response;
  const refusal = await refusalOf(response);
  // Another tab may have logged in again meanwhile.
  if (refusal.code === 'unauthenticated' && token() === own) forgetToken();
  throw refusal;
}

/** A server's words for a path that it has no call for (server/app.ts). */
const NO_ROUTE = /^no (?:GET|POST|PUT|DELETE) \/v1\//;

async function refusalOf(response: Response): Promise<Refused> {
  try {
    const problem = (await response.json()) as ApiProblem;
    if (problem.code !== 'not-found' || !NO_ROUTE.test(problem.detail)) return new Refused(problem);
    return new Refused({
      code: 'older',
      detail: 'This server does not tell this: it is of an earlier version than the page.',
    });
  } catch {
    return new Refused({ code: 'unavailable', detail: `The server answered with HTTP ${response.status}.` });
  }
}

export interface Stretch {
  readonly attempt: number;
  readonly host: number;
  readonly offset: number;
  readonly storedAt: number;
  readonly bytes: string;
  readonly isLostTail?: boolean;
}
export interface LogEvents {
  stretch(stretch: Stretch): void;
  attemptEnd(attempt: number): void;
  end(): void;
}
export interface LogWish {
  readonly attempt?: number | undefined;
  readonly hosts?: readonly number[] | undefined;
  readonly tail?: number;
  /** Position to begin at: `ATTEMPT;HOST:OFFSET`. */
  readonly position?: string | undefined;
}

/** Pause before a broken stream is requested again. */
const AGAIN_MS = 2_000;
/** Refusals after which a log goes on where it was. */
const PASSING: ReadonlySet<string> = new Set(['unreachable', 'unavailable', 'unauthenticated']);

/** Follows a log until it ends or `signal` is aborted. A broken stream is resumed at its last position. @throws Refused */
export async function followLog(job: string, wish: LogWish, events: LogEvents, signal: AbortSignal): Promise<void> {
  let position = wish.position;
  for (;;) {
    const { attempt, hosts, tail } = wish;
    const query = { follow: true, attempt, host: hosts?.join(','), tail: position === undefined ? tail : undefined };
    let isOver = false;
    const own = token();
    try {
      const response = await request(pathOf('GET /v1/jobs/:id/logs', job, query), {
        method: 'GET',
        headers: { ...(position !== undefined && { 'last-event-id': position }) },
        signal,
      });
      await eachEvent(response, ({ event, id, data }) => {
        position = id ?? position;
        const told = JSON.parse(data) as unknown;
        if (event === 'stretch') events.stretch(told as Stretch);
        else if (event === 'attempt-end') events.attemptEnd((told as { readonly attempt: number }).attempt);
        else if (event === 'problem') throw new Refused(told as ApiProblem);
        else if (event === 'end') isOver = true;
      });
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Refused) || !PASSING.has(error.code)) throw error;
      // A stream ends so too when its login does. It goes on with the next one.
      if (error.code === 'unauthenticated') {
        if (token() === own) forgetToken();
        await loggedIn(signal);
      }
    }
    if (isOver) {
      events.end();
      return;
    }
    if (signal.aborted) return;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

async function eachEvent(
  { body }: Response,
  told: (event: {
    readonly event?: string | undefined;
    readonly id?: string | undefined;
    readonly data: string;
  }) => void,
): Promise<void> {
  if (body === null) return;
  const parser = createParser({ onEvent: told });
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  // A connection that breaks ends the events, as one that is closed does.
  const next = (): Promise<ReadableStreamReadResult<string>> =>
    reader.read().catch(() => ({ done: true, value: undefined }) as const);
  try {
    for (let piece = await next(); !piece.done; piece = await next()) parser.feed(piece.value);
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** Series of a job's metrics. Empty: it reports none. */
export async function readMetrics(job: string, signal: AbortSignal): Promise<readonly Series[]> {
  try {
    return seriesOf(await call('GET /v1/jobs/:id/metrics', { of: job, signal }));
  } catch (error) {
    if (error instanceof Refused && error.code === 'not-found') return [];
    throw error;
  }
}
