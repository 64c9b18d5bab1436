import { setTimeout as sleep } from 'node:timers/promises';
import type { FileSource } from '../../domain/file-source.js';
import { type Chunk, checkedChunks } from './checked-chunks.js';
import { s3Failure, s3Refusal } from './s3-error.js';
import { bareEtag } from './s3-listing.js';
import type { S3Answer, S3Request, S3Requests } from './s3-requests.js';
import { StoreUnavailable } from './port.js';

export interface PartTiming {
  /** Of one request, with its part. */
  readonly requestMs: number;
  /** The upload is given up when no more parts were stored for so long. */
  readonly stallMs: number;
  readonly pauseMs: number;
}

const TIMING: PartTiming = { requestMs: 120_000, stallMs: 240_000, pauseMs: 500 };
/** 5 MiB is S3's least, but for the last one. In memory, and sent again after a cut. */
export const PART_BYTES = 8 * 1024 * 1024;
const MOST_PARTS = 10_000;
const PASSING: ReadonlySet<number> = new Set([408, 429]);

export interface S3Upload {
  readonly requests: Pick<S3Requests, 'ask' | 'once'>;
  readonly key: string;
  readonly source: FileSource;
  /** What is tried, on which object. */
  readonly what: string;
  readonly timing?: PartTiming;
}

/**
 * Sends a source in parts, of which each is sent until it is stored, so that a cut costs one part. The object is made by the last
 * request alone, and only where there is none of its name.
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
    // What was stored of it is billed until somebody takes it away.
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
  // Of many parts Amazon takes minutes (docs.aws.amazon.com, CompleteMultipartUpload, 2026-11).
  const timing = { requestMs, totalMs: stallMs };
  const answer = await requests.ask({ method: 'POST', key, query, headers, body }, what, undefined, timing);
  const { code } = s3Refusal(answer);
  // S3 begins its answer before it knows how it ends: an error comes with status 200 too.
  if (answer.status === 200 && code === undefined) return 'uploaded';
  if (answer.status === 412 || code === 'PreconditionFailed') {
    await requests.once({ method: 'DELETE', key, query }, TIMING.requestMs).catch(() => undefined);
    return 'exists';
  }
  // A repeat finds no upload any more where the first answer was lost.
  if (code === 'NoSuchUpload' && (await requests.ask({ method: 'HEAD', key }, what)).status === 200) return 'exists';
  if (answer.status === 200) throw new StoreUnavailable(`store: ${what}: ${code ?? 'it was not made'}`);
  throw s3Failure(answer, what);
}
