import { z } from 'zod';

export const ERROR_CODES = [
  'invalid',
  'unauthenticated',
  'forbidden',
  'not-found',
  'name-taken',
  'refused',
  'too-large',
  'too-many-requests',
  'unavailable',
  'internal',
] as const;
export type ApiErrorCode = (typeof ERROR_CODES)[number];

/** `application/problem+json` (RFC 9457). */
export const problemSchema = z
  .object({
    type: z.literal('about:blank'),
    title: z.string(),
    status: z.int(),
    code: z.enum(ERROR_CODES),
    detail: z.string().describe('What, where, which value. May have several lines.'),
    remedy: z.string().optional().describe('What to do.'),
    requestId: z.string(),
  })
  .meta({ id: 'Problem' });
export type ApiProblem = z.infer<typeof problemSchema>;
