import type { Waiter } from '../wait-notes.js';
import { ServerRefused } from '../errors.js';

/** Settings for reaching a `jobctl serve`. */
export interface ServerOptions extends Waiter {
  /** Its address, such as `https://jobctl.example.com`. `http:` is for this computer only, because every call carries a token. */
  readonly server: string;
  /**
   * The caller's OpenID Connect ID token, requested before each call; the function should cache it until shortly before it
   * expires.
   * @param refused the token that the server has just refused: return another one
   */
  readonly token: (refused?: string) => Promise<string>;
  /** Certificates of authorities (PEM) in addition to those that Node.js trusts. */
  readonly ca?: string | Buffer;
  /** Longest total wait of a call that the server refuses as too many (429). Absent: no wait, but `TooManyRequests`. */
  readonly busyPatienceMs?: number;
  /** Called before such a wait. */
  readonly onBusy?: (why: string, waitMs: number) => void;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i;

/** @throws ServerRefused for an address to which no token may be sent; nothing was sent then */
export function serverAddress(text: string): URL {
  const problem = addressProblem(text);
  if (problem !== undefined) throw new ServerRefused(`server ${JSON.stringify(text)}: ${problem}`, ADDRESS_REMEDY);
  const url = new URL(text);
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

const ADDRESS_REMEDY = 'such as https://jobctl.example.com';

/**
 * Returns the rest of a sentence "server URL: ..". Undefined: the address is valid.
 * @param namedBy the server that gave the address: one on another computer must not direct requests to ports of this computer
 */
export function addressProblem(text: string, namedBy?: URL): string | undefined {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return 'is not a URL';
  const { protocol, hostname, username, search, hash } = new URL(text);
  if (username !== '') return 'has a login in it';
  if (search !== '' || hash !== '') return 'has more than a host and a path';
  if (protocol === 'http:' && !isLoopback(hostname))
    return 'is http, and a login would pass the network in clear text: https is wanted, or a loopback address';
  if (namedBy !== undefined && isLoopback(hostname) && !isLoopback(namedBy.hostname))
    return `is on this computer, and ${namedBy.host} is not`;
  return undefined;
}

export const isLoopback = (hostname: string): boolean => LOOPBACK.test(hostname);
