import type { FastifyRequest } from 'fastify';
import type { ApiEdit } from '../../contract/api/changes.js';
import { JOB_UPDATES, type JobVerb } from '../../contract/job.js';
import type { JobEdit } from '../../client/job-calls.js';
import { isOver } from '../../client/job-rows.js';
import { purgeJob } from '../../client/purge-job.js';
import { hostAccess } from '../host-access.js';
import { withJob } from '../job-text.js';
import { ApiError } from '../problem.js';
import type { ServerConfig } from '../config.js';
import type { Services } from '../services.js';
import type { Serve, Served } from './serve.js';

/** The changes that a person can request of one job. Each is allowed, recorded, and sent to the job in the caller's name. */
export function registerJobChanges(serve: Serve, services: Services, { limits }: Pick<ServerConfig, 'limits'>): void {
  const { client, dear, gate, store } = services;

  serve('cancel', async ({ call, params: { id }, body }) => ({
    state: await client.cancel(id, { by: call.caller.id, ...present(body) }),
  }));

  for (const verb of Object.keys(JOB_UPDATES) as JobVerb[]) {
    if (verb !== 'resume' && verb !== 'restart') {
      serve(verb, async ({ call, params: { id }, body }) => {
        const { verb: _, ...wish }: Partial<typeof body> & { readonly verb?: unknown } = body;
        return { message: await client[verb](id, call.caller.id, wish as never) };
      });
      continue;
    }
    const edited = async ({ call, params: { id }, body }: Served<'resume' | 'restart'>) => {
      // An edit runs another command in the owner's name and with their secrets, so it needs more than the right to a restart.
      await gate.job(call, isEdit(body) ? [verb, 'edit'] : verb, id);
      const edit = await withJob(dear, body, call.caller.id);
      // The thread of all jobs' workflows checks the edit too, so its cost is checked and counted here first.
      const { job, set } = edit;
      const { problems } = isEdit(edit) ? await dear.run('edit', present({ job, set }), call.caller.id) : {};
      if (problems !== undefined) throw new ApiError('invalid', problems);
      return { message: await client[verb](id, call.caller.id, editOf(edit)) };
    };
    serve(verb, edited, { asksItself: true, turn: true, rateLimit: editRate(limits) });
  }

  serve('priority', async ({ call, params: { id }, facts: { pool, owner }, body: { priority } }) => ({
    // The pool compares the name with the job's user and its own admins. The access table has allowed the caller, so the call
    // is made in the user's name; the pool's history records the caller.
    message: await client.quota(pool).setPriority(id, priority, owner, call.caller.id),
  }));

  serve('delete', async ({ params: { id } }) => {
    const row = await client.row(id);
    if (!isOver(row))
      throw new ApiError(
        'refused',
        `job ${id} is ${row.phase}: an open job writes into what would be deleted`,
        `end it first: POST /v1/jobs/${id}/cancel`,
      );
    const open = await client.openSlices(id);
    if (open.length > 0)
      throw new ApiError(
        'refused',
        `job ${id}: its slices are still being deleted: ${open.join(', ')}`,
        'repeat in a minute',
      );
    const { objects, bytes } = await purgeJob(store, id);
    return { message: `deleted ${objects} objects, ${bytes} bytes, of job ${id}`, objects, bytes };
  });

  serve('hostAccess', ({ params: { id } }) => hostAccess(services, id));
}

/** The keys that were sent: zod's types of others name `undefined`. */
const present = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]: Exclude<T[Key], undefined>;
  };

/** One subject may make as many edits as submits, in turns. A restart without changes is limited like any other call. */
const editRate = (limits: ServerConfig['limits']) => {
  const isEditing = ({ body }: FastifyRequest): boolean => isEdit((body as ApiEdit | null | undefined) ?? {});
  return {
    max: (request: FastifyRequest) => (isEditing(request) ? limits.submitsPerMinute : limits.requestsPerMinute),
    timeWindow: 60_000,
    keyGenerator: (request: FastifyRequest) =>
      `${request.caller?.id ?? request.ip}${isEditing(request) ? ' edits' : ''}`,
  };
};

const isEdit = ({ job, file, set, files }: ApiEdit): boolean =>
  job !== undefined || file !== undefined || (set?.length ?? 0) > 0 || files !== undefined;

const editOf = ({ files: uploaded, ...edit }: Omit<ApiEdit, 'file' | 'env'>): JobEdit =>
  present({ ...edit, uploaded }) as JobEdit;
