import type { FiringRow, ScheduleRow } from '../../client/schedule-rows.js';
import type { AnswerOf } from '../../contract/operations.js';
import type { AccessVerb } from '../../contract/access.js';
import type { AccessObject } from '../../domain/access.js';
import { type Call, toldTo } from '../access/gate.js';
import type { ServerConfig } from '../config.js';
import type { Services } from '../services.js';
import { scheduleFor } from '../submit.js';
import { dear, type Serve } from './serve.js';

/** Routes of schedules (docs/adr/0159). The gate is asked about a schedule as about its jobs. */
export function registerSchedules(serve: Serve, services: Services, { limits }: Pick<ServerConfig, 'limits'>): void {
  const { client, gate } = services;
  const schedules = () => client.schedules();
  const asksItself = { asksItself: true } as const;
  const about = async (call: Call, verb: AccessVerb, name: string): Promise<void> =>
    gate.about(call, verb, objectOf(await schedules().view(name)));
  const firingTo = <Row extends FiringRow>(call: Call, of: ScheduleRow, row: Row): Promise<Row> =>
    // The reason of a refusal may show the job's own words.
    toldTo(gate, call.caller, objectOf(of), row);

  serve(
    'createSchedule',
    async ({ call, body, reply }) => {
      const { name, isNew, next, spec, warnings = [] } = await scheduleFor(services, call, body);
      const told = warnings.length === 0 ? {} : { warnings: [...warnings] };
      return reply.status(isNew ? 201 : 200).send({ name, isNew, next: [...next], spec: { ...spec }, ...told });
    },
    { ...asksItself, ...dear(limits) },
  );

  serve('schedules', async ({ call }) => {
    const rows = await schedules().list();
    const shown = rows.map(async (row) => (row.last ? { ...row, last: await firingTo(call, row, row.last) } : row));
    return { schedules: (await Promise.all(shown)) as unknown as AnswerOf<'schedules'>['schedules'] };
  });

  serve(
    'schedule',
    async ({ call, params: { id } }) => {
      const view = await schedules().view(id);
      await gate.about(call, 'status', objectOf(view));
      const firings = await Promise.all(view.firings.map((each) => firingTo(call, view, each)));
      const [last] = firings;
      return { ...view, firings, ...(last && { last }) } as unknown as AnswerOf<'schedule'>;
    },
    asksItself,
  );

  serve(
    'pauseSchedule',
    async ({ call, params: { id }, body: { reason } }) => {
      await about(call, 'schedule-change', id);
      return { message: await schedules().pause(id, call.caller.id, reason) };
    },
    asksItself,
  );

  serve(
    'resumeSchedule',
    async ({ call, params: { id } }) => {
      await about(call, 'schedule-change', id);
      return { message: await schedules().resume(id, call.caller.id) };
    },
    asksItself,
  );

  serve(
    'triggerSchedule',
    async ({ call, params: { id } }) => {
      await about(call, 'schedule-change', id);
      return { ...(await schedules().trigger(id)) };
    },
    { ...asksItself, ...dear(limits) },
  );

  serve(
    'deleteSchedule',
    async ({ call, params: { id } }) => {
      await about(call, 'schedule-change', id);
      return { message: await schedules().delete(id) };
    },
    asksItself,
  );
}

/** Temporal's value for an attribute that a schedule does not have. */
const NONE = '-';

const objectOf = ({ name, user, project, pool }: ScheduleRow): AccessObject => ({
  ...{ schedule: name, owner: user, pool },
  project: project === NONE ? '' : project,
});
