import { z } from 'zod';
import { section, wholeNumber } from '../../domain/job-file/fields.js';
import type { Report } from '../../domain/job-file/report.js';
import { MOST_INPUT_BYTES } from '../../domain/job-input-size.js';
import type { Path } from '../../domain/problem.js';
import { MOST_REQUESTS } from '../../domain/slice.js';
import type { PoolLimits, PriorityFloors } from '../pool-limits.js';

const SIZE_ERROR = 'a number of bytes, or a size such as 64KiB, 500MiB or 10GiB';
const size = (): z.ZodUnion<readonly [z.ZodNumber, z.ZodString]> =>
  z.union(
    [
      z.int({ error: SIZE_ERROR }).min(1, { error: SIZE_ERROR }),
      z.string().regex(/^\d+(\.\d+)?([KMGT]iB)$/, { error: SIZE_ERROR }),
    ],
    { error: SIZE_ERROR },
  );

const MOST_JOBS = 1_000_000;

const schema = section({
  open_jobs_per_user: wholeNumber(1, MOST_JOBS).optional().describe('Open jobs that one user may have in the pool.'),
  submits_per_minute: wholeNumber(1, MOST_JOBS)
    .optional()
    .describe('Jobs of one user that the pool takes in a minute.'),
  requests_per_job: wholeNumber(1, MOST_REQUESTS)
    .optional()
    .describe('Requests that one job may have at once, each in another zone; 1: no job may hedge.'),
  priority_floor: z
    .record(z.string(), wholeNumber(1, 5), { error: 'a table of priorities by project, such as vision = 2' })
    .optional()
    .describe('By project: the highest priority that its jobs may have, 1 (first) to 5.'),
  log_bytes_per_attempt: size()
    .optional()
    .describe('Stored output of the command of one attempt, all hosts together; the rest is not kept.'),
  input_bytes: size()
    .optional()
    .describe('Size of a job as it is submitted: its file as text and as JSON, and names of files.'),
});

/** The form of `[limits]`. A function: docs/adr/0012. */
export const limitsSection = (): typeof schema => schema;

interface Form {
  readonly limits?: z.infer<typeof schema> | undefined;
}

const UNITS: Readonly<Record<string, number>> = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };

const bytesOf = (value: number | string): number =>
  typeof value === 'number' ? value : Math.floor(Number(value.slice(0, -3)) * (UNITS[value.slice(-3)] ?? NaN));

/** A smaller limit would cut the first lines of any job, in which people look for the error. */
const LEAST_LOG_BYTES = 64 * 2 ** 10;
/** Size of a job file of one screen. */
const LEAST_INPUT_BYTES = 4 * 2 ** 10;

/** Reads the limits. Problems go into `report`. Undefined if the file sets no limit of a user or a job. */
export function poolLimitsOf({ limits }: Form, report: Report): PoolLimits | undefined {
  const { open_jobs_per_user, submits_per_minute, requests_per_job, log_bytes_per_attempt, input_bytes } = limits ?? {};
  const found: PoolLimits = {
    ...(open_jobs_per_user !== undefined && { openJobsPerUser: open_jobs_per_user }),
    ...(submits_per_minute !== undefined && { submitsPerMinute: submits_per_minute }),
    ...(requests_per_job !== undefined && { requestsPerJob: requests_per_job }),
    ...(log_bytes_per_attempt !== undefined && {
      logBytesPerAttempt: within(['limits', 'log_bytes_per_attempt'], log_bytes_per_attempt, report, LEAST_LOG_BYTES),
    }),
    ...(input_bytes !== undefined && {
      inputBytes: within(['limits', 'input_bytes'], input_bytes, report, LEAST_INPUT_BYTES, MOST_INPUT_BYTES),
    }),
  };
  return Object.keys(found).length === 0 ? undefined : found;
}

function within(path: Path, value: number | string, report: Report, least: number, most = Infinity): number {
  const bytes = bytesOf(value);
  if (bytes < least) report.wrong(path, value, 'too small', `${least} bytes at least`);
  if (bytes > most)
    report.wrong(
      path,
      value,
      'too large',
      `${most} bytes at most: Temporal takes messages of 2 MB, and keeps a job's input in several`,
    );
  return bytes;
}

/** Floors of `[limits] priority_floor`, by project in lower case. */
export function priorityFloorsOf({ limits }: Form, report: Report): PriorityFloors | undefined {
  const given = limits?.priority_floor;
  if (given === undefined) return undefined;
  const floors = new Map<string, number>();
  for (const [name, floor] of Object.entries(given)) {
    if (floors.has(name.toLowerCase()))
      report.problem(
        ['limits', 'priority_floor', name],
        floor,
        `'${name}' is there twice: case does not count`,
        'keep one',
      );
    floors.set(name.toLowerCase(), floor);
  }
  return Object.fromEntries(floors);
}
