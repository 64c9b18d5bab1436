import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileErrorWords } from '../../../domain/errors.js';
import { modeForOthers } from '../../../domain/secrets.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { acquireLock } from '../stack/process-identity.js';
import { type Environment, xdgFolder } from '../../terminal/home.js';
import { writePrivate } from '../../terminal/file-on-disk.js';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { NotLoggedIn } from '../../../client/errors.js';

/** A user's logins at servers: the file that keeps them, and tokens that another program or a file keeps. */

/** The source of a user's tokens for one server. */
export type StoredLogin = OidcLogin | TokenWay;

/** Tokens of an issuer, from a login of a person. */
export interface OidcLogin {
  readonly kind: 'oidc';
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly idToken: string;
  readonly expiresAt: number;
  /** Absent: the user must log in again when the ID token expires. */
  readonly refreshToken?: string;
}

/** A login whose token another keeper has: gcloud, a file or a variable. Only the keeper is stored. */
export interface TokenWay {
  readonly kind: 'from';
  readonly from: string;
  /** Audience of its tokens: a token for another audience is not sent. */
  readonly audience?: string;
}

interface StoredLogins {
  readonly v: 1;
  readonly servers: Readonly<Record<string, StoredLogin>>;
}

/**
 * `jobctl-login/logins.json` in the XDG state folder. The folder is not the stack's, which `dev down --purge` may remove
 * (docs/adr/0081).
 */
const loginsFile = (env: Environment = process.env): string =>
  join(xdgFolder(env, 'XDG_STATE_HOME', '.local/state'), 'jobctl-login', 'logins.json');

const keyOf = (url: string): string => new URL(url).href.replace(/\/$/, '');

/** @throws CliError if others can read the file, or it is damaged */
export function storedLogin(url: string, file = loginsFile()): StoredLogin | undefined {
  return readLogins(file).servers[keyOf(url)];
}

/** Audiences of the logins at all other servers. */
export function audiencesElsewhere(
  url: string,
  file = loginsFile(),
): readonly { readonly audience: string; readonly url: string }[] {
  const { [keyOf(url)]: _here, ...others } = readLogins(file).servers;
  return Object.entries(others).flatMap(([other, login]) => {
    const audience = login.kind === 'oidc' ? login.clientId : login.audience;
    return audience === undefined ? [] : [{ audience, url: other }];
  });
}

/**
 * Changes the stored login for one server, one process at a time: a refresh token may be valid only once.
 * @param change returns the new login; undefined removes it
 */
export async function changeLogin(
  url: string,
  change: (before: StoredLogin | undefined) => Promise<StoredLogin | undefined>,
  file = loginsFile(),
): Promise<StoredLogin | undefined> {
  const lock = await acquireLock(`${file}.lock`, { timeoutMs: LOCK_PATIENCE_MS });
  try {
    const { [keyOf(url)]: before, ...others } = readLogins(file).servers;
    const after = await change(before);
    if (after !== before)
      writeLogins(file, { v: 1, servers: after === undefined ? others : { ...others, [keyOf(url)]: after } });
    return after;
  } finally {
    lock.release();
  }
}

/** Longest wait for the lock: longer than a call to an issuer takes. */
const LOCK_PATIENCE_MS = 45_000;

function readLogins(file: string): StoredLogins {
  try {
    const mode = modeForOthers(statSync(file).mode);
    if (mode !== undefined)
      throw new CliError(
        ExitCode.Usage,
        `${file}: others can reach it (mode ${mode}), and it holds your logins`,
        `chmod 600 ${file}; if somebody may have read it: jobctl logout, then jobctl login`,
      );
    const stored = JSON.parse(readFileSync(file, 'utf8')) as Partial<StoredLogins>;
    if (stored.v === 1 && typeof stored.servers === 'object') return stored as StoredLogins;
    throw new SyntaxError('of another version');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { v: 1, servers: {} };
    if (error instanceof CliError) throw error;
    // The error's text may contain a token, so it is not repeated.
    const why = error instanceof SyntaxError ? 'it is damaged, or of another version of jobctl' : fileErrorWords(error);
    throw new CliError(ExitCode.Usage, `${file}: cannot be read: ${why}`, `remove it, and log in again`);
  }
}

function writeLogins(file: string, logins: StoredLogins): void {
  writePrivate(file, `${JSON.stringify(logins, null, 2)}\n`);
}

