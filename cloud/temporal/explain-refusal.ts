import type { Unreachable } from './why-unreachable.js';

/** The gRPC codes that a Temporal server answers with. */
const Code = {
  InvalidArgument: 3,
  DeadlineExceeded: 4,
  NotFound: 5,
  PermissionDenied: 7,
  Unavailable: 14,
  Unauthenticated: 16,
} as const;

/** The reason why a Temporal server refused, from an SDK's error or a bare gRPC error. */
export type Refusal =
  | ({ readonly kind: 'unreachable' | 'refused' } & Unreachable)
  /** The namespace lacks search attributes that the call names. Only another call tells which. */
  | { readonly kind: 'search-attributes'; readonly why: string };

/**
 * Explains a failed call to the person who must fix it; undefined if the error is about the call itself. It compares names and
 * codes, so that no heavy module is loaded.
 * @param namespace the call's namespace
 */
export function explainRefusal(error: unknown, namespace: string): Refusal | undefined {
  const { code, text, name } = grpcFacts(error);
  if (name === 'NamespaceNotFoundError' || (code === Code.NotFound && /namespace/i.test(text))) {
    return {
      kind: 'refused',
      why: `namespace '${namespace}' is not there`,
      remedy: `set TEMPORAL_NAMESPACE (or --namespace) to one that is, or make it: jobctl setup server --namespace ${namespace}`,
    };
  }
  switch (code) {
    case Code.Unauthenticated:
    case Code.PermissionDenied:
      return { kind: 'refused', why: `it does not let this client in: ${text}`, remedy: credentialsRemedy(namespace) };
    case Code.Unavailable:
    case Code.DeadlineExceeded:
      return { kind: 'unreachable', why: text, remedy: 'is it up? try again' };
    case Code.InvalidArgument:
      return /search attribute/i.test(text) ? { kind: 'search-attributes', why: text } : undefined;
    default:
      return undefined;
  }
}

const credentialsRemedy = (namespace: string): string =>
  process.env['TEMPORAL_API_KEY'] === undefined
    ? `it wants an API key (TEMPORAL_API_KEY) or a client certificate (TEMPORAL_TLS_CLIENT_CERT_PATH) with rights in namespace ${namespace}`
    : `is TEMPORAL_API_KEY right, not expired, and has its owner rights in namespace ${namespace}?`;

interface GrpcFacts {
  readonly code: number | undefined;
  readonly text: string;
  readonly name: string;
}

/** The SDK wraps the gRPC error, and the cause has the code. A worker's connection has the code only in its text. */
function grpcFacts(error: unknown): GrpcFacts {
  const outer = (error ?? {}) as { name?: string; code?: unknown; message?: string; details?: string; cause?: unknown };
  const inner = outer.cause as typeof outer | undefined;
  const bare = typeof outer.code === 'number' ? outer : typeof inner?.code === 'number' ? inner : undefined;
  const text = bare?.details ?? bare?.message ?? outer.message ?? String(error);
  return {
    code: (bare?.code as number | undefined) ?? codeInWords(text),
    text: (/message: "([^"]*)"/.exec(text)?.[1] ?? text).replace(/^\d+ [A-Z_]+: /, ''),
    name: outer.name ?? '',
  };
}

/** `code: 'The caller does not have permission ..', message: ".."` is how the SDK's core (tonic) writes a status. */
function codeInWords(text: string): number | undefined {
  if (/code: 'The caller does not have permission/.test(text)) return Code.PermissionDenied;
  if (/code: 'The request does not have valid authentication/.test(text)) return Code.Unauthenticated;
  return undefined;
}
