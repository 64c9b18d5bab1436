/**
 * What crosses the HTTP interface of `jobctl serve` (docs/http-api.md): the server checks by these, its OpenAPI document is made
 * of them, and clients take their types from here. Times are milliseconds since 1970. Names of keys are those of
 * `--output json` and of JobClient.
 */
import { z } from 'zod';
import { JOB_ID_RULE, QUOTA_NAME, QUOTA_NAME_RULE } from '../../domain/identity.js';
import { JobPhase } from '../../domain/job-state.js';

const epochMs = z.int().min(0).describe('Milliseconds since 1970.');
/** The end of the year 9999: later times have no ISO form that Temporal takes. */
const LATEST_MS = 253_402_300_799_999;
const epochMsQuery = () => z.coerce.number().int().min(0).max(LATEST_MS);
const jobId = z.string().min(1).max(63).describe(`A job's id: ${JOB_ID_RULE}.`);
const quotaName = z.string().regex(QUOTA_NAME, QUOTA_NAME_RULE);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, '64 hex digits in small letters');
const fingerprint = z.string().regex(/^SHA256:[A-Za-z0-9+/]{43}$/, 'as `ssh-keygen -l` shows it');
/** Any JSON value; a job file is checked by its own rules, with their messages. */
const json = z.unknown();

// Failures -------------------------------------------------------------------------------------------------------------

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

// Jobs -----------------------------------------------------------------------------------------------------------------

const PHASES = [...Object.values(JobPhase), 'terminated'] as const;
const phase = z.enum(PHASES);

export const jobParams = z.object({ id: jobId });

export const filesSchema = z
  .record(z.string().min(1).max(4096), sha256)
  .describe(
    'Local files that the job names, uploaded before (`POST /v1/uploads`): path as written, SHA-256 of the content.',
  );
const identityKeys = z.record(z.string().min(1).max(4096), fingerprint);

export const submissionSchema = z
  .strictObject({
    job: json.describe('The job file as JSON.'),
    name: jobId
      .optional()
      .describe("Exactly the job's id, and an idempotency key. Absent: the file's name and a suffix."),
    source: z.string().optional().describe("The file's text, kept with the job."),
    user: quotaName.optional().describe('Whose job it is: only a service submits for others. Absent: the caller.'),
    files: filesSchema.optional(),
    sshKey: fingerprint.optional(),
    identityKeys: identityKeys.optional(),
  })
  .meta({ id: 'Submission' });
export type ApiSubmission = z.infer<typeof submissionSchema>;

export const idempotencyHeaders = z.object({
  'idempotency-key': z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('The same key of the same caller is the same job, however often the call is repeated. Not with `name`.'),
});

export const submittedSchema = z
  .object({
    id: jobId,
    isNew: z.boolean().describe('False: the very same job was submitted before.'),
    spec: z.looseObject({ name: z.string(), pool: z.string() }).describe('The job file with defaults and checks done.'),
  })
  .meta({ id: 'Submitted' });

export const outcomeSchema = z
  .looseObject({
    result: z.enum(['succeeded', 'failed', 'cancelled']),
    exitCode: z.int().optional().describe('Of the host that failed first, else 0.'),
    cause: z
      .looseObject({ by: z.enum(['task', 'infrastructure', 'preemption', 'user']), message: z.string() })
      .optional(),
    attempts: z.int(),
    preemptions: z.int(),
    submittedAt: epochMs,
    startedAt: epochMs.optional(),
    endedAt: epochMs,
  })
  .meta({ id: 'Outcome' });

export const jobRowSchema = z
  .looseObject({
    id: jobId,
    project: z.string(),
    user: z.string(),
    isVerified: z
      .boolean()
      .optional()
      .describe('Whether a server has verified who the user is. Absent: no worker has taken the job.'),
    slice: z.string().describe('`v5litepod-16`, or `2 x v5litepod-16`.'),
    chips: z.int().optional(),
    pool: z.string(),
    phase,
    phaseSince: epochMs,
    submittedAt: epochMs,
    endedAt: epochMs.optional(),
    attempts: z.int(),
    why: z.string().optional(),
    label: z.string().optional().describe('REHEARSAL if nothing of it is real.'),
    outcome: outcomeSchema.optional(),
  })
  .meta({ id: 'Job' });

/** As one text with commas between them. */
const oneOrMore = <T extends z.ZodType>(one: T, most = 20) =>
  z.preprocess((value) => (typeof value === 'string' ? value.split(',') : value), z.array(one).min(1).max(most));
