import { googleRefusal, inOneLine } from '../google-refusal.js';
import { createBucketCommand } from '../../domain/store-place.js';
import { BucketMissing, StoreRefused, StoreUnavailable } from './port.js';

/** The HTTP status of a failed request. The client puts it into `code` or, for some uploads, only into `status`. */
export function httpStatusOf(error: unknown): number | undefined {
  const { code, status } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  const found = [code, status].map(Number).find((value) => value >= 100 && value < 600);
  return found;
}

export function isMissingBucket(error: unknown): boolean {
  return /bucket does not exist/i.test(textOf(error));
}

/**
 * Explains a failed request. Only an answer that says "no" is `StoreRefused`. No answer, a busy or broken server and unknown
 * errors are `StoreUnavailable`, which is repeated.
 * @param what the action and its object
 * @param asked where the bucket was looked for
 */
export function storeError(
  error: unknown,
  what: string,
  asked: { readonly endpoint?: string; readonly projectId?: string } = {},
): StoreRefused | StoreUnavailable {
  const status = httpStatusOf(error);
  const bucket = bucketIn(what);
  if (status === 404 && bucket !== undefined && isMissingBucket(error))
    return new BucketMissing(`store: ${what}: ${missingText(bucket, asked)}`, { cause: error });
  const isRefused = status !== undefined && status >= 400 && status < 500 && !PASSING.has(status);
  const refusal = isRefused || status === undefined ? refusalOf(error, status, what) : undefined;
  // If the login or rights are the cause, this text says everything.
  if (refusal !== undefined) return new StoreRefused(`store: ${what}: ${inOneLine(refusal)}`, { cause: error });
  const message = `store: ${what}: ${textOf(error)}${status === undefined ? '' : ` (HTTP ${status})`}`;
  return isRefused ? new StoreRefused(message, { cause: error }) : new StoreUnavailable(message, { cause: error });
}

/** GCS answers with JSON, and with bare text to requests for content. */
export function messageIn(body: string): string {
  if (/^\s*<(!doctype )?html/i.test(body)) return 'the answer is a web page, so a proxy or another server gave it';
  try {
    return (JSON.parse(body) as { error?: { message?: string } }).error?.message ?? body;
  } catch {
    return body;
  }
}

/** Explains why a request got no answer. @param origin the server's, such as http://127.0.0.1:4443 */
export function connectionWords({ code = '', message }: Error & { readonly code?: string }, origin: string): string {
  if (code.startsWith('HPE_')) return `what listens at ${origin} does not speak HTTP`;
  return WORDS[code]?.(origin) ?? `${origin}: ${message}`;
}

const WORDS: Readonly<Record<string, (origin: string) => string>> = {
  EAI_AGAIN: (origin) => `the name of ${origin} is not known here (no network?)`,
  ECONNREFUSED: (origin) => `nothing listens at ${origin}`,
  ECONNRESET: (origin) => `${origin} closed the connection without an answer (ECONNRESET)`,
  EHOSTUNREACH: (origin) => `no network leads to ${origin}`,
  ENETUNREACH: (origin) => `no network leads to ${origin}`,
  ENOTFOUND: (origin) => `no computer has the name in ${origin}`,
  ETIMEDOUT: (origin) => `${origin} does not answer`,
};

/** Returns whether there is no login, or it is not accepted. */
export function isLoginRefused(error: unknown): boolean {
  const kind = refusalOf(error, httpStatusOf(error), '')?.kind;
  return kind === 'no-credentials' || kind === 'expired-credentials';
}

/** `gcloud` reaches only Google, so another server is asked by plain HTTP. */
function missingText(bucket: string, { endpoint = '', projectId }: Parameters<typeof storeError>[2] & object): string {
  const command = endpoint.startsWith('http:')
    ? `curl -H 'content-type: application/json' -d '{"name":"${bucket}"}' '${endpoint.replace(/\/$/, '')}/storage/v1/b?project=${projectId ?? 'PROJECT'}'`
    : createBucketCommand(bucket, projectId);
  return `gs://${bucket} does not exist (is the name right?); to make it: ${command}`;
}

/** Google's refusals do not name the bucket. */
const bucketIn = (what: string): string | undefined => /(?:gs:\/\/|bucket )([^/\s]+)/.exec(what)?.[1];

function refusalOf(error: unknown, httpStatus: number | undefined, what: string) {
  const bucket = bucketIn(what);
  return googleRefusal({
    message: textOf(error),
    ...(httpStatus === undefined ? {} : { httpStatus }),
    ...(bucket === undefined ? {} : { metadata: { resource: `gs://${bucket}` } }),
  });
}
/** Timeout, conflict of two changes, lost precondition, rate limit. */
const PASSING: ReadonlySet<number> = new Set([408, 409, 412, 429]);

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  // An AggregateError of connection attempts has an empty message; fetch puts the reason into the cause.
  const own = error.message || String(code ?? error.name);
  // `connectionWords` has already explained a failed connection.
  return cause instanceof Error && own === 'fetch failed' ? textOf(cause) : own;
}
