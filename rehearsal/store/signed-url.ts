import { createHash, verify } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { storeErrors } from './store-error.js';

/** The signed parts of a request. */
export interface SignedRequest {
  readonly verb: string;
  /** Path as sent, percent-encoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

export interface Signer {
  readonly email: string;
  /** PEM. */
  readonly publicKey: string;
}

/** Longest validity in Cloud Storage: seven days. */
const MAX_SECONDS = 604_800;
/** Most time by which a signer's clock may be ahead. */
const SKEW_MS = 15 * 60_000;

export function isSigned(query: URLSearchParams): boolean {
  return parameter(query, SIGNATURE) !== undefined || query.has('Signature');
}

const SIGNATURE = 'X-Goog-Signature';

/** Finds a parameter by its name in any case: gcloud writes lower case. */
function parameter(query: URLSearchParams, name: string): string | undefined {
  return [...query].find(([given]) => given.toLowerCase() === name.toLowerCase())?.[1];
}

/**
 * Throws StoreError unless this signer signed the URL with the V4 process and the URL has not expired
 * (cloud.google.com/storage/docs/authentication/signatures and ../canonical-requests, 2026-11).
 * @param now epoch ms of this computer's clock, which the signer uses too; the cloud's may run faster
 */
export function checkSignedUrl(request: SignedRequest, signer: Signer | undefined, now: number): void {
  const { query } = request;
  if (parameter(query, SIGNATURE) === undefined)
    throw storeErrors.wrongSignature('Signatures of V2 are not served: sign with V4.');
  const [email, ...scope] = (parameter(query, 'X-Goog-Credential') ?? '').split('/');
  const algorithm = parameter(query, 'X-Goog-Algorithm') ?? '';
  if (algorithm !== 'GOOG4-RSA-SHA256') throw storeErrors.invalidValue('X-Goog-Algorithm', algorithm);
  checkTimes(query, now);
  if (email !== signer?.email) throw storeErrors.wrongSignature(`No key of '${email}' is known.`);
  const signature = Buffer.from(parameter(query, 'X-Goog-Signature') ?? '', 'hex');
  const isGood = hostsOf(request.headers).some((host) => {
    const hash = createHash('sha256').update(canonicalRequest(request, host)).digest('hex');
    const text = ['GOOG4-RSA-SHA256', parameter(query, 'X-Goog-Date'), scope.join('/'), hash].join('\n');
    return verify('RSA-SHA256', Buffer.from(text), signer?.publicKey ?? '', signature);
  });
  if (isGood) return;
  throw storeErrors.wrongSignature(
    'The request signature we calculated does not match the signature you provided. Check your Google secret key and signing method.',
  );
}

function checkTimes(query: URLSearchParams, now: number): void {
  const date = parameter(query, 'X-Goog-Date') ?? '';
  const [, day, hours] = /^(\d{8})T(\d{6})Z$/.exec(date) ?? [];
  const text = `${day?.replace(/(....)(..)(..)/, '$1-$2-$3')}T${hours?.replace(/(..)(..)(..)/, '$1:$2:$3')}Z`;
  const from = Date.parse(text);
  if (Number.isNaN(from)) throw storeErrors.invalidValue('X-Goog-Date', date);
  const seconds = Number(parameter(query, 'X-Goog-Expires'));
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > MAX_SECONDS) {
    throw storeErrors.invalidValue('X-Goog-Expires', parameter(query, 'X-Goog-Expires') ?? '');
  }
  const until = from + seconds * 1000;
  if (until <= now) throw storeErrors.expiredSignature(new Date(until).toISOString());
  if (from > now + SKEW_MS) throw storeErrors.wrongSignature('The signature is not good yet.');
}

/** The host with and without its port: Google has none, and the Node client signs only the name. */
function hostsOf(headers: IncomingHttpHeaders): readonly string[] {
  const host = headers.host ?? '';
  return [host, host.replace(/:\d+$/, '')];
}

function canonicalRequest({ verb, path, query, headers }: SignedRequest, host: string): string {
  const names = (parameter(query, 'X-Goog-SignedHeaders') ?? '').split(';');
  const lines = names.map((name) => `${name}:${name === 'host' ? host : headerText(headers[name])}\n`);
  const parameters = [...query]
    .filter(([name]) => name.toLowerCase() !== SIGNATURE.toLowerCase())
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .toSorted((a, b) => (a < b ? -1 : 1));
  const payload = headerText(headers['x-goog-content-sha256']) || 'UNSIGNED-PAYLOAD';
  const canonicalPath = path
    .split('/')
    .map((part) => encoded(decodeURIComponent(part)))
    .join('/');
  return [verb, canonicalPath, parameters.join('&'), lines.join(''), names.join(';'), payload].join('\n');
}

function headerText(value: string | readonly string[] | undefined): string {
  return String(value ?? '')
    .trim()
    .replaceAll(/\s+/g, ' ');
}

/** Encodes as RFC 3986 does: all but letters, digits and `-._~`. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
