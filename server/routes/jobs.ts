import { openSlicesSchema } from '../../contract/api/changes.js';
import {
  idempotencyHeaders,
  jobCountsSchema,
  jobFilterSchema,
  jobPageSchema,
  jobParams,
  jobRowSchema,
  jobViewSchema,
  submissionSchema,
  submittedSchema,
  waitedSchema,
  waitQuery,
} from '../../contract/api/jobs.js';
import { z } from 'zod';
import type { JobFilter } from '../../client/job-query.js';
import { isOver, type JobRow } from '../../client/job-rows.js';
import { pause } from '../../client/outage.js';
import type { Outcome } from '../../domain/job-state.js';
import { rowTo, toldTo } from '../access/told-jobs.js';
import { type App, callOf } from '../bare-app.js';
import type { ServerConfig } from '../config.js';
import { ApiError } from '../problem.js';
import type { Services } from '../services.js';
import { submitFor } from '../submit.js';
import { CHANGE_PROBLEMS, dearRoute, PROBLEMS, route } from './answers.js';

/** Most rows that may precede a page; a filter that finds more must be narrowed. */
const MOST_BEHIND = 10_000;
const LOOK_MS = 1_000;
/** Looks per `LOOK_MS` for all waits of one subject. With more waits, each result arrives a little later. */
const LOOKS = 20;

/** Routes that submit jobs and show them. */
export function registerJobs(app: App, services: Services, { limits }: Pick<ServerConfig, 'limits'>): void {
  const { client, gate } = services;

  const submit = {
    tags: ['jobs'],
    summary: 'Submit a job',
    body: submissionSchema,
    headers: idempotencyHeaders,
    response: { ...CHANGE_PROBLEMS, 200: submittedSchema.describe('It was submitted before.'), 201: submittedSchema },
  };
  app.post('/v1/jobs', dearRoute('submit', submit, limits), async (request, reply) => {
    const { 'idempotency-key': key } = request.headers;
    if (key !== undefined && request.body.name !== undefined)
      throw new ApiError('invalid', 'a call has a name or an Idempotency-Key, not both', 'the name is one already');
    const { id, isNew, spec } = await submitFor(services, callOf(request), request.body, key);
    return reply.status(isNew ? 201 : 200).send({ id, isNew, spec: { ...spec } });
  });

  const list = {
    tags: ['jobs'],
    summary: 'List jobs',
    querystring: jobFilterSchema,
    response: { ...PROBLEMS, 200: jobPageSchema },
  };
  app.get('/v1/jobs', route('list', list), async (request) => {
    const { limit, pageToken, pool } = request.query;
    const call = callOf(request);
    await gate.about(call, 'list', { pool: pool ?? 'default' });
    const filter = filterOf(request.query);
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

  const count = {
    tags: ['jobs'],
    summary: 'Count jobs',
    querystring: jobFilterSchema,
    response: { ...PROBLEMS, 200: jobCountsSchema },
  };
  app.get('/v1/jobs/count', route('list', count), async (request) => {
    await gate.about(callOf(request), 'list', { pool: request.query.pool ?? 'default' });
    const { total, open, ended } = await client.count(filterOf(request.query));
    return { total, open, ended: { ...ended } };
  });

  const row = {
    tags: ['jobs'],
    summary: "A job's status",
    params: jobParams,
    response: { ...PROBLEMS, 200: jobRowSchema },
  };
  app.get('/v1/jobs/:id', route('status', row), async (request) => {
    const call = callOf(request);
    await gate.job(call, 'status', request.params.id);
    return plainRow(await rowTo(gate, call.caller, await client.row(request.params.id)));
  });

  const view = {
    tags: ['jobs'],
    summary: "Everything the job's workflow knows",
    params: jobParams,
    response: { ...PROBLEMS, 200: jobViewSchema },
  };
  app.get('/v1/jobs/:id/description', route('describe', view), async (request) => {
    const call = callOf(request);
    const facts = await gate.job(call, 'describe', request.params.id);
    return (await toldTo(gate, call.caller, facts, await client.describe(request.params.id))) as never;
  });

  const slices = {
    tags: ['jobs'],
    summary: 'Slices that are still being deleted',
    params: jobParams,
    response: { ...PROBLEMS, 200: openSlicesSchema },
  };
  app.get('/v1/jobs/:id/open-slices', route('status', slices), async (request) => {
    await gate.job(callOf(request), 'status', request.params.id);
    const deletions = [...(await client.deletions(request.params.id))];
    return { names: deletions.map(({ slice }) => slice), deletions };
  });

  const wait = {
    tags: ['jobs'],
    summary: 'Wait for the end',
    params: jobParams,
    querystring: waitQuery,
    response: { ...PROBLEMS, 200: waitedSchema },
  };
  const waits = new Map<string, number>();
  const waiting = (subject: string, change: number): void => {
    const count = (waits.get(subject) ?? 0) + change;
    if (count === 0) waits.delete(subject);
    else waits.set(subject, count);
  };
  app.get('/v1/jobs/:id/wait', route('status', wait, { turn: false }), async (request) => {
    const call = callOf(request);
    const facts = await gate.job(call, 'status', request.params.id);
    const gone = new AbortController();
    request.raw.once('close', () => gone.abort());
    const { id: subject } = call.caller;
    const until = Date.now() + request.query.timeoutMs;
    const pauseMs = (): number =>
      Math.min(LOOK_MS * Math.max(1, (waits.get(subject) ?? 1) / LOOKS), until - Date.now());
    waiting(subject, 1);
    const outcome = await waitFor(client, request.params.id, pauseMs, gone.signal).finally(() => waiting(subject, -1));
    if (outcome === undefined) return { isOver: false };
    return { isOver: true, ...((await toldTo(gate, call.caller, facts, { outcome })) as { readonly outcome: never }) };
  });

  const polls = {
    tags: ['jobs'],
    summary: 'Whether workers poll a task queue',
    querystring: z.object({ taskQueue: z.string().min(1).max(200).optional() }),
    response: { ...PROBLEMS, 200: z.looseObject({ taskQueue: z.string() }) },
  };
  app.get('/v1/polls', route('list', polls), async (request) => {
    await gate.about(callOf(request), 'list', { pool: 'default' });
    return { ...(await client.polls(request.query.taskQueue)) };
  });
}

/** A row as JSON. The cast is needed because the schema's type is open for later keys, and the row's is closed. */
const plainRow = (row: JobRow): z.output<typeof jobRowSchema> => ({ ...row }) as never;

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
