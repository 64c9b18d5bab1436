import { type GoogleError, googleRefusal, refusalText } from '../google-refusal.js';
import type { CreateAnswer, CreateRefusal, DeleteAnswer } from './port.js';

/** google.rpc.Code, as far as it decides something. */
export const Code = {
  Cancelled: 1,
  Unknown: 2,
  InvalidArgument: 3,
  DeadlineExceeded: 4,
  NotFound: 5,
  AlreadyExists: 6,
  PermissionDenied: 7,
  ResourceExhausted: 8,
  FailedPrecondition: 9,
  Aborted: 10,
  OutOfRange: 11,
  Unimplemented: 12,
  Internal: 13,
  Unavailable: 14,
  Unauthenticated: 16,
} as const;

/** `RESOURCE_EXHAUSTED`, as gRPC writes it. */
export function codeName(code: number | undefined): string {
  const name = Object.entries(Code).find(([, number]) => number === code)?.[0] ?? 'Unknown';
  return name.replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

/** What is known of a failed call, whoever reported it: gRPC, an operation's `error`, or the auth library. */
export type ApiError = Omit<GoogleError, 'httpStatus'>;

/** Reads any thrown value. gax puts `<code> <NAME>: ` before the server's own text; `details` is that text alone. */
export function apiErrorOf(thrown: unknown): ApiError {
  if (typeof thrown !== 'object' || thrown === null) return { message: String(thrown) };
  const { code, details, message, reason, errorInfoMetadata: metadata } = thrown as Record<string, unknown>;
  return {
    message: typeof details === 'string' && details !== '' ? details : String(message ?? thrown),
    ...(typeof code === 'number' ? { code } : {}),
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(typeof metadata === 'object' && metadata !== null ? { metadata: metadata as Record<string, string> } : {}),
  };
}

/**
 * What a failed create call means. `refused` only where Google surely took nothing on: everything that can be a lost
 * answer, a rate limit included, is `unanswered`. Texts: facts/cloud-tpu.md 1.5 (field reports, 2024 to 2026).
 */
export function classifyCreateError(error: ApiError): Exclude<CreateAnswer, { kind: 'accepted' }> {
  if (error.code === Code.AlreadyExists) return { kind: 'exists' };
  const reason = createRefusal(error);
  return reason === undefined
    ? { kind: 'unanswered', message: error.message }
    : { kind: 'refused', reason, message: refusalText(error) };
}

function createRefusal(error: ApiError): CreateRefusal | undefined {
  if (isCredentialProblem(error)) return 'permission';
  switch (error.code) {
    case Code.ResourceExhausted:
      return isPassing(error) ? undefined : exhausted(error.message);
    case Code.FailedPrecondition:
      return CAPACITY_TEXT.test(error.message) ? 'no-capacity' : 'bad-request';
    case Code.PermissionDenied:
      return 'permission';
    case Code.InvalidArgument:
    case Code.NotFound:
    case Code.OutOfRange:
    case Code.Unimplemented:
      return 'bad-request';
    default:
      return undefined;
  }
}

const CAPACITY_TEXT = /no more capacity|stock ?out|insufficient .*capacity|resource_pool_exhausted/i;
const QUOTA_TEXT = /quota|IN_USE_ADDRESSES|limit:? \d/i;

/** Code 8 means both; a text that says neither is taken for capacity, which is asked for again elsewhere or later. */
function exhausted(message: string): CreateRefusal {
  return !CAPACITY_TEXT.test(message) && QUOTA_TEXT.test(message) ? 'quota' : 'no-capacity';
}

/** Code 8 of the call, not of the chips: the API's rate limit, or gRPC's own flow control. */
function isPassing({ message, reason }: ApiError): boolean {
  return reason === 'RATE_LIMIT_EXCEEDED' || /quota metric|requests per (minute|second)|RST_STREAM/i.test(message);
}

/** What a failed delete call means. A delete may be repeated, so that a lost answer costs nothing. */
export function classifyDeleteError(
  error: ApiError,
): Exclude<DeleteAnswer, { kind: 'accepted' }> | { kind: 'deleting' } {
  const read = classifyReadError(error);
  if (read === 'not-found') return { kind: 'gone' };
  if (error.code === Code.FailedPrecondition && /state is DELETING/.test(error.message)) return { kind: 'deleting' };
  return read === 'unavailable'
    ? { kind: 'unanswered', message: error.message }
    : { kind: 'refused', message: refusalText(error) };
}

/**
 * What a failed read means. Only an answer about the resource itself is `not-found`: a project, zone or API that is not
 * there is `refused`, so that a wrong setting is never read as "the slice is gone".
 */
export function classifyReadError(error: ApiError): 'not-found' | 'unavailable' | 'refused' {
  if (isCredentialProblem(error)) return 'refused';
  switch (error.code) {
    case Code.NotFound:
      return OUTSIDE_THE_RESOURCE.test(error.message) ? 'refused' : 'not-found';
    case Code.InvalidArgument:
    case Code.PermissionDenied:
    case Code.FailedPrecondition:
    case Code.OutOfRange:
    case Code.Unimplemented:
      return 'refused';
    default:
      return 'unavailable';
  }
}

/** As words of their own: not in a path (`projects/..`), nor in a name (`tpu-project`). */
const OUTSIDE_THE_RESOURCE = /(?<![\w/-])(project|location|zone|region|api|method|service)(?![\w/-])/i;

/** Also where the auth library failed inside a call: gRPC then gives code 2 or 14 and the library's text. */
export function isCredentialProblem(error: ApiError): boolean {
  const kind = googleRefusal(error)?.kind;
  return kind === 'no-credentials' || kind === 'expired-credentials';
}
