import { z } from 'zod';
import { jobFilterSchema } from './jobs.js';
import { epochMs, jobId, noControl } from './values.js';

export const groupRowSchema = z
  .looseObject({
    id: jobId,
    name: z.string(),
    user: z.string(),
    project: z.string(),
    pool: z.string(),
    members: z.int(),
    submittedAt: epochMs,
    endedAt: epochMs.optional().describe('Absent: members wait or are open.'),
    counts: z
      .record(z.string(), z.int())
      .optional()
      .describe('Members by their state, as the group last told. Absent: no worker has taken it yet.'),
    awaited: z.string().optional().describe('Others that it waits for before it starts a member. Absent: none.'),
    stopped: z.string().optional().describe('The person who stopped it: no member begins. Absent: nobody has.'),
    end: z
      .enum(['terminated', 'refused'])
      .optional()
      .describe('It was ended in Temporal from outside, or its input was refused: it left no state. Absent: neither.'),
  })
  .meta({ id: 'Group' });

export const groupFilterSchema = jobFilterSchema
  .pick({ project: true, user: true, pool: true, name: true, since: true, endedSince: true, limit: true })
  .extend({ group: jobId.optional().describe('This group only.') });
export const groupPageSchema = z
  .object({ rows: z.array(groupRowSchema).describe('Open ones first, the newest before; then those that ended last.') })
  .meta({ id: 'GroupPage' });

const scalar = z.union([z.string(), z.number(), z.boolean()]);

/** The type is `GroupView`. */
export const groupViewSchema = z
  .looseObject({
    group: jobId,
    array: z.looseObject({
      axes: z.array(z.looseObject({ name: z.string() })).describe('Each with `values`, or `from` and `to`.'),
      exclude: z.array(z.record(z.string(), scalar)),
      size: z.int().describe('Places of the matrix, excluded ones too.'),
    }),
    state: z.object({
      marks: z.string().describe('One letter for each place of the matrix (docs/contract.md).'),
      rounds: z.string().describe('The round of each, in base 36.'),
    }),
    notes: z.array(z.tuple([z.int(), z.string()])).describe('Sentences about members that have no job to say them.'),
    awaited: z.string().optional().describe('Others that it waits for before it starts a member. Absent: none.'),
    stopped: z
      .looseObject({ by: z.string(), at: epochMs, release: z.boolean().optional() })
      .optional()
      .describe('The person who stopped it: no member begins. Absent: nobody has.'),
    stopRound: z
      .looseObject({
        verb: z.enum(['stop', 'resume']),
        left: z.int().describe('Members that have not answered yet.'),
        done: z.int(),
        idle: z.int().describe('Members that had nothing to do.'),
        failed: z.array(z.tuple([z.int(), z.string()])).describe('Members that were given up, with the reason.'),
      })
      .optional()
      .describe('How far the last `stop` or `resume` is. Absent: there was none.'),
    isFromLists: z
      .boolean()
      .optional()
      .describe(
        'No worker answered: members that lists do not know count as waiting. Absent: the own word of the group.',
      ),
  })
  .meta({ id: 'GroupDescription' });

const from = () =>
  z
    .string()
    .max(255)
    .regex(...noControl)
    .optional()
    .describe("Host name of the caller's computer, by the caller's word.");
export const retryBody = z.strictObject({ from: from() });
export const stopGroupBody = z.strictObject({
  from: from(),
  release: z.boolean().optional().describe('Slices and leases go back too.'),
});
