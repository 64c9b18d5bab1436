import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fileErrorWords } from '../../domain/errors.js';
import { StoreRefused } from './port.js';

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** The address of a store and the credentials for it. */
export interface S3Settings {
  /** Absent: Amazon's own endpoint of the region. */
  readonly endpoint?: string;
  readonly region: string;
  /** Returns the present credentials, some of which last for an hour. @throws StoreRefused if there are none */
  credentials(): Promise<S3Credentials>;
}

type Environment = Readonly<Record<string, string | undefined>>;
type Section = Readonly<Record<string, string>>;

const DEFAULT_REGION = 'us-east-1';
/** Limit of `credential_process`. */
const PROCESS_MS = 30_000;
const MOST_PROCESS_BYTES = 64 * 1024;
/** Time before their expiry at which credentials are renewed. */
const EARLY_MS = 5 * 60_000;
/** Interval at which files with credentials without an expiry are read again, since they may change. */
const READ_AGAIN_MS = 60_000;

const REMEDY =
  'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE with a profile of ~/.aws/credentials that has keys or a credential_process';

/**
 * Finds settings as Amazon's own tools do: the variables AWS_*, then the profile of ~/.aws/credentials and ~/.aws/config with its
 * keys or its `credential_process` (docs.aws.amazon.com/sdkref, "Standardized credential providers", 2026-11). Other kinds, such
 * as the identity of a computer or a pod, come through `credential_process`.
 * @param endpoint overrides AWS_ENDPOINT_URL_S3
 * @throws StoreRefused if a named profile does not exist
 */
export async function s3Settings(endpoint: string | undefined, env: Environment = process.env): Promise<S3Settings> {
  const profile = await profileOf(env);
  const at =
    given(endpoint) ??
    given(env['AWS_ENDPOINT_URL_S3']) ??
    given(env['AWS_ENDPOINT_URL']) ??
    given(profile['endpoint_url']);
  if (at !== undefined && !/^https?:\/\/[^/]/.test(at))
    throw new StoreRefused(`store: endpoint ${JSON.stringify(at)} is not a URL: such as http://127.0.0.1:9000`);
  const region = given(env['AWS_REGION']) ?? given(env['AWS_DEFAULT_REGION']) ?? given(profile['region']);
  return { ...(at !== undefined && { endpoint: at }), region: region ?? DEFAULT_REGION, credentials: lasting(env) };
}

function lasting(env: Environment): () => Promise<S3Credentials> {
  let known: { readonly until: number; readonly found: Promise<Found> } | undefined;
  return async () => {
    if (known === undefined || known.until <= Date.now()) {
      const found = find(env);
      known = { until: Date.now() + READ_AGAIN_MS, found };
      const mine = known;
      found.then(
        ({ expiresAt }) =>
          known === mine && expiresAt !== undefined && (known = { until: expiresAt - EARLY_MS, found }),
        () => known === mine && (known = undefined),
      );
    }
    return (await known.found).credentials;
  };
}

interface Found {
  readonly credentials: S3Credentials;
  readonly expiresAt?: number;
}

async function find(env: Environment): Promise<Found> {
  const ofVariables = given(env['AWS_PROFILE']) === undefined || given(env['AWS_ACCESS_KEY_ID']) !== undefined;
  const own = ofVariables
    ? keysOf(env['AWS_ACCESS_KEY_ID'], env['AWS_SECRET_ACCESS_KEY'], env['AWS_SESSION_TOKEN'])
    : undefined;
  if (own !== undefined) return { credentials: own };
  const profile = await profileOf(env);
  const kept = keysOf(profile['aws_access_key_id'], profile['aws_secret_access_key'], profile['aws_session_token']);
  if (kept !== undefined) return { credentials: kept };
  const command = given(profile['credential_process']);
  if (command !== undefined) return fromProcess(command);
  throw new StoreRefused(`store: there are no credentials of S3: ${REMEDY}`);
}

function keysOf(id: string | undefined, secret: string | undefined, token: string | undefined) {
  const [accessKeyId, secretAccessKey, sessionToken] = [given(id), given(secret), given(token)];
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
}

/** Runs the user's own program, as Amazon's tools do. It prints JSON on stdout, which contains keys and is never shown. */
async function fromProcess(command: string): Promise<Found> {
  const options = { timeout: PROCESS_MS, maxBuffer: MOST_PROCESS_BYTES };
  const wrong = (why: string): StoreRefused =>
    new StoreRefused(
      `store: credential_process of the profile: ${why}: ${JSON.stringify(command.trim().split(/\s/)[0])} ..`,
    );
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command], options).catch((error: unknown) => {
    throw wrong(`it failed (${String((error as { code?: unknown }).code ?? 'killed')})`);
  });
  let said: Readonly<Record<string, unknown>>;
  try {
    said = JSON.parse(stdout) as Readonly<Record<string, unknown>>;
  } catch {
    throw wrong('it does not print JSON');
  }
  const text = (key: string): string | undefined => (typeof said[key] === 'string' ? said[key] : undefined);
  const credentials = keysOf(text('AccessKeyId'), text('SecretAccessKey'), text('SessionToken'));
  if (credentials === undefined) throw wrong('it prints no AccessKeyId and SecretAccessKey');
  const expiresAt = Date.parse(text('Expiration') ?? '');
  return { credentials, ...(Number.isNaN(expiresAt) ? {} : { expiresAt }) };
}

async function profileOf(env: Environment): Promise<Section> {
  const folder = join(given(env['HOME']) ?? homedir(), '.aws');
  const wanted = given(env['AWS_PROFILE']);
  const name = wanted ?? 'default';
  const config = await sectionsOf(given(env['AWS_CONFIG_FILE']) ?? join(folder, 'config'));
  const keys = await sectionsOf(given(env['AWS_SHARED_CREDENTIALS_FILE']) ?? join(folder, 'credentials'));
  const found = [config.get(name === 'default' ? name : `profile ${name}`), keys.get(name)];
  if (wanted !== undefined && found.every((section) => section === undefined))
    throw new StoreRefused(
      `store: AWS_PROFILE: ${JSON.stringify(wanted)} is neither in ~/.aws/credentials nor in ~/.aws/config: name one that is`,
    );
  return { ...found[0], ...found[1] };
}

/** Sections of a file in the format of Amazon's tools. A missing file has none. */
async function sectionsOf(path: string): Promise<ReadonlyMap<string, Section>> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if ((error as { code?: unknown }).code === 'ENOENT') return '';
    throw new StoreRefused(`store: ${path} cannot be read: ${fileErrorWords(error)}`, { cause: error });
  });
  const sections = new Map<string, Record<string, string>>();
  let current: Record<string, string> | undefined;
  for (const line of text.split(/\r?\n/)) {
    const [, title] = /^\[([^\]]+)\]/.exec(line) ?? [];
    if (title !== undefined) sections.set(title.trim().replace(/\s+/, ' '), (current = {}));
    const equals = line.indexOf('=');
    // Nested settings are indented.
    if (equals > 0 && /^[\w-]/.test(line) && current !== undefined)
      current[line.slice(0, equals).trim().toLowerCase()] = line.slice(equals + 1).trim();
  }
  return sections;
}

const given = (value: string | undefined): string | undefined => (value === '' ? undefined : value);
