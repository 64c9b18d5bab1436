import type { GoogleError } from '../../google-refusal.js';

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