export const MOST_LISTED = 1000;
export const jobFilterSchema = z.object({
  project: quotaName.optional(),
  user: quotaName.optional(),
  pool: quotaName.optional(),
  phase: oneOrMore(phase).optional().describe('One or more, separated by commas.'),
  name: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('A pattern for ids, with * and ?; else the id, or this name and a suffix.'),
  since: epochMsQuery().optional().describe('Submitted or ended then or later; milliseconds since 1970.'),
  endedSince: epochMsQuery().optional().describe('Open, or ended then or later.'),
  state: z.enum(['open', 'ended']).optional(),
  ids: oneOrMore(jobId, 200).optional().describe('These alone; separated by commas, 200 at most.'),
  limit: z.coerce.number().int().min(1).max(MOST_LISTED).default(100),
  pageToken: z.string().max(2000).optional().describe('`nextPageToken` of the page before.'),
});
export const jobPageSchema = z
  .object({
    rows: z.array(jobRowSchema),
    total: z.int().describe('All that match.'),
    open: z.int().describe('Of these, how many have not ended.'),
    nextPageToken: z.string().optional(),
  })
  .meta({ id: 'JobPage' });
export const jobCountsSchema = z
  .object({
    total: z.int(),
    open: z.int(),
    ended: z.record(z.string(), z.int()).describe('How those ended that are not open, by phase.'),
  })
  .meta({ id: 'JobCounts' });

/** Everything the job's workflow knows; the type is `JobView`. */
export const jobViewSchema = z
  .looseObject({
    id: jobId,
    phase,
    attempt: z.int(),
    slices: z.array(z.looseObject({})),
    events: z.array(z.looseObject({})),
  })
  .meta({ id: 'JobDescription' });

export const waitQuery = z.object({
  timeoutMs: z.coerce
    .number()
    .int()
    .min(0)
    .max(60_000)
    .default(30_000)
    .describe('How long to wait for the end; 60,000 at most.'),
});
export const waitedSchema = z.object({ isOver: z.boolean(), outcome: outcomeSchema.optional() }).meta({ id: 'Waited' });

// What people ask of a job ----------------------------------------------------------------------------------------------

export const askerBody = z.strictObject({
  from: z.string().max(255).optional().describe("Host name of the caller's computer, by the caller's word."),
  verb: z.string().max(40).optional(),
});
export const stopBody = askerBody.extend({ release: z.boolean().optional().describe('Slices and lease go back too.') });
export const editBody = z.strictObject({
  from: z.string().max(255).optional(),
  job: json.optional().describe('The whole job file as JSON. Absent: `set` changes the one in force.'),
  set: z
    .array(z.strictObject({ path: z.array(z.union([z.string(), z.int()])).max(50), value: json }))
    .max(1000)
    .optional(),
  source: z.string().optional(),
  files: filesSchema.optional(),
  identityKeys: identityKeys.optional(),
});
export type ApiEdit = z.infer<typeof editBody>;
export const setUpBody = z.strictObject({
  modules: z.array(z.string().max(100)).max(100).optional(),
  force: z.boolean().optional(),
});
export const priorityBody = z.strictObject({ priority: z.int().min(1).max(5).describe('1 is first.') });
export const messageSchema = z
  .object({ message: z.string().describe('What will be done, in a sentence.') })
  .meta({ id: 'Message' });
export const cancelledSchema = z.object({ state: z.enum(['cancelling', 'done']) }).meta({ id: 'Cancelled' });
export const deletedSchema = messageSchema.extend({ objects: z.int(), bytes: z.int() }).meta({ id: 'Deleted' });
export const openSlicesSchema = z.object({ names: z.array(z.string()) });

// Hosts ----------------------------------------------------------------------------------------------------------------

const publicLine = z.string().describe('`ssh-ed25519 AAAA..`, as in a known_hosts file.');
/** What logs in to the hosts of one job. */
export const hostAccessSchema = z
  .object({
    user: z.string().describe('Whom every host lets in.'),
    privateKey: z.string().describe("The job's own, in OpenSSH's form: it opens the hosts of this job and no others."),
    publicKey: publicLine,
    hosts: z.array(
      z.object({
        number: z.int().describe('As logs name it.'),
        node: z.string().describe("Of the cloud's resource."),
        slice: z.int(),
        index: z.int().describe('In its slice.'),
        address: z.string().describe('The external one, if the host has one.'),
        internalAddress: z.string().optional(),
        hostKey: publicLine.describe('What a worker has recorded: accept no other one.'),
      }),
    ),
  })
  .meta({ id: 'HostAccess' });
export type HostAccess = z.infer<typeof hostAccessSchema>;

// Logs, outputs, objects --------------------------------------------------------------------------------------------------

