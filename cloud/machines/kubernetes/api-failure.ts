import type { CreateAnswer, CreateRefused, RefusalScope } from '../../../domain/slice.js';
import { CloudRefused, CloudUnavailable, type RemoveAnswer } from '../port.js';

export function apiFailureOf(error: unknown): ApiFailure {
  if (isApiException(error)) {
    const body = statusOf(error.body);
    const { reason, message } = body ?? {};
    const plain = String(error.body ?? '')
      .slice(0, 300)
      .trim();
    const text = message || plain || WITHOUT_BODY[error.code] || `HTTP ${error.code}`;
    return { status: error.code, ...(body && { reason: reason ?? '' }), message: text };
  }
  if (error instanceof CloudRefused) return { status: 401, message: error.message };
  if (!(error instanceof Error)) return { message: String(error) };
  if (error.name === 'AbortError') return { message: 'the API server did not answer in time' };
  // The HTTP client only says `fetch failed`; the cause has the connection's error.
  return { message: error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message };
}

/** The library removes the body of these answers. */
const WITHOUT_BODY: Readonly<Record<number, string>> = {
  401: 'Unauthorized: the API server does not accept the credentials of the kubeconfig',
};

/** Recognizes the library's `ApiException` by its form, because the command line has no Kubernetes client to import it from. */
const isApiException = (error: unknown): error is Error & { readonly code: number; readonly body: unknown } =>
  error instanceof Error && 'body' in error && 'code' in error && typeof error.code === 'number';

/** The fields of a Status that are used. */
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

/** Only an API server's NotFound counts; a proxy's 404 says nothing about the object. */
export const isNotFound = ({ status, reason }: ApiFailure): boolean => status === 404 && reason === 'NotFound';
const isConflict = ({ status, reason }: ApiFailure): boolean => status === 409 && reason === 'AlreadyExists';

/** Returns whether the API server has surely done nothing. A server error, a timeout or a broken connection leaves it open. */
const isAnswer = ({ status }: ApiFailure): boolean => status !== undefined && status < 500;

/** Classifies a failed create call. */
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

/** Classifies a failed delete call. It may be repeated. `conflict`: the object was recreated since it was read. */
export function removeAnswerOf(error: unknown): Exclude<RemoveAnswer, { kind: 'accepted' }> {
  const failure = apiFailureOf(error);
  if (isNotFound(failure)) return { kind: 'gone' };
  const isFinal = isAnswer(failure) && ![409, 429].includes(failure.status ?? 0);
  return { kind: isFinal ? 'refused' : 'unanswered', message: failure.message };
}

/**
 * Returns the object of a read, or undefined if it does not exist, which only an API server's own NotFound shows.
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

/** Like `read`, for calls that concern no single object. */
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

interface ApiFailure {
  /** The HTTP status; absent if there was no answer. */
  readonly status?: number;
  /** Kubernetes' reason, such as `AlreadyExists`. Absent: the answer is not from an API server. */
  readonly reason?: string;
  readonly message: string;
}

/**
 * The scope of a refusal of Kubernetes (docs/adr/0042). Texts count first, because they say more than the code: RBAC, a
 * ResourceQuota, admission and a namespace that is being deleted all answer 403.
 */
function refusalScope({ status, message }: ApiFailure): RefusalScope {
  return scopeOfText(message) ?? scopeOfStatus(status);
}

/** Texts of the API server, of admission, and of the Job controller's events (Kubernetes 1.34). */
const TEXTS: readonly { readonly text: RegExp; readonly scope: RefusalScope }[] = [
  { text: /exceeded quota|failed quota|insufficient quota/i, scope: 'zone' },
  { text: /because it is being terminated/i, scope: 'zone-lasting' },
  { text: /namespaces? "[^"]*" not found/i, scope: 'request' },
  { text: /service ?account "?[^"\s]*"? not found|no PriorityClass with name/i, scope: 'request' },
  { text: /(secret|configmap|persistentvolumeclaim) "[^"]*" not found/i, scope: 'request' },
  { text: /violates PodSecurity|admission webhook "[^"]*" denied/i, scope: 'request' },
  // Texts of KubeRay's events.
  { text: /The RayCluster (spec|metadata|status) is invalid|: Pod "[^"]*" is invalid/, scope: 'request' },
  { text: /User "[^"]*" cannot /i, scope: 'permission' },
];

export const scopeOfText = (message: string): RefusalScope | undefined =>
  TEXTS.find(({ text }) => text.test(message))?.scope;

function scopeOfStatus(status: number | undefined): RefusalScope {
  switch (status) {
    // Each cluster has its own logins and rights.
    case 401:
    case 403:
      return 'permission';
    case 400:
    case 422:
      return 'request';
    case 409:
    case 410:
    case 429:
      return 'moment';
    default:
      return 'unknown';
  }
}
