import { z } from 'zod';
import type { Firing } from '../domain/schedule/schedule.js';
import { MAX_SCHEDULE_NAME } from '../domain/schedule/schedule.js';
import { type Form, form } from './form.js';
import type { JobInput } from './job.js';
import type { FiringInput } from './schedule.js';

// Forms of a firing (contract/schedule.ts), and of its place in its job's input.

/** `submission` is checked by the job. Only the workflow's own continue-as-new is trusted to bring a `carry`. */
export const firingInputForm: Form<FiringInput> = form(
  z.object({
    v: z.literal(1),
    submission: z.looseObject({ v: z.literal(1), job: z.unknown() }) as unknown as z.ZodType<JobInput>,
    wallClock: z.string().max(64).exactOptional(),
    carry: z.unknown().exactOptional(),
  }) as unknown as z.ZodType<FiringInput>,
);

/** The year 9999 ends: a later time has no ISO form of four digits. */
const LATEST_MS = 253_402_300_799_999;
/** The key `firing` of a job's input. */
export const firingForm: Form<Firing> = form(
  z.strictObject({
    schedule: z.string().min(1).max(MAX_SCHEDULE_NAME),
    at: z.int().min(0).max(LATEST_MS),
  }),
);
