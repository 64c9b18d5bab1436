import { Readable } from 'node:stream';
import type { Asked } from '../../contract/operations.js';
import { JobLogReader, storedAttempts } from '../../client/job-logs.js';
import { hostsWithChunks } from '../../cloud/store/log-chunks.js';
import type { LogStart } from '../../cloud/store/log-starts.js';
import { logPrefix } from '../../domain/store-layout.js';
import type { StoreReader } from '../../cloud/store/port.js';
import { whyWaiting } from '../../client/why-waiting.js';
import { readPoolState } from '../../client/pool-state.js';
import { rowTo } from '../access/told-jobs.js';
import { type LogPosition, parsePosition } from '../../contract/api/log-position.js';
import { LogEvents } from '../log-events.js';
import { HostLines } from '../log-text.js';
import { ApiError, apiErrorOf, problemOf } from '../problem.js';
import type { Services } from '../services.js';
import type { Handler, Serve } from './serve.js';

/** Routes for logs of jobs, stored and followed, and for why a job waits. */
export function registerLogs(serve: Serve, services: Services): void {
  const { client, gate, feeds, rights, store } = services;
  // The feeds count how many logs a subject follows.
  const turn = (query: unknown): boolean => !(query as Asked<'logs'>['query']).follow;
  const logs: Handler<'logs'> = async ({ call, params: { id }, query, headers, request, reply }) => {
    const { follow, attempt, stream, host: hosts } = query;
    if (!follow) {
      const attempts = attempt === undefined ? await storedAttempts(feeds.reader, id, stream) : [attempt];
      const text = Readable.from(storedText(feeds.reader, id, { attempts, stream, hosts }), {
        objectMode: false,
      });
      return reply.type('text/plain; charset=utf-8').send(text);
    }
    const said = positionOf(headers['last-event-id'], attempt);
    const from = await ofRealHosts(feeds.reader, logPrefix(id, said.attempt, stream), said);
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
      starts: startsOf(from),
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

  serve('why', async ({ call, params: { id } }) => {
    const row = await rowTo(gate, call.caller, await client.row(id));
    const state = row.endedAt === undefined ? await readPoolState(store, row.pool) : undefined;
    const waiting = state && whyWaiting(state, id);
    return {
      phase: row.phase,
      ...(row.why === undefined ? {} : { why: row.why }),
      ...(waiting === undefined ? {} : { waiting: { ...waiting } }),
    };
  });
}

async function* storedText(
  reader: StoreReader,
  job: string,
  {
    attempts,
    stream,
    hosts,
  }: { readonly attempts: readonly number[]; readonly stream: string; readonly hosts: readonly number[] | undefined },
): AsyncGenerator<Buffer> {
  for (const attempt of attempts) {
    const lines = hosts?.length === 1 ? undefined : new HostLines();
    for await (const stretch of new JobLogReader(reader, job, { attempt, stream, hosts }).unread())
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

/** Removes hosts that have stored nothing, which a client made up. @param prefix the stream's (`logPrefix`) */
export async function ofRealHosts(
  reader: Pick<StoreReader, 'list'>,
  prefix: string,
  position: LogPosition,
): Promise<LogPosition> {
  if (position.given.size <= MOST_BELIEVED) return position;
  const real = new Set(await hostsWithChunks(reader, prefix));
  return { ...position, given: new Map([...position.given].filter(([host]) => real.has(host))) };
}

/** The chunk at a host's offset is unknown, so the search begins at chunk 0: one more listing, once. */
const startsOf = ({ given }: LogPosition): ReadonlyMap<number, LogStart> =>
  new Map([...given].map(([host, offset]) => [host, { offset, chunk: 0 }]));
