import { Readable } from 'node:stream';
import type { AnswerOf, Asked } from '../../contract/operations.js';
import { inTurns, JobLogReader, storedAttempts, type LogStretch } from '../../client/job-logs.js';
import { jobMetrics } from '../../client/job-metrics.js';
import { hostsWithChunks } from '../../cloud/store/log-chunks.js';
import { type LogStart, logStart } from '../../cloud/store/log-starts.js';
import { logPrefix } from '../../domain/store-layout.js';
import type { StoreReader } from '../../cloud/store/port.js';
import { readPoolState } from '../../client/pool-state.js';
import { jobOfLeaseKey } from '../../domain/lease.js';
import { plainWording } from '../../quota/explanation/explain-words.js';
import { whySentences } from '../../quota/explanation/why-sentences.js';
import { whyWaiting, type WhyWaiting } from '../../quota/explanation/why-waiting.js';
import type { PoolSnapshot } from '../../quota/published-state.js';
import { rowTo } from '../access/gate.js';
import { type LogPosition, parsePosition, positionText } from '../../contract/api/log-position.js';
import { ApiError, apiErrorOf, problemOf } from '../problem.js';
import type { Services } from '../services.js';
import type { Handler, Serve } from './serve.js';
import type { ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { ApiProblem } from '../../contract/api/failures.js';
import type { logEndSchema } from '../../contract/api/stored.js';
import type { LogSink } from '../../client/log-follower.js';

/** Routes for logs and metrics of jobs, stored and followed, and for why a job waits. */
export function registerLogs(serve: Serve, services: Services): void {
  const { client, gate, feeds, rights, store } = services;
  // The feeds count how many logs a subject follows.
  const turn = (query: unknown): boolean => !(query as Asked<'logs'>['query']).follow;
  const logs: Handler<'logs'> = async ({ call, params: { id }, query, headers, request, reply }) => {
    const { follow, attempt, stream, host: hosts, tail } = query;
    const mostHosts = async (): Promise<number> => (await client.row(id)).chips ?? MOST_HOSTS;
    if (!follow) {
      const attempts = attempt === undefined ? await storedAttempts(feeds.reader, id, stream) : [attempt];
      const ends =
        tail === undefined
          ? undefined
          : await tailOf(feeds.reader, logPrefix(id, attempts.at(-1) ?? 1, stream), {
              tail,
              hosts,
              most: await mostHosts(),
            });
      const shown = ends === undefined ? attempts : attempts.slice(-1);
      const text = Readable.from(storedText(feeds.reader, id, { attempts: shown, stream, hosts, starts: ends }), {
        objectMode: false,
      });
      return reply.type('text/plain; charset=utf-8').send(text);
    }
    const begin = async (): Promise<{ readonly from: LogPosition; readonly starts: ReadonlyMap<number, LogStart> }> => {
      const lastEventId = headers['last-event-id'];
      if (tail === undefined || lastEventId) {
        const said = positionOf(lastEventId, attempt);
        const from = await ofRealHosts(feeds.reader, logPrefix(id, said.attempt, stream), said);
        return { from, starts: startsOf(from) };
      }
      const last = attempt ?? (await storedAttempts(feeds.reader, id, stream)).at(-1) ?? 1;
      const starts = await tailOf(feeds.reader, logPrefix(id, last, stream), { tail, hosts, most: await mostHosts() });
      const given = new Map([...starts].map(([host, { offset }]) => [host, offset]));
      return { from: { attempt: last, given }, starts };
    };
    const { from, starts } = await begin();
    const gone = new AbortController();
    request.raw.once('close', () => gone.abort());
    const right = rights.hold(call, 'logs', id);
    const stop = AbortSignal.any([gone.signal, right.lost]);
    reply.hijack();
    reply.raw.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-request-id': request.id,
      'x-accel-buffering': 'no',
    });
    reply.raw.flushHeaders();
    const events = new LogEvents(reply.raw, from, stop);
    const selection = {
      job: id,
      stream,
      firstAttempt: from.attempt,
      ...(attempt === undefined ? {} : { lastAttempt: attempt }),
      ...(hosts === undefined ? {} : { hosts }),
      starts,
    };
    try {
      const row = await feeds.follow(call.caller.id, selection, events, stop);
      stop.throwIfAborted();
      await events.end({
        phase: row.phase,
        ...(row.outcome === undefined ? {} : { outcome: { ...row.outcome } as never }),
      });
    } catch (error) {
      if (!gone.signal.aborted) {
        const failure =
          apiErrorOf(error) ?? new ApiError('unavailable', 'the log cannot be read now', 'follow it again');
        request.log.warn({ requestId: request.id, err: error }, 'a followed log broke off');
        await events.problem(problemOf(failure, request.id));
      }
    } finally {
      right.end();
      events.close();
    }
    return reply;
  };
  serve('logs', logs, { turn });

  serve(
    'metrics',
    async ({ params: { id }, query: { name: names, host, x: axis, points } }) =>
      jobMetrics(store, id, { names, host, axis, points }) as Promise<AnswerOf<'metrics'>>,
  );

  serve('why', async ({ call, params: { id } }) => {
    const row = await rowTo(gate, call.caller, await client.row(id));
    const state = row.endedAt === undefined ? await readPoolState(store, row.pool) : undefined;
    const waiting = state && whyWaiting(state, id);
    return {
      phase: row.phase,
      ...(row.why === undefined ? {} : { why: row.why }),
      ...(waiting && state && { waiting: { ...waiting }, words: wordsOf(id, waiting, state) }),
    };
  });
}

