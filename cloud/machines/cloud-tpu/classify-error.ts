import type { CreateAnswer, CreateRefused, RefusalScope } from '../../../domain/slice.js';
import { googleRefusal, refusalText, readable, type GoogleError } from '../../google-refusal.js';
import type { RemoveAnswer } from '../port.js';

/** The values of google.rpc.Code that matter for a decision. */
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

/** The name that gRPC writes, such as `RESOURCE_EXHAUSTED`. */
export function codeName(code: number | undefined): string {
  const name = Object.entries(Code).find(([, number]) => number === code)?.[0] ?? 'Unknown';
  return name.replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

/** The facts of a failed call, whether gRPC, an operation's `error` or the auth library reports it. */
export type ApiError = Omit<GoogleError, 'httpStatus' | 'status'>;

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

/** Puts a failed REST call into the form that `apiErrorOf` reads. Without Google's answer it counts as an unavailable API. */
export function restFailure({ status, message, reason, metadata }: GoogleError): object {
  const code = Object.values(Code).find((number) => codeName(number) === status);
  return { code: code ?? Code.Unavailable, message, reason, errorInfoMetadata: metadata };
}

/**
 * Classifies a failed create call. `refused` only if Google surely started nothing: every error that may be a lost answer is
 * `unanswered`.
 */
export function classifyCreateError(error: ApiError): Exclude<CreateAnswer, { kind: 'accepted' }> {
  if (error.code === Code.AlreadyExists) return { kind: 'exists' };
  return isAnswer(error) ? createRefused(error) : { kind: 'unanswered', message: error.message };
}

/** Classifies a create operation that ended with an error: Google's final answer, whatever its code. */
export function failedCreate(error: ApiError): Exclude<CreateAnswer, { kind: 'accepted' | 'unanswered' }> {
  return error.code === Code.AlreadyExists ? { kind: 'exists' } : createRefused(error);
}

const createRefused = (error: ApiError): CreateRefused => ({
  kind: 'refused',
  scope: refusalScope(error),
  message: refusalText(error),
});

/** Returns whether a failed call surely had no effect, because Google or the auth library refused it. */
function isAnswer(error: ApiError): boolean {
  return isCredentialProblem(error) || isRateLimit(error) || (ANSWERS.has(error.code ?? 0) && !isFlowControl(error));
}

const ANSWERS: ReadonlySet<number> = new Set([
  Code.InvalidArgument,
  Code.NotFound,
  Code.PermissionDenied,
  Code.ResourceExhausted,
  Code.FailedPrecondition,
  Code.OutOfRange,
  Code.Unimplemented,
]);

/** gRPC's own flow control also has code 8, which says nothing about the call. */
const isFlowControl = ({ code, message }: ApiError): boolean =>
  code === Code.ResourceExhausted && /RST_STREAM/.test(message);

/** Classifies a failed delete call. A delete may be repeated, so a lost answer costs nothing. */
export function classifyDeleteError(
  error: ApiError,
): Exclude<RemoveAnswer, { kind: 'accepted' }> | { kind: 'deleting' } {
  const read = classifyReadError(error);
  if (read === 'not-found') return { kind: 'gone' };
  if (error.code === Code.FailedPrecondition && /state is DELETING/.test(error.message)) return { kind: 'deleting' };
  return read === 'unavailable'
    ? { kind: 'unanswered', message: error.message }
    : { kind: 'refused', message: refusalText(error) };
}

/**
 * Classifies a failed read. Only an answer about the resource itself is `not-found`: a missing project, zone or API is `refused`,
 * so that a wrong setting is never read as "the slice is gone".
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

/** Matches separate words, not parts of a path (`projects/..`) or of a name (`tpu-project`). */
const OUTSIDE_THE_RESOURCE = /(?<![\w/-])(project|location|zone|region|api|method|service)(?![\w/-])/i;

/** Includes failures of the auth library inside a call: gRPC then gives code 2 or 14 and the library's text. */
export function isCredentialProblem(error: ApiError): boolean {
  const kind = googleRefusal(error)?.kind;
  return kind === 'no-credentials' || kind === 'expired-credentials';
}

/**
 * The scope of a refusal of Cloud TPU (docs/adr/0042), whether a call was refused, its operation failed, or its queued resource
 * is FAILED. It checks problems of the login or the project first, then Google's texts (docs/facts.md, "Cloud TPU"; field
 * reports, 2024 to 2026), then the code. An unknown refusal is `unknown`, never `request`, because only `request` may be final.
 */
export function refusalScope(error: ApiError): RefusalScope {
  const refusal = googleRefusal(error);
  if (refusal !== undefined) return refusal.kind === 'unknown-zone' ? 'zone-lasting' : 'installation';
  if (isRateLimit(error)) return 'moment';
  return TEXTS.find(({ text }) => text.test(readable(error.message)))?.scope ?? scopeOfCode(error.code);
}

/** The API's own limit of calls, which Google's front end applies before a call reaches Cloud TPU. */
function isRateLimit({ code, message, reason }: ApiError): boolean {
  if (reason === 'RATE_LIMIT_EXCEEDED') return true;
  return code === Code.ResourceExhausted && /quota metric|requests per (minute|second)/i.test(message);
}

/** The order matters. */
const TEXTS: readonly { readonly text: RegExp; readonly scope: RefusalScope }[] = [
  { text: /no more capacity|stock ?out|insufficient .*capacity|resource_pool_exhausted/i, scope: 'zone' },
  // Google counts quota and addresses by region. Other machines that are being deleted still count (marin#87).
  { text: /(?<![\w/-])quota(?![\w/-])|IN_USE_ADDRESSES|\blimit:? \d/i, scope: 'zone' },
  {
    text: /zonal accelerator configurations|zone "[^"]*" is not supported|not supported .*in location/i,
    scope: 'zone-lasting',
  },
  // A create or an update that collided with a preemption, a deletion or another call.
  { text: /not supported while in state|not supported when state is|unable to queue the operation/i, scope: 'moment' },
  { text: /was not fulfilled before its deadline/i, scope: 'moment' },
  { text: /The field "[^"]*" cannot be|^Invalid (value|JSON)|\blabels?\b.* (invalid|must)/i, scope: 'request' },
];

function scopeOfCode(code: number | undefined): RefusalScope {
  switch (code) {
    case Code.ResourceExhausted:
      return 'zone';
    // Such as `User does not have permission to submit requests for accelerator type "v5litepod-8" in location "us-central1-a"`,
    // which was said of one type in one zone while other zones granted it (field reports of 2026).
    case Code.PermissionDenied:
      return 'permission';
    case Code.Unauthenticated:
      return 'installation';
    case Code.InvalidArgument:
    case Code.NotFound:
    case Code.AlreadyExists:
    case Code.FailedPrecondition:
    case Code.OutOfRange:
    case Code.Unimplemented:
      return 'unknown';
    default:
      return 'moment';
  }
}
