import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { answerText } from '../exchange.js';
import { accessTokens } from '../access-token.js';

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

/** A key of 256 bits that configuration names by a reference. Its id is public, so the id must reveal nothing about the key. */
export interface NamedKey {
  readonly id: string;
  /** A KeyObject, so that no log and no JSON can hold the bytes. */
  readonly secret: KeyObject;
}

/** A mistake in a reference to a key, or in the key's text: place, value and remedy. The message never contains a key. */
export class KeyFailure extends Error {}

/** The purpose of a key, in the words of messages. */
export interface KeyUse {
  /** `codec key` */
  readonly noun: string;
  /** The value of a variable that holds it. Absent: a key line. */
  readonly holds?: string;
  /** Tells the user how to make such a key. */
  readonly makeOne: string;
  readonly Failure: new (message: string) => KeyFailure;
}

const KEY_BYTES = 32;
const KEY_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const KEY_ID_RULE = 'a key id: letters, digits, ., _ and -, 63 at most';

/**
 * Parses one line `ID:BASE64`, the form that `newKeyLine` returns.
 * @param place the source of the text. Messages name it, and never the text, which is a secret.
 * @throws use.Failure
 */
export function parseKeyLine(text: string, place: string, { noun, makeOne, Failure }: KeyUse): NamedKey {
  const [id = '', base64 = '', ...rest] = text.trim().split(':');
  if (base64 === '' || rest.length > 0 || !KEY_ID.test(id)) {
    throw new Failure(`${place}: holds no ${noun}: wanted one line, ID:BASE64\n  ${makeOne}`);
  }
  const bytes = Buffer.from(base64, 'base64');
  // Node.js skips characters that are not base64. So the bytes, encoded again, must equal the text except for padding.
  const isBase64 = bytes.toString('base64').replace(/(?<!=)=+$/, '') === base64.replace(/(?<!=)=+$/, '');
  if (!isBase64 || bytes.length !== KEY_BYTES) {
    const what = isBase64 ? `${bytes.length} bytes` : 'no base64';
    throw new Failure(`${place}: key '${id}' is ${what}: wanted ${KEY_BYTES} bytes in base64\n  ${makeOne}`);
  }
  return { id, secret: createSecretKey(bytes) };
}

/** A new random key in the form that `parseKeyLine` reads. The default id is the date and six random hexadecimal digits. */
export function newKeyLine(
  now: Date,
  id: string = `${now.toISOString().slice(0, 10)}-${random(3)}`,
  { Failure }: Pick<KeyUse, 'Failure'> = { Failure: KeyFailure },
): string {
  if (!KEY_ID.test(id)) throw new Failure(`'${id}' is not ${KEY_ID_RULE}`);
  return `${id}:${randomBytes(KEY_BYTES).toString('base64')}`;
}

const random = (bytes: number): string => randomBytes(bytes).toString('hex');

/** Splits the comma-separated references of a flag or environment variable. */
export function splitReferences(text: string): string[] {
  return text.split(',').flatMap((each) => each.trim() || []);
}

/** @throws use.Failure if two different keys have one id: a key is known by its id alone */
export function refuseTwins(keys: readonly NamedKey[], references: readonly string[], { Failure }: KeyUse): void {
  keys.forEach(({ id, secret }, index) => {
    const twin = keys.findIndex((other) => other.id === id && !other.secret.equals(secret));
    if (twin > index)
      throw new Failure(
        `${references[index]} and ${references[twin]}: two different keys of the id '${id}'; a key is known by its id alone`,
      );
  });
}
