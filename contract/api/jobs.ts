import { z } from 'zod';
import { JobPhase } from '../../domain/job-state.js';
import {
  epochMs,
  epochMsQuery,
  fewKeys,
  fileText,
  fingerprint,
  jobId,
  json,
  noControl,
  oneOrMore,
  quotaName,
  sha256,
} from './values.js';

const PHASES = [...Object.values(JobPhase), 'terminated'] as const;
const phase = z.enum(PHASES);

export const jobParams = z.object({ id: jobId });

/** Limit of files: more would not fit into a job's input. */
const MOST_FILES = 5_000;
export const filesSchema = fewKeys(z.record(z.string().min(1).max(4096), sha256), MOST_FILES).describe(
  'Local files that the job names, uploaded before (`POST /v1/uploads`): path as written, SHA-256 of the content.',
);
export const identityKeys = fewKeys(z.record(z.string().min(1).max(4096), fingerprint), 100);

/** A job file as its author wrote it, which the server reads as `jobctl submit` does. */
export const asText = {
  file: z
    .strictObject({
      name: z.string().min(1).max(1024).describe('For messages.'),
      text: fileText.describe('YAML or JSON.'),
    })
    .optional()
    .describe('The job file as text, in place of `job`.'),
  env: fewKeys(z.record(z.string().min(1).max(200), z.string().max(10_000)), 200)
    .optional()
    .describe('Values for the `${oc.env:NAME}` of the job file.'),
};

export const submissionSchema = z
  .strictObject({
    job: json.optional().describe('The job file as JSON.'),
    ...asText,
    name: jobId
      .optional()
      .describe("Exactly the job's id, and an idempotency key. Absent: the file's name and a suffix."),
    source: fileText.optional().describe("The file's text, kept with the job."),
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
    members: z.int().optional().describe('Of an array, whose group has the id: the number of its jobs.'),
    spec: z.looseObject({ name: z.string(), pool: z.string() }).describe('The job file with defaults and checks done.'),
    warnings: z.array(z.string()).optional().describe('Sentences for people. Absent: none.'),
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

export const MOST_LISTED = 1000;
/** Most `*` in a pattern of ids. */
export const MOST_STARS = 10;
export const jobFilterSchema = z.object({
  project: quotaName.optional(),
  user: quotaName.optional(),
  pool: quotaName.optional(),
  group: jobId.optional().describe('Members of this group only.'),
  phase: oneOrMore(phase).optional().describe('One or more, separated by commas.'),
  name: z
    .string()
    .min(1)
    .max(100)
    .regex(...noControl)
    .refine((name) => name.split('*').length - 1 <= MOST_STARS, `has more than ${MOST_STARS} *`)
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

/** The type is `ShownEvent`. */
export const jobEventSchema = z
  .looseObject({
    at: epochMs,
    text: z.string().describe('One sentence, for people.'),
    kind: z
      .string()
      .optional()
      .describe('Such as `preempted` (docs/contract.md). Absent: a worker without kinds told it.'),
    facts: z.looseObject({}).optional().describe('By kind.'),
    phase: phase.optional().describe('The phase that it begins, or whose reason changes.'),
  })
  .meta({ id: 'JobEvent' });

/** Everything the job's workflow knows; the type is `JobView`. */
export const jobViewSchema = z
  .looseObject({
    id: jobId,
    phase,
    attempt: z.int(),
    slices: z.array(z.looseObject({})),
    events: z.array(jobEventSchema),
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
export const pollsQuery = z.object({ taskQueue: z.string().min(1).max(200).optional() });
export const pollsSchema = z.looseObject({ taskQueue: z.string() });
export const whySchema = z.looseObject({
  phase: z.string(),
  why: z.string().optional(),
  words: z
    .object({ head: z.string(), reasons: z.array(z.string()), outlook: z.string() })
    .optional()
    .describe('Of a job that waits for its pool: the sentences of `jobctl why`, with times in ISO 8601.'),
});
