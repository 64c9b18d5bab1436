import { z } from 'zod';
import { MOST_BECAUSE } from '../quota-forms.js';
import { quotaName } from './values.js';
import { MOST_POOL_FILE, MOST_QUOTA_FILE } from '../../quota/file-sizes.js';

export const poolParams = z.object({ pool: quotaName });
export const poolStateSchema = z.looseObject({ v: z.literal(1), pool: z.string() }).meta({ id: 'PoolState' });
const namedText = (most: number) => z.strictObject({ name: z.string().min(1).max(1024), text: z.string().max(most) });
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
export const releaseBody = z.strictObject({
  job: z.string().min(1).max(256).describe('Whose slices are not waited for any more.'),
  because: z
    .string()
    .regex(/\S/, 'says nothing')
    .max(MOST_BECAUSE)
    .describe('How you know that nothing of them is left.'),
});
export const admissionBody = z.strictObject({
  admission: z.enum(['open', 'frozen', 'draining']),
  reason: z.string().max(500).optional(),
});
