import type { CreateAnswer, CreateRefused } from '../../../domain/slice.js';
import { CloudRefused, CloudUnavailable, type RemoveAnswer } from '../port.js';
import { type ApiFailure, refusalScope } from './refusal-scope.js';

export function apiFailureOf(error: unknown): ApiFailure {
  if (isApiException(error)) {
    const body = statusOf(error.body);
    const { reason, message } = body ?? {};
    const text = message || String(error.body ?? '').slice(0, 300) || WITHOUT_BODY[error.code] || `HTTP ${error.code}`;
    return { status: error.code, ...(body && { reason: reason ?? '' }), message: text };
  }
  if (error instanceof CloudRefused) return { status: 401, message: error.message };
  if (!(error instanceof Error)) return { message: String(error) };
  if (error.name === 'AbortError') return { message: 'the API server did not answer in time' };
  // The HTTP client's own words are `fetch failed`; the connection's are in the cause.
  return { message: error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message };
}

/** The library takes the body off these. */
const WITHOUT_BODY: Readonly<Record<number, string>> = {
  401: 'Unauthorized: the API server does not accept the credentials of the kubeconfig',
};

/** The library's `ApiException`, by its form: the command line has no Kubernetes client to import it from. */
const isApiException = (error: unknown): error is Error & { readonly code: number; readonly body: unknown } =>
  error instanceof Error && 'body' in error && 'code' in error && typeof error.code === 'number';

/** What is used of it. */
export interface Status {
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly code?: number;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
}

/** The API server's `Status`; a proxy or another server answers with something else. */
export function statusOf(body: unknown): Status | undefined {
  try {
    const parsed = (typeof body === 'string' ? JSON.parse(body) : body) as { readonly kind?: string } | null;
    return parsed?.kind === 'Status' ? (parsed as Status) : undefined;
  } catch {
    return undefined;
  }
}

/** Of an API server; a proxy's 404 says nothing of the object. */
export const isNotFound = ({ status, reason }: ApiFailure): boolean => status === 404 && reason === 'NotFound';
const isConflict = ({ status, reason }: ApiFailure): boolean => status === 409 && reason === 'AlreadyExists';

/** Whether the API server has surely done nothing. A server error, a timeout and a broken connection leave it open. */
const isAnswer = ({ status }: ApiFailure): boolean => status !== undefined && status < 500;

/** What a failed create call means. */
export function createAnswerOf(error: unknown): Exclude<CreateAnswer, { kind: 'accepted' }> {
  const failure = apiFailureOf(error);
  if (isConflict(failure)) return { kind: 'exists' };
  return isAnswer(failure) ? refusedBy(failure) : { kind: 'unanswered', message: failure.message };
}

const refusedBy = (failure: ApiFailure): CreateRefused => ({
  kind: 'refused',
  scope: refusalScope(failure),
  message: failure.message,
});

/** What a failed delete call means. It may be repeated. `conflict`: the object was made anew since it was looked at. */
export function removeAnswerOf(error: unknown): Exclude<RemoveAnswer, { kind: 'accepted' }> {
  const failure = apiFailureOf(error);
  if (isNotFound(failure)) return { kind: 'gone' };
  const isFinal = isAnswer(failure) && ![409, 429].includes(failure.status ?? 0);
  return { kind: isFinal ? 'refused' : 'unanswered', message: failure.message };
}

/**
 * The object that a read gives, or undefined if it does not exist: only an API server's own NotFound says so.
 * @throws CloudUnavailable if the call may be repeated
 * @throws CloudRefused if it was refused: credentials, rights, another server
 */
export async function read<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    const failure = apiFailureOf(error);
    if (isNotFound(failure)) return undefined;
    throw portErrorOf(failure);
  }
}

/** As `read`, for calls that have no object to miss. */
export async function listed<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw portErrorOf(apiFailureOf(error));
  }
}

export function portErrorOf(failure: ApiFailure): CloudRefused | CloudUnavailable {
  const isFinal = isAnswer(failure) && failure.status !== 429 && failure.status !== 410;
  return isFinal ? new CloudRefused(failure.message) : new CloudUnavailable(failure.message);
}
