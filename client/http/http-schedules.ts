import type { ApiSubmission } from '../../contract/api/jobs.js';
import type { AnswerOf } from '../../contract/operations.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { JobInvalid, JobNameTaken, JobRefused, ScheduleNotFound } from '../errors.js';
import type { ScheduleRow, ScheduleView } from '../schedule-rows.js';
import type { ScheduleWish } from '../schedule-wish.js';
import type { CreatedSchedule, SchedulesClient, Triggered } from '../schedules.js';
import type { LocalContents } from '../uploads.js';
import type { Ask, Meanings, ServerCalls } from './server-calls.js';

type OfOne = 'schedule' | 'pauseSchedule' | 'resumeSchedule' | 'triggerSchedule' | 'deleteSchedule';

/** Schedules by `jobctl serve`. The token names the caller: `by` is not sent. */
export class HttpSchedules implements SchedulesClient {
  readonly #calls: ServerCalls;
  readonly #upload: (files: LocalContents) => Promise<Record<string, string>>;

  constructor(calls: ServerCalls, upload: (files: LocalContents) => Promise<Record<string, string>>) {
    this.#calls = calls;
    this.#upload = upload;
  }

  async create({ files = {}, uploaded: before, ...wish }: ScheduleWish): Promise<CreatedSchedule> {
    const { name, cron, timeZone, overlap } = wish;
    const uploaded = { ...before, ...(await this.#upload(files)) };
    const body = {
      ...{ name, cron },
      ...(timeZone === undefined ? {} : { timeZone }),
      ...(overlap === undefined ? {} : { overlap }),
      ...submissionBody(wish, uploaded),
    };
    const { isNew, next, spec, warnings } = await this.#calls.json('createSchedule', {
      body,
      meanings: {
        invalid: (detail) => new JobInvalid(detail),
        'too-large': (detail) => new JobInvalid(detail),
        'name-taken': () => new JobNameTaken(name, 'schedule'),
      },
    });
    const told = warnings === undefined ? {} : { warnings };
    return { name, isNew, next, spec: spec as unknown as JobSpec, ...told };
  }

  async list(): Promise<readonly ScheduleRow[]> {
    return (await this.#calls.json('schedules')).schedules as unknown as readonly ScheduleRow[];
  }

  async view(name: string): Promise<ScheduleView> {
    return (await this.#of('schedule', name)) as unknown as ScheduleView;
  }

  async pause(name: string, _by: string, reason?: string): Promise<string> {
    return (await this.#of('pauseSchedule', name, { body: reason === undefined ? {} : { reason } })).message;
  }

  async resume(name: string): Promise<string> {
    return (await this.#of('resumeSchedule', name)).message;
  }

  async trigger(name: string): Promise<Triggered> {
    const { message, job } = await this.#of('triggerSchedule', name);
    return { message, ...(job === undefined ? {} : { job }) };
  }

  async delete(name: string): Promise<string> {
    return (await this.#of('deleteSchedule', name)).message;
  }

  #of<Name extends OfOne>(name: Name, id: string, ask: Ask<Name> = {}): Promise<AnswerOf<Name>> {
    const meanings: Meanings = {
      'not-found': () => new ScheduleNotFound(id, `on ${this.#calls.address}`),
      refused: (why, remedy) => new JobRefused(id, why, remedy),
    };
    return this.#calls.json(name, { ...ask, params: { id }, meanings } as unknown as Ask<Name>);
  }
}

/** The keys of a submission that are also in the body of a schedule's call. */
export function submissionBody(
  {
    job,
    source,
    user,
    sshKey,
    identityKeys,
  }: Pick<ScheduleWish, 'job' | 'source' | 'user' | 'sshKey' | 'identityKeys'>,
  uploaded: Readonly<Record<string, string>>,
): Omit<ApiSubmission, 'name'> {
  return {
    job,
    ...(source === undefined ? {} : { source }),
    ...(user === undefined ? {} : { user }),
    ...(sshKey === undefined ? {} : { sshKey }),
    ...(identityKeys === undefined ? {} : { identityKeys: { ...identityKeys } }),
    ...(Object.keys(uploaded).length === 0 ? {} : { files: uploaded }),
  };
}
