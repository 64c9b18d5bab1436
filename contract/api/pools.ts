import { z } from 'zod';
import { quotaName } from './values.js';

export const poolParams = z.object({ pool: quotaName });
export const poolStateSchema = z.looseObject({ v: z.literal(1), pool: z.string() }).meta({ id: 'PoolState' });
const fileText = z.strictObject({ name: z.string().min(1).max(1024), text: z.string() });
export const applyBody = z.strictObject({ quotaFile: fileText.optional(), poolFile: fileText.optional() });
export const admissionBody = z.strictObject({
  admission: z.enum(['open', 'frozen', 'draining']),
  reason: z.string().max(500).optional(),
});
