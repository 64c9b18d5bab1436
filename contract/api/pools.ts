import { z } from 'zod';
import { MOST_BECAUSE } from '../quota-forms.js';
import { epochMs, quotaName } from './values.js';
import { PRICINGS } from '../../domain/slice.js';
import { MOST_POOL_FILE, MOST_QUOTA_FILE } from '../../domain/bounds.js';

export const poolParams = z.object({ pool: quotaName });
export const poolStateSchema = z.looseObject({ v: z.literal(1), pool: z.string() }).meta({ id: 'PoolState' });
const namedText = (most: number) =>
  z.strictObject({
    name: z.string().min(1).max(1024),
    text: z.string().max(most),
    replaces: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe(
        'Generation of the applied file that this one was made from, or `none`. If another is in force by now, applying is refused. ' +
          'Absent: whatever is in force is replaced. A plan does not look at it.',
      ),
  });
export const applyBody = z.strictObject({
  quotaFile: namedText(MOST_QUOTA_FILE).optional(),
  poolFile: namedText(MOST_POOL_FILE).optional(),
});
export const quotaPlanSchema = z
  .object({
    grants: z.array(
      z.object({ id: z.string(), tier: z.int().describe('0 is the best.') }).meta({ id: 'PlannedGrant' }),
    ),
    preemptions: z.array(
      z
        .object({ id: z.string(), for: z.string().describe('Which of the waiting jobs would have its chips.') })
        .meta({ id: 'PlannedPreemption' }),
    ),
    waiting: z
      .array(
        z
          .object({
            id: z.string(),
            position: z.int().describe('1 is served first.'),
            reasons: z.array(z.string()).describe('Each in one sentence.'),
            details: z.array(z.looseObject({})).describe('The same, for programs.'),
          })
          .meta({ id: 'PlannedWait' }),
      )
      .describe('Who would go on waiting, in the order of service.'),
    warnings: z.array(z.string()).optional().describe('Of the files: what is taken, and likely not meant.'),
  })
  .meta({ id: 'QuotaPlan' });
const capacityRowSchema = z
  .object({
    zone: z.string(),
    accelerator: z.string(),
    pricing: z.enum(PRICINGS).describe('What slices there were bought as, by their tier or their job.'),
    asked: z.int().describe('Requests for a whole gang: the last 20 of the last 7 days, and those that wait now.'),
    got: z.int().describe('Of them those that got all of their slices.'),
    medianWaitMs: z.int().optional().describe('Of those, from the request to all slices ready.'),
    lastGot: z
      .object({ at: epochMs, waitedMs: z.int() })
      .meta({ id: 'LastGot' })
      .optional()
      .describe('The last of them.'),
    waiting: z.int().describe('Gangs that wait there now.'),
    waitingSince: epochMs.optional().describe('Since when the first of them does.'),
    sliceHours: z.number().describe('Lately: what is a day old counts half.'),
    preempted: z.number().describe('Preemptions by the provider in these slice-hours.'),
    refusal: z
      .object({ at: epochMs, text: z.string() })
      .meta({ id: 'LastRefusal' })
      .optional()
      .describe("The provider's last refusal for want of capacity."),
    seenAt: epochMs.describe('When anything was learned of it last.'),
  })
  .meta({ id: 'CapacityRow' });
export const capacitySchema = z
  .object({
    pool: z.string(),
    at: epochMs.describe('As of when.'),
    zones: z.array(z.string()).describe('All that the pool file names.'),
    rows: z.array(capacityRowSchema).describe('In the order of zone, type and pricing.'),
  })
  .meta({ id: 'Capacity' });
export const releaseBody = z.strictObject({
  job: z.string().min(1).max(256).describe('Whose slices are not waited for any more.'),
  because: z
    .string()
    .regex(/\S/, 'says nothing')
    .max(MOST_BECAUSE)
    .describe('How you know that nothing of them is left.'),
});
/** The types are `MachineRow` and `MachinesAnswer` of contract/machines.ts. */
export const machinesSchema = z.object({
  machines: z
    .array(
      z.looseObject({
        name: z.string(),
        address: z.string(),
        accelerators: z.record(z.string(), z.number()),
        state: z
          .string()
          .describe('`free`, `held` by a job, `drained`, put `aside` for a problem, `silent`, or `foreign`: not ours.'),
        job: z.string().optional().describe('Which holds it.'),
        problem: z.string().optional().describe('Why it is not used, or what was wrong at its last use.'),
        warning: z.string().optional(),
        since: epochMs.optional(),
        isRehearsed: z.boolean().optional().describe('A VM of a local stack. Absent: a real machine.'),
      }),
    )
    .describe('In the order of the pool file. Empty: the pool owns none.'),
});
export const machinesBody = z.strictObject({
  verb: z
    .enum(['drain', 'undrain', 'check'])
    .describe('`check` inspects machines that nobody holds; one that was put aside and is well is used again.'),
  names: z.array(z.string().min(1).max(200)).min(1).max(1_000).describe('As the pool file has them.'),
  reason: z.string().max(500).optional().describe('Of a drain, for those who look at it.'),
});
export const admissionBody = z.strictObject({
  admission: z.enum(['open', 'frozen', 'draining']),
  reason: z.string().max(500).optional(),
});
