import { accessTokens } from '../access-token.js';
import { CodecKeyError } from './codec-key.js';

export const SECRET_VERSION = /^projects\/[^/]+\/secrets\/[^/]+\/versions\/[^/]+$/;

const GOOGLE = 'https://secretmanager.googleapis.com';
const TIMEOUT_MS = 30_000;

/** A version of a secret never changes, so a process asks for each once; `latest` is a name for changing ones. */
const known = new Map<string, string>();

/**
 * The text of one version of a secret, by Secret Manager's REST method `versions.access` and the application default
 * credentials. @throws CodecKeyError
 */
export async function readSecret(version: string, endpoint: string = GOOGLE): Promise<string> {
  const address = `${endpoint}/v1/${version}:access`;
  const before = known.get(address);
  if (before !== undefined) return before;
  const text = await access(version, address, accessTokens(endpoint));
  if (!version.endsWith('/latest')) known.set(address, text);
  return text;
}

async function access(
  version: string,
  address: string,
  accessToken: () => Promise<string | undefined>,
): Promise<string> {
  const fail = (why: string): CodecKeyError => new CodecKeyError(`${version}: the codec key cannot be read: ${why}`);
  try {
    const token = await accessToken();
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const response = await fetch(address, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    const body = (await response.json()) as { payload?: { data?: string }; error?: { message?: string } };
    if (!response.ok) throw fail(`${body.error?.message ?? ''} (HTTP ${response.status})${remedy(response.status)}`);
    return Buffer.from(body.payload?.data ?? '', 'base64').toString('utf8');
  } catch (error) {
    if (error instanceof CodecKeyError) throw error;
    const { message, cause } = error as Error;
    throw fail(cause instanceof Error ? `${message}: ${cause.message}` : message);
  }
}

function remedy(status: number): string {
  if (status === 401 || status === 403)
    return '\n  the account needs roles/secretmanager.secretAccessor on this secret, and the API has to be enabled';
  if (status === 404) return '\n  is project, secret and version right? gcloud secrets versions list SECRET';
  return '';
}
