import { readFileSync } from 'node:fs';
import { fileErrorWords } from '../../../domain/errors.js';
import { NotLoggedIn } from '../../../client/errors.js';
import type { ServerOptions } from '../../../client/http/server-options.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { ServerPlace } from '../context.js';
import { onInterrupt } from '../../terminal/interruptions.js';
import { printErr, tellLine } from '../../terminal/print.js';
import { formatDuration } from '../../terminal/render/quantities.js';
import { isFresh, changeLogin, type OidcLogin, storedLogin, tokenBy } from './stored-logins.js';
import { loginCommand } from './server-failures.js';

/** Longest wait of a command line if the server says that there were too many calls. */
const BUSY_PATIENCE_MS = 60_000;

const opened = new Map<string, ServerOptions>();

/** Options for a server with the user's login there. Each server has one object per process, which keeps its token. */
export function serverOptionsOf(place: ServerPlace): ServerOptions {
  const known = opened.get(place.url);
  if (known !== undefined) return known;
  const options: ServerOptions = {
    server: place.url,
    token: tokensOf(place),
    busyPatienceMs: BUSY_PATIENCE_MS,
    onBusy: (why, waitMs) => printErr(`${why}; trying again in ${formatDuration(waitMs)}\n`),
    onWait: tellLine,
    onInterrupt,
    ...authorityOf(place),
  };
  opened.set(place.url, options);
  return options;
}

/** @throws CliError if the file cannot be read */
export function authorityOf({ caFile, name }: ServerPlace): Pick<ServerOptions, 'ca'> {
  if (caFile === undefined) return {};
  try {
    return { ca: readFileSync(caFile) };
  } catch (error) {
    throw new CliError(
      ExitCode.Usage,
      `context ${name ?? ''}: tls_ca_file: ${caFile} cannot be read: ${fileErrorWords(error)}`,
    );
  }
}

/** Drops all cached tokens, for a process that runs several command lines, each with the logins of its own environment. */
export const forgetTokens = (): void => opened.clear();

/** The token of the user's login there, renewed before it expires. @throws NotLoggedIn */
function tokensOf(place: ServerPlace): ServerOptions['token'] {
  let held: { readonly token: string; readonly expiresAt: number } | undefined;
  let asking: Promise<{ readonly token: string; readonly expiresAt: number }> | undefined;
  return async (refused) => {
    if (held !== undefined && isFresh(held.expiresAt) && held.token !== refused) return held.token;
    asking ??= tokenOf(place, refused).finally(() => (asking = undefined));
    held = await asking;
    return held.token;
  };
}

async function tokenOf(
  place: ServerPlace,
  refused: string | undefined,
): Promise<{ readonly token: string; readonly expiresAt: number }> {
  const login = storedLogin(place.url);
  if (login === undefined)
    throw new NotLoggedIn(`you are not logged in at ${place.url}`, `log in: ${loginCommand(place)}`);
  if (login.kind === 'from') return tokenBy(login);
  const { idToken: token, expiresAt } = isGood(login, refused) ? login : await renewed(place, login, refused);
  return { token, expiresAt };
}

const isGood = ({ idToken, expiresAt }: OidcLogin, refused: string | undefined): boolean =>
  isFresh(expiresAt) && idToken !== refused;

/** Renews a login; another jobctl may have done so while this one waited for the lock. */
async function renewed(place: ServerPlace, login: OidcLogin, refused: string | undefined): Promise<OidcLogin> {
  // Without a refresh token, nothing can be done about a token that is refused before it expires.
  if (login.refreshToken === undefined && isFresh(login.expiresAt)) return login;
  const { refreshed } = await import('./browser-login.js');
  const after = await changeLogin(place.url, async (now) =>
    now?.kind === 'oidc' && !isGood(now, refused) ? refreshed(now) : now,
  );
  if (after?.kind === 'oidc') return after;
  throw new NotLoggedIn(`you are not logged in at ${place.url}`, `log in: ${loginCommand(place)}`);
}
