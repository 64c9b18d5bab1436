import { z } from 'zod';
import { GROUPINGS } from '../../domain/counted/report.js';
import { epochMsQuery, quotaName } from './values.js';

export const reportQuery = z.object({
  by: z.enum(GROUPINGS).default('project').describe('One row for each.'),
  since: epochMsQuery().optional().describe('Jobs that ended then or later; 30 days ago without it.'),
  project: quotaName.optional(),
  user: quotaName.optional(),
  pool: quotaName.optional(),
});

const seconds = z.number().min(0);
const partsSchema = z
  .object({
    ...{ waiting: seconds, setUp: seconds, useful: seconds, lost: seconds },
    ...{ restart: seconds, idle: seconds, draining: seconds },
  })
  .meta({ id: 'ChipSeconds' });

const reportRowSchema = z
  .object({
    key: z.string(),
    unit: z.enum(['chip', 'host']).describe('The thing whose seconds are counted: hosts of jobs without accelerators.'),
    jobs: z.int(),
    open: z.int().describe('Of these, jobs that have not ended.'),
    preemptions: z.int(),
    asked: z.int().describe('Chips or hosts that these jobs asked for, each job once.'),
    unstarted: z.int().describe('Of these, jobs that ended before their command ever ran.'),
    parts: partsSchema,
    charged: seconds.describe('Seconds that cost money.'),
    usd: z.number().optional().describe('Absent: nothing has a known price.'),
    unpriced: seconds.describe('Of the charged seconds, those without a known price.'),
    lostUnknown: seconds.describe('Of the charged seconds, those of jobs whose lost work is not known.'),
  })
  .meta({ id: 'ReportRow' });

export const reportSchema = z
  .object({
    rows: z.array(reportRowSchema),
    rehearsed: z.int().describe('Jobs that used nothing real.'),
    leaving: z.int().describe('Jobs of which slices are not seen gone.'),
    prices: z.array(z.string()).describe('Where the prices are from, and of which day.'),
    unreadable: z.int().describe('Lines of day files that could not be read.'),
    hidden: z.int().describe('Ended jobs that the caller may not count.'),
  })
  .meta({ id: 'Report' });
