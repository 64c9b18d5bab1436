import type { z } from 'zod';
import type { jobFilterSchema } from '../../contract/api/jobs.js';
import type { AnswerOf } from '../../contract/operations.js';
import type { JobFilter } from '../../client/job-query.js';
import { JobInvalid, pause } from '../../client/errors.js';
import { isOver, type JobRow } from '../../client/job-rows.js';
import type { Outcome } from '../../domain/job-state.js';
import { rowTo, toldTo } from '../access/gate.js';
import type { ServerConfig } from '../config.js';
import { ApiError } from '../problem.js';
import type { Services } from '../services.js';
import { submitFor } from '../submit.js';
import { dear, type Serve } from './serve.js';

/** Most rows that may precede a page; a filter that finds more must be narrowed. */
const MOST_BEHIND = 10_000;
const LOOK_MS = 1_000;
/** Looks that all waits of one subject share per `LOOK_MS`. With more waits, each result arrives a little later. */
const LOOKS = 20;

/** Routes that submit jobs and show them. */
export function registerJobs(serve: Serve, services: Services, { limits }: Pick<ServerConfig, 'limits'>): void {
  const { client, gate } = services;

  serve(
    'submit',
    async ({ call, headers: { 'idempotency-key': key }, body, reply }) => {
      if (key !== undefined && body.name !== undefined)
        throw new ApiError('invalid', 'a call has a name or an Idempotency-Key, not both', 'the name is one already');
      const { id, isNew, spec, members, warnings = [] } = await submitFor(services, call, body, key);
      const told = warnings.length === 0 ? {} : { warnings: [...warnings] };
      return reply
        .status(isNew ? 201 : 200)
        .send({ id, isNew, spec: { ...spec }, ...(members !== undefined && { members }), ...told });
    },
    { asksItself: true, ...dear(limits) },
  );

  serve('list', async ({ call, query }) => {
    const { limit, pageToken } = query;
    const filter = filterOf(query);
    const from = offsetOf(pageToken);
    const [{ total, open }, found] = await Promise.all([client.count(filter), client.find(filter, from + limit + 1)]);
    const shown = await Promise.all(found.slice(from, from + limit).map((each) => rowTo(gate, call.caller, each)));
    return {
      rows: shown.map(plainRow),
      total,
      open,
      ...(found.length > from + limit ? { nextPageToken: tokenOf(from + limit) } : {}),
    };
  });

  serve('count', async ({ query }) => {
    const { total, open, ended } = await client.count(filterOf(query));
    return { total, open, ended: { ...ended } };
  });

  serve('status', async ({ call, params: { id } }) => plainRow(await rowTo(gate, call.caller, await client.row(id))));

  serve(
    'describe',
    async ({ call, params: { id }, facts }) =>
      (await toldTo(gate, call.caller, facts, await client.describe(id))) as never,
  );

  serve('openSlices', async ({ params: { id } }) => {
    const deletions = [...(await client.deletions(id))];
    return { names: deletions.map(({ slice }) => slice), deletions };
  });

  const waits = new Map<string, number>();
  const waiting = (subject: string, change: number): void => {
    const count = (waits.get(subject) ?? 0) + change;
    if (count === 0) waits.delete(subject);
    else waits.set(subject, count);
  };
  serve(
    'wait',
    async ({ call, params: { id }, query: { timeoutMs }, facts, request }) => {
      const gone = new AbortController();
      request.raw.once('close', () => gone.abort());
      const { id: subject } = call.caller;
      const until = Date.now() + timeoutMs;
      const pauseMs = (): number =>
        Math.min(LOOK_MS * Math.max(1, (waits.get(subject) ?? 1) / LOOKS), until - Date.now());
      waiting(subject, 1);
      const outcome = await waitFor(client, id, pauseMs, gone.signal)
        .finally(() => waiting(subject, -1))
        .catch(async (error: unknown) => {
          if (!(error instanceof JobInvalid)) throw error;
          // The reason of a refusal may show the job's own words.
          const { why } = await toldTo(gate, call.caller, facts, { why: error.message });
          throw new JobInvalid(why);
        });
      if (outcome === undefined) return { isOver: false };
      return {
        isOver: true,
        ...((await toldTo(gate, call.caller, facts, { outcome })) as { readonly outcome: never }),
      };
    },
    { turn: false },
  );

  serve('polls', async ({ query: { taskQueue } }) => ({ ...(await client.polls(taskQueue)) }));
}

/** A row as JSON. The cast is needed because the schema's type is open for later keys, and the row's is closed. */
const plainRow = (row: JobRow): AnswerOf<'status'> => ({ ...row }) as never;

/** @param pauseMs time until the next look; 0 or less ends the wait @returns undefined if the job has not ended in time */
async function waitFor(
  client: Services['client'],
  id: string,
  pauseMs: () => number,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  for (;;) {
    const row = await client.row(id);
    // JobClient knows the outcome of every closed job, and tells if one was terminated.
    if (isOver(row)) return client.wait(id);
    const ms = pauseMs();
    if (ms <= 0 || signal.aborted) return undefined;
    await pause(ms, signal);
  }
}

function filterOf({ limit: _, pageToken: __, ...filter }: z.output<typeof jobFilterSchema>): JobFilter {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

const tokenOf = (offset: number): string => Buffer.from(`1.${offset}`).toString('base64url');

function offsetOf(token: string | undefined): number {
  if (token === undefined) return 0;
  const [, digits] = /^1\.(\d{1,6})$/.exec(Buffer.from(token, 'base64url').toString()) ?? [];
  const offset = Number(digits ?? NaN);
  if (Number.isNaN(offset))
    throw new ApiError(
      'invalid',
      `pageToken: '${token.slice(0, 60)}' is none of this server`,
      'take nextPageToken of the page before',
    );
  if (offset > MOST_BEHIND)
    throw new ApiError('invalid', `pages end at ${MOST_BEHIND} jobs`, 'narrow the filter, such as by since');
  return offset;
}