function wordsOf(id: string, waiting: WhyWaiting, { view }: PoolSnapshot) {
  const words = { ...plainWording(view.config), nameOf: jobOfLeaseKey };
  const { head, reasons, outlook } = whySentences(id, waiting, words);
  return { head, reasons: [...reasons], outlook };
}

async function* storedText(
  reader: StoreReader,
  job: string,
  {
    attempts,
    stream,
    hosts,
    starts,
  }: {
    readonly attempts: readonly number[];
    readonly stream: string;
    readonly hosts: readonly number[] | undefined;
    readonly starts: ReadonlyMap<number, LogStart> | undefined;
  },
): AsyncGenerator<Buffer> {
  for (const attempt of attempts) {
    const lines = hosts?.length === 1 ? undefined : new HostLines();
    for await (const stretch of new JobLogReader(reader, job, { attempt, stream, hosts, starts }).unread())
      yield lines === undefined ? stretch.bytes : Buffer.from(lines.push(stretch), 'latin1');
    if (lines !== undefined) yield Buffer.from(lines.rest(), 'latin1');
  }
}

function positionOf(lastEventId: string | undefined, attempt: number | undefined): LogPosition {
  if (lastEventId === undefined || lastEventId === '') return { attempt: attempt ?? 1, given: new Map() };
  const position = parsePosition(lastEventId);
  if (position !== undefined) return position;
  throw new ApiError(
    'invalid',
    `Last-Event-ID: '${lastEventId.slice(0, 60)}' is the id of no event of a log`,
    'leave it out to begin anew',
  );
}

/** Hosts of a position that are accepted without a check. Each costs a listing per look, and a client may name any number. */
const MOST_BELIEVED = 64;

/** Removes hosts from the position that have stored nothing: a client made them up. @param prefix the stream's (`logPrefix`) */
export async function ofRealHosts(
  reader: Pick<StoreReader, 'list'>,
  prefix: string,
  position: LogPosition,
): Promise<LogPosition> {
  if (position.given.size <= MOST_BELIEVED) return position;
  const real = new Set(await hostsWithChunks(reader, prefix));
  return { ...position, given: new Map([...position.given].filter(([host]) => real.has(host))) };
}

/** Starts at each host's offset. The chunk at an offset is unknown, so the search begins at chunk 0: one more listing. */
const startsOf = ({ given }: LogPosition): ReadonlyMap<number, LogStart> =>
  new Map([...given].map(([host, offset]) => [host, { offset, chunk: 0 }]));

/** Most hosts of a job of unknown size whose ends are looked for. */
const MOST_HOSTS = 1_000;

/** The place where the last `tail` lines of each host begin. @param prefix the stream's (`logPrefix`) @param most hosts of the job */
async function tailOf(
  reader: StoreReader,
  prefix: string,
  {
    tail,
    hosts,
    most,
  }: { readonly tail: number; readonly hosts: readonly number[] | undefined; readonly most: number },
): Promise<ReadonlyMap<number, LogStart>> {
  const meant = hosts ?? (await hostsWithChunks(reader, prefix));
  // Hosts write into the bucket, and may invent numbers.
  const real = meant.filter((host) => host < most);
  return new Map(
    await inTurns(real.map((host) => async () => [host, await logStart(reader, prefix, host, { tail })] as const)),
  );
}

/** Limit of a line. A longer line is split, because a line without an end is searched again with each new piece. */
const MOST_LINE_BYTES = 65_536;

