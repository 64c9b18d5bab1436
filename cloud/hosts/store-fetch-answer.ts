import type { StoredSource } from './port.js';

/** The right with which a host reads from the store. `plain`: over `http:`, without any. */
export type FetchWay = 'plain' | 'service-account' | 'signed-url';

/** The result of one try to have a host read an object. */
export type FetchAnswer =
  | { readonly kind: 'placed'; readonly end: 'unchanged' | 'done' }
  | { readonly kind: 'no-curl' }
  /** `hasServer`: a metadata server answered, but has no service account. */
  | { readonly kind: 'no-token'; readonly hasServer: boolean }
  | { readonly kind: 'unsigned'; readonly message: string }
  /** The store refused the request. */
  | { readonly kind: 'refused'; readonly status: number }
  /** No connection, or none that curl trusts. */
  | { readonly kind: 'unreachable'; readonly message: string }
  /** The failure may pass. @param bytes that are there now */
  | { readonly kind: 'trouble'; readonly bytes: number; readonly message: string }
  /** Its size or content differs from the file's. */
  | { readonly kind: 'other-content'; readonly message: string };

/**
 * curl's exit codes (curl.se/docs/manpage.html, 7.88) for a connection that was not made: unsupported protocol, a proxy or host
 * without an address, refused, TLS. 28 is a timeout of the connection or of the transfer; its text tells which.
 */
const UNREACHABLE: ReadonlySet<number> = new Set([
  1, 3, 5, 6, 7, 35, 51, 53, 54, 58, 59, 60, 66, 77, 80, 82, 83, 90, 91,
]);
const TIMEOUT = 28;
const HTTP_ERROR = 22;
const PASSING_STATUS: ReadonlySet<number> = new Set([408, 429]);

/** @param said the last word of `fetchScript` */
export function fetchAnswer(said: string): FetchAnswer {
  const [word = '', code = '', bytes = '', ...rest] = said.split(' ');
  switch (word) {
    case 'unchanged':
    case 'done':
      return { kind: 'placed', end: word };
    case 'no-curl':
      return { kind: 'no-curl' };
    case 'no-token':
      return { kind: 'no-token', hasServer: Number(code) === HTTP_ERROR };
    case 'failed':
      return failure(Number(code), Number(bytes), rest.join(' ') || `curl ended with code ${code}`);
    default:
      return { kind: 'other-content', message: said };
  }
}

function failure(code: number, bytes: number, message: string): FetchAnswer {
  const status = Number(/returned error: (\d{3})/.exec(message)?.[1]);
  if (code === HTTP_ERROR && status < 500 && !PASSING_STATUS.has(status)) return { kind: 'refused', status };
  const isConnecting = code === TIMEOUT && /resolv|connect/i.test(message);
  if (UNREACHABLE.has(code) || isConnecting) return { kind: 'unreachable', message };
  return { kind: 'trouble', bytes, message };
}

interface WhyNot {
  /** For the log. */
  readonly reason: string;
  /** Must not be tried for other files either: this way, or the whole store. Undefined: the failure concerns only this file. */
  readonly closes?: FetchWay | 'store';
}

export function whyNot(
  answer: Exclude<FetchAnswer, { kind: 'placed' }>,
  way: FetchWay,
  stored: StoredSource['stored'],
): WhyNot {
  switch (answer.kind) {
    case 'no-curl':
      return { reason: 'this host has no curl', closes: 'store' };
    case 'no-token':
      return {
        reason: answer.hasServer ? 'this VM has no service account' : 'no metadata server answers this host',
        closes: way,
      };
    case 'unsigned':
      return { reason: answer.message, closes: way };
    case 'refused': {
      const isRight = answer.status === 401 || answer.status === 403;
      const reason = `${WHO[way]} ${isRight ? 'may' : 'could'} not read ${stored.place} (HTTP ${answer.status})`;
      return { reason, ...(isRight && { closes: way }) };
    }
    case 'unreachable':
      return { reason: `this host does not reach the store: ${answer.message}`, closes: 'store' };
    case 'trouble':
      return { reason: `${stored.place}: ${answer.message}`, closes: 'store' };
    case 'other-content':
      // Most likely a proxy's page, which every other file would get too.
      return { reason: `${stored.place}: ${answer.message}`, closes: 'store' };
  }
}

const WHO: Readonly<Record<FetchWay, string>> = {
  plain: 'a host without credentials',
  'service-account': "the VM's service account",
  'signed-url': 'a URL that the worker signed',
};
