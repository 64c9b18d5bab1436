import { z } from 'zod';
import { asText, filesSchema, identityKeys } from './jobs.js';
import { MOST_KEY_CHARACTERS, MOST_SET } from '../../domain/bounds.js';
import { MOST_SLICES } from '../../domain/slice.js';
import { fileText, json } from './values.js';

export const askerBody = z.strictObject({
  from: z.string().max(255).optional().describe("Host name of the caller's computer, by the caller's word."),
  verb: z.string().max(40).optional(),
});
export const editBody = z.strictObject({
  from: z.string().max(255).optional(),
  job: json.optional().describe('The whole job file as JSON. Absent: `set` changes the one in force.'),
  ...asText,
  set: z
    .array(
      z.strictObject({
        path: z.array(z.union([z.string().max(MOST_KEY_CHARACTERS), z.int()])).max(50),
        value: json,
      }),
    )
    .max(MOST_SET)
    .optional(),
  source: fileText.optional(),
  files: filesSchema.optional(),
  identityKeys: identityKeys.optional(),
});
export type ApiEdit = z.infer<typeof editBody>;
export const restartBody = editBody.extend({
  replace: z
    .union([z.literal('all'), z.array(z.int().min(0)).min(1).max(MOST_SLICES)])
    .optional()
    .describe('Slices in place of which other machines are asked for.'),
});
export const setUpBody = z.strictObject({
  from: z.string().max(255).optional(),
  modules: z.array(z.string().max(100)).max(100).optional(),
  force: z.boolean().optional(),
});
export const priorityBody = z.strictObject({ priority: z.int().min(1).max(5).describe('1 is first.') });
export const messageSchema = z
  .object({ message: z.string().describe('What will be done, in a sentence.') })
  .meta({ id: 'Message' });
export const cancelledSchema = z.object({ state: z.enum(['cancelling', 'done']) }).meta({ id: 'Cancelled' });
export const deletedSchema = messageSchema.extend({ objects: z.int(), bytes: z.int() }).meta({ id: 'Deleted' });
const deletionSchema = z.object({
  slice: z.string(),
  since: z.number().exactOptional().describe('Since when it has been asked for, epoch ms.'),
  answer: z.string().exactOptional().describe('What its provider answered last.'),
  isFinal: z.literal(true).exactOptional().describe('That answer does not change by itself.'),
});
export const openSlicesSchema = z.object({
  names: z.array(z.string()),
  deletions: z.array(deletionSchema).exactOptional().describe('The same slices, each with how its deletion stands.'),
});