/** Claims of an ID token. They are not verified here: the server does that. */
interface TokenClaims {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly subject: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Returns the claims, or undefined if the text is no JSON Web Token. */
export function claimsOf(token: string): TokenClaims | undefined {
  const [, payload, signature, ...more] = token.split('.');
  if (payload === undefined || signature === undefined || more.length > 0) return undefined;
  try {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Record<string, unknown>;
    const { iss, aud, sub, exp, email } = claims;
    if (typeof iss !== 'string' || typeof exp !== 'number') return undefined;
    const audiences = (Array.isArray(aud) ? aud : [aud]).map(String);
    return { issuer: iss, audiences, subject: String(email ?? sub), expiresAt: exp * 1_000 };
  } catch {
    return undefined;
  }
}

/** Least remaining lifetime of a token that is sent: another could expire on its way. */
const LEAST_LIFE_MS = 60_000;

export const isFresh = (expiresAt: number, now = Date.now()): boolean => expiresAt - now > LEAST_LIFE_MS;

const GCLOUD_TIMEOUT_MS = 60_000;

/** Checks a token source. @throws CliError (Usage) if the text names none */
export function tokenWay(text: string): string {
  if (text === 'gcloud' || /^file:\/./.test(text) || /^env:[A-Za-z_]\w*$/.test(text)) return text;
  throw new CliError(
    ExitCode.Usage,
    // The text may be the token itself.
    '--id-token-from: names no way to a token',
    'gcloud, file:/PATH (absolute) or env:NAME; never the token itself',
  );
}

/** Gets the token from its keeper. @throws NotLoggedIn if the keeper has no token, or an expired one */
export async function tokenBy({ from, audience }: TokenWay): Promise<{ token: string; expiresAt: number }> {
  const token = (await textBy(from, audience)).trim();
  const claims = claimsOf(token);
  if (claims === undefined) throw new NotLoggedIn(`${from}: holds no ID token (a JSON Web Token is wanted)`, REMEDY);
  const { expiresAt, issuer, audiences } = claims;
  if (audience !== undefined && !audiences.includes(audience))
    throw new NotLoggedIn(
      `the token of ${from} is for '${audiences.join(', ')}', wanted ${audience}: it is not sent`,
      `a token for ${audience}; or, if the server takes this one too, name whom it is for: jobctl login --audience`,
    );
  if (isFresh(expiresAt)) return { token, expiresAt };
  throw new NotLoggedIn(`${from}: its token of ${issuer} ended at ${new Date(expiresAt).toISOString()}`, REMEDY);
}

const REMEDY = 'renew it there, or log in another way: `jobctl login --help`';

async function textBy(from: string, audience: string | undefined): Promise<string> {
  if (from === 'gcloud') return gcloudToken(audience);
  if (from.startsWith('env:')) {
    const text = process.env[from.slice('env:'.length)];
    if (text) return text;
    throw new NotLoggedIn(`${from}: the environment variable is not set`, REMEDY);
  }
  const path = from.slice('file:'.length);
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new NotLoggedIn(`${from}: cannot be read: ${fileErrorWords(error)}`, REMEDY);
  }
}

/** The audience of users' tokens from gcloud, for any caller: every program that receives one can pass it on (docs/login.md). */
const GCLOUD_AUDIENCE = '32555940559.apps.googleusercontent.com';

/** gcloud makes a user's token only for its own audience, so that token is for users who chose gcloud's audience. */
async function gcloudToken(audience: string | undefined): Promise<string> {
  const own = audience === undefined || audience === GCLOUD_AUDIENCE;
  const words = ['auth', 'print-identity-token', ...(own ? [] : [`--audiences=${audience}`])];
  try {
    return (await promisify(execFile)('gcloud', words, { timeout: GCLOUD_TIMEOUT_MS })).stdout;
  } catch (error) {
    const { code, stderr = '' } = error as { code?: unknown; stderr?: string };
    if (code === 'ENOENT') throw new NotLoggedIn('gcloud: is not installed, or not on PATH', REMEDY);
    if (/account type/i.test(stderr))
      throw new NotLoggedIn(
        `gcloud: a person's account has no tokens for ${audience}, only for gcloud itself`,
        `log in without --id-token-from; or, if the server takes gcloud's: --audience ${GCLOUD_AUDIENCE}`,
      );
    const why = stderr.trim().split('\n').filter(Boolean).at(-1) ?? 'it ended without a token';
    throw new NotLoggedIn(`gcloud auth print-identity-token: ${why}`, 'log gcloud in: gcloud auth login');
  }
}