export const logsQuery = z.object({
  attempt: z.coerce.number().int().min(1).optional().describe('Absent: all that are stored.'),
  stream: z
    .string()
    .regex(/^[a-z][\w-]{0,63}$/)
    .default('command')
    .describe('`command`, or a module.'),
  host: z.coerce.number().int().min(0).optional().describe('Absent: all, interleaved in the order of storing.'),
  follow: z.stringbool().default(false).describe('Server-sent events until the job has ended.'),
});
/** Data of the event `attempt-end`: the log of this attempt is complete. */
export const logAttemptEndSchema = z.object({ attempt: z.int() }).meta({ id: 'LogAttemptEnd' });
/** Data of the event `end`: the job has ended and its log is complete. The event `problem` has a Problem. */
export const logEndSchema = z.object({ phase: z.string(), outcome: outcomeSchema.optional() }).meta({ id: 'LogEnd' });
/** Data of the event `stretch`. */
export const logStretchSchema = z
  .object({
    attempt: z.int(),
    host: z.int(),
    offset: z
      .int()
      .describe("Of the first byte in that host's output of the attempt; of a lost tail, where it stands."),
    storedAt: epochMs,
    bytes: z.base64().describe('Of that host, right behind what was sent before.'),
    isLostTail: z.boolean().optional(),
  })
  .meta({ id: 'LogStretch' });

export const objectsQuery = z.object({
  prefix: z.string().min(1).max(1024),
  startOffset: z.string().max(1024).optional(),
  most: z.coerce.number().int().min(1).max(1000).optional(),
});
export const storedObjectSchema = z
  .object({ name: z.string(), size: z.int(), generation: z.string(), updatedAt: epochMs })
  .meta({ id: 'StoredObject' });
export const objectsSchema = z.object({ objects: z.array(storedObjectSchema) });
export const objectQuery = z.object({
  name: z.string().min(1).max(1024),
  start: z.coerce.number().int().min(0).optional(),
  end: z.coerce.number().int().min(0).optional(),
});

export const uploadsBody = z.strictObject({
  files: z
    .array(z.strictObject({ path: z.string().min(1).max(4096), sha256, size: z.int().min(0) }))
    .min(1)
    .max(1000),
});
const uploadId = z.string().regex(/^[0-9a-f]{32}$/, '32 hex digits in small letters');
export const uploadsSchema = z.object({
  files: z.array(
    z.object({
      path: z.string(),
      object: z.string(),
      state: z.enum(['exists', 'wanted']),
      url: z
        .string()
        .optional()
        .describe(
          "PUT the bytes of a wanted file here, without a token, at once or in pieces by Cloud Storage's resumable protocol; then " +
            'complete the upload. Absent: PUT them to /v1/uploads/content, which works for small files in any case.',
        ),
      upload: uploadId.optional().describe('For /v1/uploads/complete, where there is a url.'),
    }),
  ),
});
export const uploadQuery = z.object({ path: z.string().min(1).max(4096), sha256 });
export const completedBody = z.strictObject({ path: z.string().min(1).max(4096), sha256, upload: uploadId });

// Pools -----------------------------------------------------------------------------------------------------------------

export const poolParams = z.object({ pool: quotaName });
export const poolStateSchema = z.looseObject({ v: z.literal(1), pool: z.string() }).meta({ id: 'PoolState' });
const fileText = z.strictObject({ name: z.string().min(1).max(1024), text: z.string() });
export const applyBody = z.strictObject({ quotaFile: fileText.optional(), poolFile: fileText.optional() });
export const admissionBody = z.strictObject({
  admission: z.enum(['open', 'frozen', 'draining']),
  reason: z.string().max(500).optional(),
});

// Who and what ----------------------------------------------------------------------------------------------------------

export const whoSchema = z
  .object({
    kind: z.enum(['user', 'service']),
    id: z.string(),
    groups: z.array(z.string()),
    issuer: z.string(),
    expiresAt: epochMs,
  })
  .meta({ id: 'WhoAmI' });
/** What a client needs to log in, without a token. */
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
      }),
    ),
  })
  .meta({ id: 'LoginSettings' });
export const explainQuery = z.object({
  verb: z.string().max(40).optional(),
  user: quotaName.optional().describe('Absent: the caller. Another one: operators only.'),
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
export const secretNamesSchema = z.object({
  secrets: z.array(z.object({ name: z.string(), fingerprint: z.string(), putAt: epochMs })),
});
export const auditQuery = z.object({
  user: quotaName.optional(),
  job: jobId.optional(),
  since: epochMsQuery().optional(),
  limit: z.coerce.number().int().min(1).max(10_000).default(1000),
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
export const auditLinesSchema = z.object({ lines: z.array(auditLineSchema) });
