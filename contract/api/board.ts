import { z } from 'zod';
import { jobFilterSchema, jobRowSchema, MOST_LISTED } from './jobs.js';
import { epochMs, epochMsQuery, jobId } from './values.js';

/** Forms of what a board, a pool and a group look like at a glance: each answers one screen with one call. */

export const boardQuery = jobFilterSchema
  .pick({ project: true, user: true, pool: true, group: true, phase: true, name: true, endedSince: true })
  .extend({ limit: z.coerce.number().int().min(1).max(MOST_LISTED).default(200) });
export const boardSchema = z.object({
  rows: z
    .array(
      jobRowSchema.extend({
        place: z
          .object({
            position: z.int().describe('1 is served first.'),
            of: z.int().describe('How many wait.'),
            why: z.string().describe('Why it waits, in one sentence; times in ISO 8601.'),
          })
          .optional()
          .describe('Of a job that waits for its pool, as its pool was published last.'),
      }),
    )
    .describe('Jobs that hold chips first, then those that wait by their place, then those that ended last.'),
  total: z.int().describe('All that match.'),
  open: z.int().describe('Of these, how many have not ended.'),
  phases: z.array(
    z.object({
      phase: z.string(),
      jobs: z.int(),
      chips: z.int().optional().describe('Absent: these jobs were only counted.'),
    }),
  ),
});

const units = z.record(z.string(), z.number()).describe('Quota units by type.');
const tierSchema = z.object({
  tier: z.int().describe('0 is the best.'),
  pricing: z.string().optional().describe('How its chips are bought, by the pool file. Absent: as each job says.'),
  reservation: z.string().optional().describe('The Google reservation that they come from, by the pool file.'),
  type: z.string(),
  total: z.number(),
  inUse: z.number(),
  draining: z.number(),
  free: z.number().describe('Below 0 after the pool was shrunk under its leases.'),
});
const projectSchema = z.object({
  project: z.string(),
  type: z.string(),
  nominal: z.number(),
  used: z.number().describe('Within nominal quota and borrowed.'),
  borrowed: z.number().describe('Part of `used`.'),
  lent: z.number().describe('Part of its unused nominal quota that others have.'),
  draining: z.number(),
  waiting: z.number().describe('What its waiting jobs ask for.'),
});
const shareSchema = z.object({
  ...{ user: z.string(), isVerified: z.boolean(), project: z.string() },
  ...{ jobs: z.int(), chips: z.number(), borrowed: z.number(), waitingJobs: z.int(), waitingChips: z.number() },
});
const holderSchema = z.object({
  ...{ job: z.string(), user: z.string(), isVerified: z.boolean(), project: z.string(), units },
  chips: z.number().optional().describe('Absent: a type is none of Cloud TPU.'),
  state: z.string().describe('`asking`, `held`, `draining` or `parked`.'),
  ...{ tier: z.int(), priority: z.int(), since: epochMs },
  isBorrowing: z.boolean().describe('Not within the nominal quota of its project.'),
});
const reservedSchema = z.object({
  ...{ job: z.string(), project: z.string(), units, tier: z.int(), since: epochMs },
  until: epochMs.describe('It is dissolved then if it is not full.'),
});
export const poolUseSchema = z.object({
  pool: z.string(),
  at: epochMs.describe('As of when.'),
  admission: z.enum(['open', 'frozen', 'draining']),
  admissionReason: z.string().optional(),
  admissionSet: z.object({ by: z.string(), at: epochMs }).optional().describe('Who froze, drained or opened it.'),
  problem: z.string().optional().describe('Of its files: those that were good last are in force.'),
  source: z
    .string()
    .optional()
    .describe('Where its quota file is: a path, a URL, or `applied by olga`. Absent: it has none.'),
  tiers: z.array(tierSchema).describe('Empty: the pool has no quota file, and no limit.'),
  projects: z.array(projectSchema),
  users: z.array(shareSchema).describe('By user and project, the most chips first.'),
  jobs: z.array(holderSchema).describe('Every lease, the most chips first: 1,000 at most.'),
  waiting: z
    .array(
      z.object({
        ...{ job: z.string(), user: z.string(), project: z.string(), units, priority: z.int(), since: epochMs },
      }),
    )
    .describe('1,000 at most, in no order: `place` of a board has that.'),
  reservations: z
    .array(reservedSchema)
    .optional()
    .describe(
      'Jobs for which units that come free are collected, since they waited long (rule 8). Absent: an older server.',
    ),
});

export const poolHistoryQuery = z.object({
  since: epochMsQuery().optional().describe('Absent: a day ago. At most a week ago.'),
});
const means = z.array(z.number().nullable());
export const poolHistorySchema = z.object({
  pool: z.string(),
  from: epochMs,
  to: epochMs,
  everyMs: z.number().describe('Length of a stretch: series have a value for each, from `from` on.'),
  series: z
    .array(
      z.object({
        ...{ project: z.string(), type: z.string() },
        held: means.describe(
          'Mean units of its leases, from their grant until their slices are seen gone. Null: not known.',
        ),
        waiting: means.describe('Mean units that its waiting jobs asked for. Null: not known.'),
      }),
    )
    .describe('By type, those with most use first; of more than 20 projects the rest are one.'),
  gaps: z.array(z.object({ from: epochMs, to: epochMs, why: z.string() })).describe('Of which nothing is known.'),
  calls: z
    .array(z.object({ at: epochMs, kind: z.string(), by: z.string().optional(), reason: z.string().optional() }))
    .describe('What people changed, oldest first, the last 200: `applied`, `admission`, `released`.'),
});

const scalar = z.union([z.string(), z.number(), z.boolean()]);
export const groupMembersSchema = z.object({
  group: jobId,
  axes: z.array(z.string()),
  members: z.array(
    z.object({
      index: z.int(),
      id: z.string().describe("The id of the member's job in its last round."),
      state: z.string().describe('As `jobctl status` says it, such as `failed` or `waiting`.'),
      values: z.record(z.string(), scalar).describe('Its parameters by axis.'),
    }),
  ),
  failed: z.int().describe('How many of them `retry --failed` runs again.'),
  isFromLists: z.boolean().optional().describe('No worker answered: this is made of what lists know.'),
});
