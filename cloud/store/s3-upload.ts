import { setTimeout as sleep } from 'node:timers/promises';
import type { FileSource } from '../../domain/local-files.js';
import { type Chunk, checkedChunks } from './checked-chunks.js';
import { StoreUnavailable } from './port.js';
import { s3Failure, s3Refusal, bareEtag } from './s3-answers.js';
import type { S3Answer, S3Request, S3Requests } from './s3-requests.js';

export interface PartTiming {
  /** Limit of one request with its part. */
  readonly requestMs: number;
  /** The upload is given up if no more parts were stored for this long. */
  readonly stallMs: number;
  readonly pauseMs: number;
}

const TIMING: PartTiming = { requestMs: 120_000, stallMs: 240_000, pauseMs: 500 };
/**
 * Size of a part. S3 requires at least 5 MiB except for the last part. A part is held in memory, and sent again after a cut.
 */
export const PART_BYTES = 8 * 1024 * 1024;
const MOST_PARTS = 10_000;
const PASSING: ReadonlySet<number> = new Set([408, 429]);

export interface S3Upload {
  readonly requests: Pick<S3Requests, 'ask' | 'once'>;
  readonly key: string;
  readonly source: FileSource;
  /** The action and its object. */
  readonly what: string;
  readonly timing?: PartTiming;
}

/**
 * Sends a source in parts. Each part is repeated until it is stored, so that a cut costs one part. Only the last request makes
 * the object, and only if no object has its name.
 * @throws SourceChanged; the store's errors
 */
export async function uploadInParts(upload: S3Upload): Promise<'uploaded' | 'exists'> {
  const { requests, key, source, what, timing = TIMING } = upload;
  const begun = await requests.ask({ method: 'POST', key, query: { uploads: '' } }, what);
  const [, uploadId] = /<UploadId>([^<]+)<\/UploadId>/.exec(begun.body.toString()) ?? [];
  if (begun.status !== 200 || uploadId === undefined) throw s3Failure(begun, what);
  const query = { uploadId: uploadId.replaceAll('&amp;', '&') };
  let isMade = false;
  try {
    const etags: string[] = [];
    const most = Math.max(PART_BYTES, Math.ceil(source.size / MOST_PARTS));
    for await (const chunk of checkedChunks(source, most)) {
      const stored = await sendPart(upload, { ...query, partNumber: String(etags.length + 1) }, chunk, timing);
      etags.push(bareEtag(stored.headers.etag ?? ''));
    }
    const ended = await complete(upload, query, etags, timing);
    isMade = true;
    return ended;
  } finally {
    // Stored parts are billed until the upload is deleted.
    if (!isMade) await requests.once({ method: 'DELETE', key, query }, timing.requestMs).catch(() => undefined);
  }
}

async function sendPart(
  { requests, key, what }: S3Upload,
  query: Readonly<Record<string, string>>,
  { bytes }: Chunk,
  { requestMs, stallMs, pauseMs }: PartTiming,
): Promise<S3Answer> {
  const until = Date.now() + stallMs;
  const request: S3Request = { method: 'PUT', key, query, body: bytes };
  for (let repeats = 0; ; repeats++) {
    const left = Math.max(1, until - Date.now());
    const tried = await requests.once(request, Math.min(requestMs, left)).catch((error: unknown) => error as Error);
    if (!(tried instanceof Error)) {
      if (tried.status === 200) return tried;
      if (tried.status < 500 && !PASSING.has(tried.status)) throw s3Failure(tried, what);
    }
    if (Date.now() >= until) {
      const why = tried instanceof Error ? tried.message : s3Failure(tried, what).message;
      throw new StoreUnavailable(`store: ${what}: nothing more was stored for ${stallMs / 1000} s: ${why}`);
    }
    await sleep(pauseMs * 2 ** Math.min(repeats, 4));
  }
}

async function complete(
  { requests, key, what }: S3Upload,
  query: Readonly<Record<string, string>>,
  etags: readonly string[],
  { requestMs, stallMs }: PartTiming,
): Promise<'uploaded' | 'exists'> {
  const parts = etags.map((etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>"${etag}"</ETag></Part>`);
  const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
  const headers = { 'if-none-match': '*', 'content-type': 'application/xml' };
  // For many parts Amazon takes minutes (docs.aws.amazon.com, CompleteMultipartUpload, 2026-11).
  const timing = { requestMs, totalMs: stallMs };
  const answer = await requests.ask({ method: 'POST', key, query, headers, body }, what, undefined, timing);
  const { code } = s3Refusal(answer);
  // S3 begins its answer before it knows the result: an error may come with status 200.
  if (answer.status === 200 && code === undefined) return 'uploaded';
  if (answer.status === 412 || code === 'PreconditionFailed') {
    await requests.once({ method: 'DELETE', key, query }, TIMING.requestMs).catch(() => undefined);
    return 'exists';
  }
  // If the first answer was lost, a repeat does not find the upload any more.
  if (code === 'NoSuchUpload' && (await requests.ask({ method: 'HEAD', key }, what)).status === 200) return 'exists';
  if (answer.status === 200) throw new StoreUnavailable(`store: ${what}: ${code ?? 'it was not made'}`);
  throw s3Failure(answer, what);
}
