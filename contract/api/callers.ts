import { z } from 'zod';
import { epochMs, epochMsQuery, jobId, quotaName } from './values.js';

export const whoSchema = z
  .object({
    kind: z.enum(['user', 'service']),
    id: z.string(),
    groups: z.array(z.string()),
    issuer: z.string(),
    expiresAt: epochMs,
  })
  .meta({ id: 'WhoAmI' });
/** Settings that a client needs to log in, without a token. */
export const loginSchema = z
  .object({
    issuers: z.array(
      z.object({
        issuer: z.string(),
        clientId: z.string(),
        clientSecret: z
          .string()
          .optional()
          .describe('Of a client that runs on computers of people: it guards nothing.'),
        scopes: z.array(z.string()),
        page: z
          .object({ name: z.string() })
          .optional()
          .describe('People log in there by the page: `name` is on its button. Absent: by a pasted token alone.'),
      }),
    ),
  })
  .meta({ id: 'LoginSettings' });
export const pageCodeBody = z.strictObject({ code: z.string().min(20).max(100) });
export const pageSessionSchema = z.object({ token: z.string() });
const issuer = z.string().min(1).max(1_000).describe('As `GET /v1/login` names it.');
const random = z.string().regex(/^[\w-]{22,128}$/, 'random, base64url, 22 to 128 characters');
export const beginLoginBody = z.strictObject({
  issuer,
  challenge: z
    .string()
    .regex(/^[\w-]{43}$/, 'a SHA-256, base64url')
    .describe('Of the verifier, by the method S256 (RFC 7636).'),
  state: random.describe('Comes back with the answer: the page knows its own login by it.'),
  nonce: random.describe('Comes back within the ID token.'),
});
export const begunLoginSchema = z.object({ url: z.string().describe('Where the person logs in, at the issuer.') });
export const endLoginBody = z.strictObject({
  issuer,
  code: z.string().min(1).max(4_096).describe('As the issuer sent it back; good once.'),
  iss: z.string().max(1_000).optional().describe('As the issuer sent it back (RFC 9207).'),
  verifier: z.string().regex(/^[\w.~-]{43,128}$/, 'a verifier of RFC 7636'),
  nonce: random,
});
export const explainQuery = z.object({
  verb: z.string().max(40).optional(),
  user: quotaName
    .optional()
    .describe('Absent: the caller. Nobody else is told of: their groups stand in their token alone.'),
  job: jobId.optional(),
  project: quotaName.optional(),
  pool: quotaName.default('default'),
});
export const explainedSchema = z
  .object({
    rows: z.array(
      z.object({ verb: z.string(), isAllowed: z.boolean(), as: z.string().optional(), why: z.string().optional() }),
    ),
  })
  .meta({ id: 'AccessExplained' });
export const secretNamesQuery = explainQuery
  .pick({ project: true, pool: true })
  .describe('Without a project: the only one of the caller.');
export const secretNamesSchema = z.object({
  secrets: z.array(z.object({ name: z.string(), fingerprint: z.string(), putAt: epochMs })),
});
export const auditQuery = z.object({
  user: quotaName.optional(),
  job: jobId.optional(),
  since: epochMsQuery().optional(),
  limit: z.coerce.number().int().min(1).max(10_000).default(1000),
  pool: explainQuery.shape.pool,
});
/** One line of the audit log. */
export const auditLineSchema = z
  .object({
    at: epochMs,
    requestId: z.string(),
    replica: z.string(),
    subject: z.string(),
    kind: z.enum(['user', 'service']),
    from: z.string().describe('Address that the call came from.'),
    verb: z.string(),
    pool: z.string().optional(),
    project: z.string().optional(),
    job: z.string().optional(),
    owner: z.string().optional(),
    decision: z.enum(['allowed', 'refused']),
    as: z.string().optional(),
    why: z.string().optional(),
    inputSha256: z.string().optional(),
  })
  .meta({ id: 'AuditLine' });
export type AuditLine = z.infer<typeof auditLineSchema>;
export const auditLinesSchema = z.object({
  lines: z.array(auditLineSchema),
  readFrom: epochMs.optional().describe('There are too many to read all since then: what is older was not looked at.'),
});