/**
 * Formats the lines of several hosts as text, each with its host in front, as `jobctl logs` prints them. An unfinished line waits
 * for its end or for `rest`.
 */
export class HostLines {
  readonly #open = new Map<number, string>();

  push({ host, bytes, isLostTail }: LogStretch): string {
    const text = (this.#open.get(host) ?? '') + bytes.toString('latin1');
    const ended = text.lastIndexOf('\n') + 1;
    const end = isLostTail === true || text.length - ended > MOST_LINE_BYTES ? text.length : ended;
    this.#open.set(host, text.slice(end));
    return prefixed(host, text.slice(0, end));
  }

  rest(): string {
    const lines = [...this.#open].toSorted(([a], [b]) => a - b).map(([host, text]) => prefixed(host, text));
    this.#open.clear();
    return lines.join('');
  }
}

/** Puts the host in front of each line. `text` is latin1, which holds each byte as one character. */
function prefixed(host: number, text: string): string {
  if (text === '') return '';
  const lines = text.endsWith('\n') ? text.slice(0, -1) : text;
  const mark = `${host} | `;
  return `${mark}${lines.replaceAll('\n', `\n${mark}`)}\n`;
}

/** Interval between heartbeats: proxies close connections that are silent for about a minute. */
const HEARTBEAT_MS = 15_000;
/** Time for a slow client to take the remaining bytes after the last event. */
const LAST_WORDS_MS = 30_000;

/**
 * Sends a log as server-sent events: `stretch` (bytes of one host), `attempt-end`, `end`, `problem`. The id of each event is the
 * position reached, `ATTEMPT;HOST:OFFSET,..`, so that a client that lost its connection continues by `Last-Event-ID` without a
 * gap or a repetition.
 */
export class LogEvents implements LogSink {
  readonly #response: ServerResponse;
  readonly #stop: AbortSignal;
  readonly #heartbeat: NodeJS.Timeout;
  #attempt: number;
  readonly #given: Map<number, number>;

  /**
   * @param from the position that the client has reached
   * @param stop aborts the sending, even if a slow client has not taken all bytes
   */
  constructor(response: ServerResponse, from: LogPosition, stop: AbortSignal) {
    this.#response = response;
    this.#stop = stop;
    this.#attempt = from.attempt;
    this.#given = new Map(from.given);
    this.#heartbeat = setInterval(() => {
      // A client that reads nothing must not accumulate hours of heartbeats.
      if (!response.writableNeedDrain) response.write(': \n\n');
    }, HEARTBEAT_MS);
  }

  async stretch({ attempt, host, bytes, storedAt, isLostTail }: LogStretch): Promise<void> {
    this.#stop.throwIfAborted();
    this.#attempt = attempt;
    const offset = this.#given.get(host) ?? 0;
    // The note about a lost end of a log does not count as bytes of it.
    if (isLostTail !== true) this.#given.set(host, offset + bytes.length);
    const data = {
      attempt,
      host,
      offset,
      storedAt,
      bytes: bytes.toString('base64'),
      ...(isLostTail === true ? { isLostTail } : {}),
    };
    await this.#send('stretch', data);
  }

  async attemptEnd(attempt: number): Promise<void> {
    this.#stop.throwIfAborted();
    this.#attempt = attempt + 1;
    this.#given.clear();
    await this.#send('attempt-end', { attempt });
  }

  end(data: z.input<typeof logEndSchema>): Promise<void> {
    return this.#send('end', data);
  }

  /** Tells the client that the log cannot continue. The client then follows anew, with a new token if its login has ended. */
  problem(problem: ApiProblem): Promise<void> {
    return this.#send('problem', problem);
  }

  close(): void {
    clearInterval(this.#heartbeat);
    const response = this.#response;
    response.end();
    if (response.writableFinished) return;
    const cut = setTimeout(() => response.destroy(), LAST_WORDS_MS).unref();
    response.once('close', () => clearTimeout(cut));
  }

  /** Waits for a slow client, so that only the socket's buffer is held for it. */
  async #send(event: string, data: object): Promise<void> {
    if (this.#response.destroyed) return;
    const id = positionText({ attempt: this.#attempt, given: this.#given });
    const isTaken = this.#response.write(`event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`);
    if (isTaken) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#response.off('drain', done).off('close', done);
        this.#stop.removeEventListener('abort', done);
        resolve();
      };
      this.#response.on('drain', done).on('close', done);
      this.#stop.addEventListener('abort', done);
      if (this.#stop.aborted) done();
    });
  }
}
