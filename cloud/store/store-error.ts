import { googleRefusal, inOneLine } from '../google-refusal.js';
import { StoreRefused, StoreUnavailable } from './port.js';

/** The HTTP status of a failed request: the client puts it into `code` or, for some uploads, into `status` alone. */
export function httpStatusOf(error: unknown): number | undefined {
  const { code, status } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  const found = [code, status].map(Number).find((value) => value >= 100 && value < 600);
  return found;
}

export function isMissingBucket(error: unknown): boolean {
  return /bucket does not exist/i.test(textOf(error));
}

/**
 * What a failed request means: only an answer that says "no" is `StoreRefused`; no answer, a busy or broken server and
 * all that is not known is `StoreUnavailable`, which is repeated.
 * @param what was tried, on which object.
 */
export function storeError(error: unknown, what: string): StoreRefused | StoreUnavailable {
  const status = httpStatusOf(error);
  const isRefused = status !== undefined && status >= 400 && status < 500 && !PASSING.has(status);
  const refusal = isRefused || status === undefined ? refusalOf(error, status, what) : undefined;
  // Of the login or of rights: then this is the whole news.
  if (refusal !== undefined) return new StoreRefused(`store: ${what}: ${inOneLine(refusal)}`, { cause: error });
  const message = `store: ${what}: ${textOf(error)}${status === undefined ? '' : ` (HTTP ${status})`}`;
  return isRefused ? new StoreRefused(message, { cause: error }) : new StoreUnavailable(message, { cause: error });
}

/** GCS answers JSON, and bare text to requests for content. */
export function messageIn(body: string): string {
  if (/^\s*<(!doctype )?html/i.test(body)) return 'the answer is a web page, so a proxy or another server gave it';
  try {
    return (JSON.parse(body) as { error?: { message?: string } }).error?.message ?? body;
  } catch {
    return body;
  }
}

/** Why a request came to no answer. @param origin of the server, such as http://127.0.0.1:4443 */
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

/** There is no login, or it is not accepted. */
export function isLoginRefused(error: unknown): boolean {
  const kind = refusalOf(error, httpStatusOf(error), '')?.kind;
  return kind === 'no-credentials' || kind === 'expired-credentials';
}

/** Google names a bucket in no refusal; `what` does. */
function refusalOf(error: unknown, httpStatus: number | undefined, what: string) {
  const bucket = /(?:gs:\/\/|bucket )([^/\s]+)/.exec(what)?.[1];
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
  // Of a connection the words are made already (`connectionWords`).
  return cause instanceof Error && own === 'fetch failed' ? textOf(cause) : own;
}
