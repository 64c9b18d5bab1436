export const PERMISSION_DENIED = 7;

/** gRPC's code of an error of the SDK or of a bare call. */
export function codeOf(error: unknown): unknown {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } };
  return typeof code === 'number' ? code : cause?.code;
}
