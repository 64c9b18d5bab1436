import { googleRefusal, refusalText } from '../../google-refusal.js';
import type { CreateAnswer, CreateRefused } from '../../../domain/slice.js';
import type { RemoveAnswer } from '../port.js';
import { type ApiError, Code } from './api-error.js';
import { isRateLimit, refusalScope } from './refusal-scope.js';

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

export const createRefused = (error: ApiError): CreateRefused => ({
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
