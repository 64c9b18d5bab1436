import { z } from 'zod';
import { MAX_CRON } from '../../domain/schedule/cron.js';
import { OVERLAP_WORDS, SCHEDULE_NAME_RULE } from '../../domain/schedule/schedule.js';
import { jobRowSchema, submissionSchema, submittedSchema } from './jobs.js';
import { epochMs, jobId, noControl } from './values.js';

const overlap = z.enum(OVERLAP_WORDS as [(typeof OVERLAP_WORDS)[number]]);
const times = z.array(epochMs).describe('Its next times, five at most; also of one that is paused.');

/** A submission, and when it is to be made. */
export const scheduleWishSchema = submissionSchema
  .extend({
    name: jobId.describe(`The schedule's name: ${SCHEDULE_NAME_RULE}.`),
    cron: z.string().max(MAX_CRON).describe('Five fields, as in a crontab: `30 2 * * mon-fri`.'),
    timeZone: z
      .string()
      .max(64)
      .regex(...noControl)
      .optional()
      .describe('A name of the time zone database. Absent: UTC.'),
    overlap: overlap
      .optional()
      .describe('What becomes of a firing if the job of the one before has not ended. Absent: `skip`.'),
  })
  .meta({ id: 'ScheduleWish' });

export const createdScheduleSchema = z
  .object({
    name: jobId,
    isNew: z.boolean().describe('False: the very same schedule is there already.'),
    next: times,
    spec: submittedSchema.shape.spec,
    warnings: submittedSchema.shape.warnings,
  })
  .meta({ id: 'CreatedSchedule' });

export const firingSchema = z
  .looseObject({
    job: jobId.describe('Id of its job, also if that was not started.'),
    at: epochMs,
    state: z
      .string()
      .describe(
        '`starting`, `open`, `succeeded`, `failed`, `cancelled`, `terminated`, `refused`, `missing`, `skipped`, `not-started` or `unknown`.',
      ),
    phase: jobRowSchema.shape.phase.optional().describe('Of a job that is open.'),
    why: z.string().optional().describe('Why no job was started, or why a worker refused it.'),
  })
  .meta({ id: 'Firing' });

export const scheduleSchema = z
  .looseObject({
    name: jobId,
    cron: z.string(),
    timeZone: z.string(),
    overlap,
    user: z.string(),
    project: z.string(),
    pool: z.string(),
    slice: z.string(),
    members: z
      .int()
      .optional()
      .describe('Members of the group that each time starts. Absent: each time starts one job.'),
    createdAt: epochMs,
    isPaused: z.boolean(),
    note: z.string().optional().describe('Who paused or resumed it, and why.'),
    next: times,
    last: firingSchema.optional().describe('Absent: it has not fired yet, or that is forgotten.'),
  })
  .meta({ id: 'Schedule' });
export const schedulesSchema = z.object({ schedules: z.array(scheduleSchema) });

export const scheduleViewSchema = scheduleSchema
  .extend({
    firings: z.array(firingSchema).describe('The last ones, latest first.'),
    fired: z.int().describe('Firings since it was created.'),
    overlapped: z.int().describe('Those that did not start because the job before had not ended.'),
    waiting: z.int().describe('Those that start when the job before has ended.'),
    missed: z.int().describe('Those that were never made up for, because no server was there.'),
  })
  .meta({ id: 'ScheduleDescription' });

export const pauseBody = z.strictObject({
  reason: z
    .string()
    .max(500)
    .regex(...noControl)
    .optional(),
});
export const triggeredSchema = z
  .object({
    message: z.string(),
    job: jobId.optional().describe('The job that it has started. Absent: none yet.'),
  })
  .meta({ id: 'Triggered' });
