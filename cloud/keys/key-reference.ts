import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { answerText } from '../answer-text.js';
import { accessTokens } from '../access-token.js';
import { KeyFailure, type KeyUse, type NamedKey, parseKeyLine } from './key-line.js';

/** The places in which references are looked up. */
export interface KeyPlaces {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Replaces the address of Google's Secret Manager. */
  readonly secretManagerEndpoint?: string;
}

const FORMS = 'wanted file:///PATH, env:NAME or projects/P/secrets/S/versions/V (Secret Manager)';

/** Loads the key that a reference names. Configuration contains references only, never keys. @throws use.Failure */
export async function loadKey(reference: string, places: KeyPlaces, use: KeyUse): Promise<NamedKey> {
  return parseKeyLine(await readReference(reference, places, use), reference, use);
}

/** Reads the text that a reference names. @throws use.Failure */
export async function readReference(
  reference: string,
  { environment, secretManagerEndpoint }: KeyPlaces,
  use: KeyUse,
): Promise<string> {
  if (reference.startsWith('file:')) return keyFile(reference, use);
  if (reference.startsWith('env:')) return keyVariable(reference, environment, use);
  if (SECRET_VERSION.test(reference)) return readSecret(reference, use, secretManagerEndpoint);
  // A user may have given the key itself by mistake, so only text that looks like a path is repeated.
  const shown = /^(projects\/|\/|\.)/.test(reference) ? `'${reference}' is` : 'what is given is';
  throw new use.Failure(`${use.noun}: ${shown} no reference to a key: ${FORMS}`);
}

function keyVariable(
  reference: string,
  environment: KeyPlaces['environment'],
  { Failure, holds = 'the key, ID:BASE64' }: KeyUse,
): string {
  const text = environment[reference.slice('env:'.length)];
  if (text) return text;
  throw new Failure(`${reference}: this environment variable is not set; its value is ${holds}`);
}

function keyFile(reference: string, use: KeyUse): string {
  const path = pathOfReference(reference, use);
  try {
    refuseOpenFile(reference, path, statSync(path).mode, use);
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof KeyFailure) throw error;
    throw new use.Failure(`${reference}: the ${use.noun} cannot be read: ${(error as Error).message}`);
  }
}

/** The file that a `file:` reference names. @throws use.Failure */
export function pathOfReference(reference: string, { Failure }: KeyUse): string {
  try {
    return fileURLToPath(reference);
  } catch {
    throw new Failure(`${reference}: is no address of a file on this machine: file:// and the absolute path`);
  }
}

const OTHERS_READ = 0o004;
const GROUP_OR_OTHERS_WRITE = 0o022;

/** The file's group may read it, because that is how secrets are mounted into containers. @throws use.Failure */
function refuseOpenFile(reference: string, path: string, mode: number, { Failure }: KeyUse): void {
  const can = mode & OTHERS_READ ? 'read' : mode & GROUP_OR_OTHERS_WRITE ? 'write' : undefined;
  if (can === undefined) return;
  const shown = (mode & 0o777).toString(8);
  throw new Failure(`${reference}: others can ${can} this key (mode ${shown})\n  chmod 600 ${path}`);
}

const SECRET_VERSION = /^projects\/[^/]+\/secrets\/[^/]+\/versions\/[^/]+$/;

const GOOGLE = 'https://secretmanager.googleapis.com';
const TIMEOUT_MS = 30_000;

/** Keyed by address. Versions of a secret never change, so each is requested once per process; `latest` may, and is not kept. */
const known = new Map<string, string>();

/**
 * Reads one version of a secret by Secret Manager's REST method `versions.access`, with the application default credentials.
 * @throws use.Failure
 */
async function readSecret(version: string, use: KeyUse, endpoint: string = GOOGLE): Promise<string> {
  const address = `${endpoint}/v1/${version}:access`;
  const before = known.get(address);
  if (before !== undefined) return before;
  const text = await access(version, address, accessTokens(endpoint), use);
  if (!version.endsWith('/latest')) known.set(address, text);
  return text;
}

async function access(
  version: string,
  address: string,
  accessToken: () => Promise<string | undefined>,
  { noun, Failure }: KeyUse,
): Promise<string> {
  const fail = (why: string): KeyFailure => new Failure(`${version}: the ${noun} cannot be read: ${why}`);
  try {
    const token = await accessToken();
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const response = await fetch(address, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    const body = JSON.parse(await answerText(response.body)) as {
      payload?: { data?: string };
      error?: { message?: string };
    };
    if (!response.ok) throw fail(`${body.error?.message ?? ''} (HTTP ${response.status})${remedy(response.status)}`);
    return Buffer.from(body.payload?.data ?? '', 'base64').toString('utf8');
  } catch (error) {
    if (error instanceof KeyFailure) throw error;
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
