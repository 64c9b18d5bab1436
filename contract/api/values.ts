/**
 * Values that cross the HTTP interface of `jobctl serve` (docs/http-api.md). The server checks requests against them, its
 * OpenAPI document is made of them, and clients take their types from here. Times are milliseconds since 1970. Keys have the
 * names of `--output json` and of JobClient.
 */
import { z } from 'zod';
import { beyond, type Bounds, MOST_INPUT_BYTES, MOST_OF_AN_EDIT } from '../../domain/bounds.js';
import { JOB_ID_RULE, QUOTA_NAME, QUOTA_NAME_RULE } from '../../domain/identity.js';

export const epochMs = z.int().min(0).describe('Milliseconds since 1970.');
/** The end of the year 9999: later times have no ISO form that Temporal takes. */
const LATEST_MS = 253_402_300_799_999;
export const epochMsQuery = () => z.coerce.number().int().min(0).max(LATEST_MS);
/** A database may cut a text at a NUL. Temporal then repeats its query endlessly (seen with 1.29 on SQLite). */
// oxlint-disable-next-line no-control-regex -- it is what must not be there
export const noControl = [/^[^\u0000-\u001f\u007f]*$/, 'has control characters'] as const;
export const jobId = z
  .string()
  .min(1)
  .max(63)
  .regex(...noControl)
  .describe(`A job's id: ${JOB_ID_RULE}.`);
export const quotaName = z.string().regex(QUOTA_NAME, QUOTA_NAME_RULE);
export const sha256 = z.string().regex(/^[0-9a-f]{64}$/, '64 hex digits in small letters');
export const fingerprint = z.string().regex(/^SHA256:[A-Za-z0-9+/]{43}$/, 'as `ssh-keygen -l` shows it');
/** Bounds of any JSON value. A job file that fits them is then checked by its own rules, with their messages. */
const JSON_BOUNDS: Bounds = { ...MOST_OF_AN_EDIT, keyCharacters: 4_096 };
export const json = z.unknown().refine((value) => beyond(value, JSON_BOUNDS) === undefined, {
  error: ({ input }) => beyond(input, JSON_BOUNDS) ?? '',
  params: { bounds: JSON_BOUNDS },
});
/** Text of a file that goes with a job. */
export const fileText = z.string().max(MOST_INPUT_BYTES);

/** Bounds the number of keys of a section whose keys are names. */
export const fewKeys = <Section extends z.ZodRecord>(section: Section, most: number): Section =>
  section.refine((value) => Object.keys(value).length <= most, {
    error: `more than ${most} keys`,
    params: { keys: most },
  });

/** A list, or one text with commas between the entries. */
export const oneOrMore = <T extends z.ZodType>(one: T, most = 20) =>
  z.preprocess((value) => (typeof value === 'string' ? value.split(',') : value), z.array(one).min(1).max(most));
