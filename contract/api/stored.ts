import { z } from 'zod';
import { outcomeSchema } from './jobs.js';
import { epochMs, oneOrMore, sha256 } from './values.js';

export const logsQuery = z.object({
  attempt: z.coerce.number().int().min(1).optional().describe('Absent: all that are stored.'),
  stream: z
    .string()
    .regex(/^[a-z][\w-]{0,63}$/)
    .default('command')
    .describe('`command`, or a module.'),
  host: oneOrMore(z.coerce.number().int().min(0), 1_000)
    .optional()
    .describe('One or more, separated by commas. Absent: all, interleaved in the order of storing.'),
  tail: z.coerce
    .number()
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe('Begin at so many lines from the end of each host. Not with Last-Event-ID.'),
  follow: z.stringbool().default(false).describe('Server-sent events until the job has ended.'),
});
export const lastEventHeaders = z.object({ 'last-event-id': z.string().max(60_000).optional() });
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

export const metricsQuery = z.object({
  name: oneOrMore(z.string().min(1).max(128), 100)
    .optional()
    .describe('One or more, separated by commas. Absent: all.'),
  host: z.coerce.number().int().min(0).max(999_999).default(0).describe('Position among all hosts of all slices.'),
  x: z.enum(['step', 'time']).default('step').describe('The order of the points. By step, each step comes once.'),
  points: z.coerce
    .number()
    .int()
    .min(0)
    .max(5_000)
    .default(500)
    .describe('Most points of a metric. 0: only what is known of it.'),
});
const metricValue = z.number().nullable().describe('Null: NaN, or infinite.');
export const metricPointSchema = z
  .object({ step: z.int().min(0), time: epochMs, value: metricValue })
  .meta({ id: 'MetricPoint' });
export const metricPointsSchema = z
  .object({ step: z.array(z.int().min(0)), time: z.array(epochMs), value: z.array(metricValue) })
  .meta({ id: 'MetricPoints' });
export const jobMetricSchema = z
  .object({
    name: z.string(),
    count: z.int().describe('Values that were told, in all attempts.'),
    isThinned: z.boolean().describe('The points are some of the values, evenly chosen.'),
    falls: z.int().describe('Values with a smaller step than the value before.'),
    last: metricPointSchema,
    least: metricPointSchema
      .optional()
      .describe('Exact, over all finite values whose steps no later attempt told again.'),
    most: metricPointSchema.optional(),
    points: metricPointsSchema,
  })
  .meta({ id: 'JobMetric' });
export const jobMetricsSchema = z
  .object({
    host: z.int(),
    attempts: z.array(z.int()).describe('That told metrics, in order: the last 50.'),
    metrics: z.array(jobMetricSchema),
    refused: z.int().describe('Values without a usable name or number, and lines that were not read.'),
    beyondNames: z.int().describe('Values of metrics beyond the first hundred of an attempt.'),
    missedBytes: z.int().describe('Bytes of output that nobody looked through, after the death of a worker.'),
  })
  .meta({ id: 'JobMetrics' });

export const objectsQuery = z.object({
  prefix: z.string().min(1).max(1024),
  startOffset: z.string().max(1024).optional(),
  most: z.coerce
    .number()
    .int()
    .min(1)
    .max(1000)
    .default(1000)
    .describe('As many, in the order of names. Where so many come, ask again from the last name on: it comes again.'),
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
export const objectNameQuery = objectQuery.pick({ name: true });

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
