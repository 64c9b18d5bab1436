import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { fileErrorWords } from '../../../domain/errors.js';
import { NotLoggedIn } from '../../../client/errors.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { claimsOf, isFresh, type TokenWay } from './stored-logins.js';

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
