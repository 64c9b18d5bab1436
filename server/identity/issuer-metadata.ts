import type { ServerMetadata } from 'openid-client';
import { isLoopback } from '../../client/http/server-options.js';

const DISCOVERY_MS = 10_000;
/** Largest answer of an issuer that is read, in bytes. Google's discovery document has 1,600, Keycloak's 7,000. */
const MOST_BYTES = 262_144;

/** Endpoints that the server asks, or sends browsers to. */
const ENDPOINTS = ['jwks_uri', 'authorization_endpoint', 'token_endpoint'] as const;

/**
 * Reads an issuer's discovery document (OpenID Connect Discovery 1.0). Redirects are refused, the answer is limited in time and
 * size, and each endpoint has to be https; only an issuer on this computer may have http endpoints, on this computer.
 * @throws Error with the reason
 */
export async function readMetadata(issuer: string): Promise<ServerMetadata> {
  const response = await fetch(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, {
    signal: AbortSignal.timeout(DISCOVERY_MS),
    redirect: 'error',
  });
  if (!response.ok) throw new Error(`its discovery document was answered with ${response.status}`);
  const document = await jsonOf(response);
  // Another issuer in the document means that another server answers (OpenID Connect Discovery 1.0, 4.3).
  if (document['issuer'] !== issuer)
    throw new Error(`its discovery document says it is '${String(document['issuer']).slice(0, 200)}'`);
  const isLocal = isOnThisComputer(issuer);
  for (const name of ENDPOINTS) {
    const value = document[name];
    if (value === undefined || isSafe(value, isLocal)) continue;
    throw new Error(`${name} of its discovery document is '${String(value).slice(0, 200)}', which is no https address`);
  }
  return document as unknown as ServerMetadata;
}

async function jsonOf(response: Response): Promise<Readonly<Record<string, unknown>>> {
  const document: unknown = JSON.parse(await limitedText(response));
  if (typeof document === 'object' && document !== null) return document as Readonly<Record<string, unknown>>;
  throw new Error('its discovery document is no JSON object');
}

function isSafe(url: unknown, isLocal: boolean): boolean {
  if (typeof url !== 'string' || !URL.canParse(url)) return false;
  return new URL(url).protocol === 'https:' || (isLocal && isOnThisComputer(url));
}

/** Whether the address is http on a loopback address. */
export function isOnThisComputer(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && isLoopback(hostname);
}

/** The text of an answer of `MOST_BYTES` at most. @throws Error if it is longer */
async function limitedText({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array> | readonly Uint8Array[]) {
    bytes += part.byteLength;
    if (bytes > MOST_BYTES) throw new Error(`its answer is longer than ${MOST_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** `fetch` for the library's calls: an answer that is too long fails, and no redirect is followed. */
export async function limitedFetch(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...options, redirect: 'manual' });
  const { status, headers } = response;
  return new Response(await limitedText(response), { status, headers });
}
