import type { ApiErrorCode, ApiProblem } from '../contract/api/failures.js';

const STATUS: Readonly<Record<ApiErrorCode, number>> = {
  invalid: 422,
  unauthenticated: 401,
  forbidden: 403,
  'not-found': 404,
  'name-taken': 409,
  refused: 409,
  'too-large': 413,
  'too-many-requests': 429,
  unavailable: 503,
  internal: 500,
};
const TITLES: Readonly<Record<ApiErrorCode, string>> = {
  invalid: 'The request is wrong',
  unauthenticated: 'No valid login',
  forbidden: 'Not allowed',
  'not-found': 'Not found',
  'name-taken': 'The name is in use',
  refused: 'Refused',
  'too-large': 'Too large',
  'too-many-requests': 'Too many requests',
  unavailable: 'Not available now',
  internal: 'A fault of the server',
};

/** A refusal that a caller can act on. The error handler turns it into the answer. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ApiErrorCode;
  readonly remedy: string | undefined;

  constructor(code: ApiErrorCode, detail: string, remedy?: string) {
    super(detail);
    this.code = code;
    this.remedy = remedy;
  }
}

/** A refusal whose answer has the header Retry-After. */
export class TooManyRequests extends ApiError {
  /** In seconds, at least 1. */
  readonly retryAfter: number;

  /** @param waitMs time until the same call may succeed, as far as it is known */
  constructor(detail: string, remedy: string, waitMs = 1_000) {
    super('too-many-requests', detail, remedy);
    this.retryAfter = Math.max(1, Math.ceil(waitMs / 1_000));
  }
}

export function problemOf({ code, message, remedy }: ApiError, requestId: string, status = STATUS[code]): ApiProblem {
  return {
    type: 'about:blank',
    title: TITLES[code],
    status,
    code,
    detail: message,
    ...(remedy === undefined ? {} : { remedy }),
    requestId,
  };
}

/** Codes by the name of an error of JobClient, the store or the domain. Classes differ between two copies of jobctl. */
const CODES: Readonly<Record<string, ApiErrorCode>> = {
  JobInvalid: 'invalid',
  JobNameTaken: 'name-taken',
  JobNotFound: 'not-found',
  GroupNotFound: 'not-found',
  ScheduleNotFound: 'not-found',
  PoolNotFound: 'not-found',
  MachineNotFound: 'not-found',
  JobRefused: 'refused',
  PoolRefused: 'refused',
  JobTerminated: 'refused',
  JobEncrypted: 'refused',
  MachinesRefused: 'refused',
  TemporalUnreachable: 'unavailable',
  TemporalRefused: 'unavailable',
  StoreUnavailable: 'unavailable',
  StoreRefused: 'unavailable',
  SecretsUnavailable: 'unavailable',
  SecretsRefused: 'unavailable',
};

/** A code of gRPC, copied because importing its enum would load the library. */
const INVALID_ARGUMENT = 3;

/** Returns undefined for a bug: its text belongs in the log and is not for the caller. */
export function apiErrorOf(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error;
  if (!(error instanceof Error)) return undefined;
  // Temporal refused the caller's value, such as a name that is too long; its text names the value.
  const { code: grpc, details } = error as Error & { readonly code?: unknown; readonly details?: unknown };
  if (grpc === INVALID_ARGUMENT && typeof details === 'string') return new ApiError('invalid', details);
  const code = CODES[error.name];
  if (code === undefined) return undefined;
  const { remedy } = error as Error & { readonly remedy?: string };
  return new ApiError(code, error.message, remedy);
}
