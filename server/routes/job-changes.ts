import type { FastifyRequest } from 'fastify';
import {
  askerBody,
  cancelledSchema,
  deletedSchema,
  editBody,
  type ApiEdit,
  messageSchema,
  priorityBody,
  requeueBody,
  restartBody,
  setUpBody,
  stopBody,
} from '../../contract/api/changes.js';
import { jobParams } from '../../contract/api/jobs.js';
import type { JobEdit } from '../../client/job-calls.js';
import { isOver } from '../../client/job-rows.js';
import { purgeJob } from '../../client/purge-job.js';
import { type App, callOf } from '../bare-app.js';
import { ApiError } from '../problem.js';
import type { RouteVerb } from '../access/gate.js';
import type { ServerConfig } from '../config.js';
import type { Services } from '../services.js';
import { CHANGE_PROBLEMS, route } from './answers.js';

/** The changes that a person can request of one job. Each is allowed, recorded, and sent to the job in the caller's name. */
export function registerJobChanges(
  app: App,
  { client, dear, gate, store }: Services,
  { limits }: Pick<ServerConfig, 'limits'>,
): void {
  const changed = (summary: string) => ({
    tags: ['jobs'],
    summary,
    params: jobParams,
    response: { ...CHANGE_PROBLEMS, 200: messageSchema },
  });

  const cancel = {
    ...changed('End the job as cancelled'),
    body: askerBody.nullish(),
    response: { ...CHANGE_PROBLEMS, 200: cancelledSchema },
  };
  app.post('/v1/jobs/:id/cancel', route('cancel', cancel), async (request) => {
    const call = callOf(request);
    await gate.job(call, 'cancel', request.params.id);
    const { from, verb } = request.body ?? {};
    const asker = {
      by: call.caller.id,
      ...(from === undefined ? {} : { from }),
      ...(verb === undefined ? {} : { verb }),
    };
    return { state: await client.cancel(request.params.id, asker) };
  });

  app.post(
    '/v1/jobs/:id/stop',
    route('stop', { ...changed('End the command, keep or give back the slices'), body: stopBody.nullish() }),
    async (request) => {
      const call = callOf(request);
      await gate.job(call, 'stop', request.params.id);
      const { release, from } = request.body ?? {};
      const options = { ...(release === undefined ? {} : { release }), ...(from === undefined ? {} : { from }) };
      return { message: await client.stop(request.params.id, call.caller.id, options) };
    },
  );

  const edited = (verb: 'resume' | 'restart', summary: string, body: typeof editBody | typeof restartBody): void => {
    app.post(
      `/v1/jobs/:id/${verb}`,
      editRoute(verb, { ...changed(summary), body: body.nullish() }, limits),
      async (request) => {
        const call = callOf(request);
        const edit = request.body ?? {};
        const { id } = request.params as { readonly id: string };
        // An edit runs another command in the owner's name and with their secrets, so it needs more than the right to a restart.
        await gate.job(call, isEdit(edit) ? [verb, 'edit'] : verb, id);
        // The thread of all jobs' workflows checks the edit too, so its cost is checked and counted here first.
        const { job, set } = edit;
        const wanted = { ...(job === undefined ? {} : { job }), ...(set === undefined ? {} : { set }) };
        const { problems } = isEdit(edit) ? await dear.run('edit', wanted, call.caller.id) : {};
        if (problems !== undefined) throw new ApiError('invalid', problems);
        return { message: await client[verb](id, call.caller.id, editOf(edit)) };
      },
    );
  };
  edited('resume', 'Let a stopped job go on', editBody);
  edited('restart', 'Start the command again on the same slices, or with other machines', restartBody);

  app.post(
    '/v1/jobs/:id/requeue',
    route('requeue', { ...changed('Give slices and lease back, and ask again'), body: requeueBody.nullish() }),
    async (request) => {
      const call = callOf(request);
      await gate.job(call, 'requeue', request.params.id);
      const { zone, from } = request.body ?? {};
      const place = { ...(zone === undefined ? {} : { zone }), ...(from === undefined ? {} : { from }) };
      return { message: await client.requeue(request.params.id, call.caller.id, place) };
    },
  );

  app.post(
    '/v1/jobs/:id/setup',
    route('setup', { ...changed("Set the job's hosts up again"), body: setUpBody.nullish() }),
    async (request) => {
      const call = callOf(request);
      await gate.job(call, 'setup', request.params.id);
      const { modules, force, from } = request.body ?? {};
      const wish = {
        ...(modules === undefined ? {} : { modules }),
        ...(force === undefined ? {} : { force }),
        ...(from === undefined ? {} : { from }),
      };
      return { message: await client.setUp(request.params.id, call.caller.id, wish) };
    },
  );

  app.post(
    '/v1/jobs/:id/priority',
    route('priority', { ...changed("Change the job's priority"), body: priorityBody }),
    async (request) => {
      const call = callOf(request);
      const { id } = request.params;
      const { pool, owner } = await gate.job(call, 'priority', id);
      // The pool compares the name with the job's user and its own admins. The access table has allowed the caller, so the call
      // is made in the user's name; the pool's history records the caller.
      return { message: await client.quota(pool).setPriority(id, request.body.priority, owner, call.caller.id) };
    },
  );

  app.delete(
    '/v1/jobs/:id',
    route('delete', {
      ...changed('Delete what is stored of a job that has ended'),
      response: { ...CHANGE_PROBLEMS, 200: deletedSchema },
    }),
    async (request) => {
      const { id } = request.params;
      await gate.job(callOf(request), 'delete', id);
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
    },
  );
}

/** One subject may make as many edits as submits, in turns. A restart without changes is limited like any other call. */
const editRoute = <Schema>(verb: RouteVerb, schema: Schema, limits: ServerConfig['limits']) => {
  const isEditing = ({ body }: FastifyRequest): boolean => isEdit((body as ApiEdit | null | undefined) ?? {});
  const rateLimit = {
    max: (request: FastifyRequest) => (isEditing(request) ? limits.submitsPerMinute : limits.requestsPerMinute),
    timeWindow: 60_000,
    keyGenerator: (request: FastifyRequest) =>
      `${request.caller?.id ?? request.ip}${isEditing(request) ? ' edits' : ''}`,
  };
  return { config: { verb, turn: true, rateLimit }, schema };
};

const isEdit = ({ job, set, files }: ApiEdit): boolean =>
  job !== undefined || (set?.length ?? 0) > 0 || files !== undefined;

function editOf({ from, job, set, source, files, identityKeys }: ApiEdit): JobEdit {
  return {
    ...(from === undefined ? {} : { from }),
    ...(job === undefined ? {} : { job }),
    ...(set === undefined ? {} : { set }),
    ...(source === undefined ? {} : { source }),
    ...(files === undefined ? {} : { uploaded: files }),
    ...(identityKeys === undefined ? {} : { identityKeys }),
  };
}
