import { NotLoggedIn } from '../../../client/errors.js';
import { loginSettings, type LoginIssuer } from '../../../client/http/access.js';
import type { VerifiedCaller } from '../../../client/job-port.js';
import { userOf } from '../../place/asker.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { withClient } from '../../place/connect.js';
import {
  type CliContext,
  type ContextFlags,
  refuseStranger,
  resolveContext,
  type ServerPlace,
} from '../../place/context.js';
import {
  browserOf,
  deviceLogin,
  hasDeviceLogin,
  LOGIN_PATIENCE_MS,
  loopbackLogin,
  openBrowser,
  loginOf,
  openIssuer,
} from '../../place/login/browser-login.js';
import { authorityOf, serverOptionsOf } from '../../place/login/server-access.js';
import { explainedBy } from '../../place/login/server-failures.js';
import {
  changeLogin,
  type OidcLogin,
  type StoredLogin,
  storedLogin,
  type TokenWay,
  audiencesElsewhere,
  tokenBy,
  tokenWay,
} from '../../place/login/stored-logins.js';
import type { OutputFlag } from '../../terminal/options.js';
import { printErr, printOut, asTyped } from '../../terminal/print.js';
import { renderTable } from '../../terminal/render/columns.js';
import { formatDuration } from '../../terminal/render/quantities.js';
import { watchEnd } from '../../terminal/interruptions.js';
import { ask, mustBeAskable } from '../../terminal/ask.js';
import { LOCAL_CONTEXT, readContexts, writeContexts, withSettings } from '../../place/contexts/contexts-file.js';

export interface LoginFlags extends ContextFlags, AudienceFlags {
  readonly device?: true;
  readonly idTokenFrom?: string;
  readonly issuer?: string;
  readonly printToken?: true;
}

/** Logs in and stores only a login that the server accepts. */
export async function login(flags: LoginFlags): Promise<number> {
  const context = resolveContext(flags);
  const place = serverOf(context, 'login');
  if (flags.printToken === true) return printToken(place, flags);
  const way = flags.idTokenFrom === undefined ? undefined : tokenWay(flags.idTokenFrom);
  if (way !== undefined && flags.device === true)
    throw new CliError(ExitCode.Usage, 'jobctl login: --device and --id-token-from are two ways: give one');
  const issuer = await chosenIssuer(place, flags);
  const consent = way === undefined ? 'shown' : way === 'gcloud' ? 'asked' : 'given';
  const audience = await chosenAudience(place, issuer.clientId, flags, consent);
  const found = way === undefined ? await personLogin(issuer, flags) : await wayLogin({ from: way, audience });
  const before = storedLogin(place.url);
  await changeLogin(place.url, () => Promise.resolve(found));
  const who = await withClient(context, (client) => client.whoAmI()).catch(async (error: unknown) => {
    await changeLogin(place.url, () => Promise.resolve(before));
    throw error;
  });
  if (flags.output === 'json') printOut(`${JSON.stringify({ server: place.url, ...who }, null, 2)}\n`);
  else printOut(`logged in at ${place.url} as ${who?.id ?? '-'}\n`);
  return ExitCode.Done;
}

/** Prints a token for other programs, which then need no login. It goes only to stdout, with nothing else. */
async function printToken(place: ServerPlace, flags: LoginFlags): Promise<number> {
  if ([flags.device, flags.idTokenFrom, flags.issuer, flags.audience].some((flag) => flag !== undefined))
    throw new CliError(ExitCode.Usage, 'jobctl login: --print-token logs nobody in: give it alone');
  const token = await serverOptionsOf(place)
    .token()
    .catch((error: unknown) => Promise.reject(explainedBy(place, error)));
  printOut(`${token}\n`);
  return ExitCode.Done;
}

/** @throws CliError if the place is no server */
function serverOf(context: CliContext, verb: string): ServerPlace {
  refuseStranger(context);
  if (context.server !== undefined) return context.server;
  throw new CliError(
    ExitCode.Usage,
    `jobctl ${verb}: ${context.place?.address ?? 'Temporal'} is a Temporal server: it knows no logins of jobctl`,
    'a jobctl serve is named with --server URL, JOBCTL_SERVER, or a context that has one: `jobctl help where`',
  );
}

async function chosenIssuer(place: ServerPlace, { issuer }: LoginFlags): Promise<LoginIssuer> {
  const issuers = await loginSettings({ server: place.url, ...authorityOf(place) });
  const chosen = issuer === undefined ? issuers[0] : issuers.find((each) => each.issuer === issuer);
  if (chosen !== undefined) return chosen;
  const names = issuers.map((each) => each.issuer).join(', ');
  throw new CliError(
    ExitCode.Usage,
    issuer === undefined
      ? `${place.url} names no issuer to log in at`
      : `--issuer: ${place.url} does not accept ${issuer}`,
    names === '' ? 'tell its operator' : `it accepts: ${names}`,
  );
}

/** Creates a login by a token source. The token is fetched now, so that a wrong source is reported. */
async function wayLogin(way: Omit<TokenWay, 'kind'>): Promise<StoredLogin> {
  const login = { kind: 'from', ...way } as const;
  await tokenBy(login);
  return login;
}

async function personLogin(issuer: LoginIssuer, { device }: LoginFlags): Promise<OidcLogin> {
  const opened = await openIssuer(issuer);
  const browser = process.stdin.isTTY ? browserOf(process.env) : process.env['BROWSER'];
  const signal = watchEnd(LOGIN_PATIENCE_MS);
  const { scopes } = issuer;
  if (device === true && !hasDeviceLogin(opened))
    throw new NotLoggedIn(`${issuer.issuer} has no login by a code`, 'log in without --device');
  if (device === true || (browser === undefined && hasDeviceLogin(opened)))
    return loginOf(issuer, await deviceLogin(opened, { scopes, signal, show: showCode }));
  const show = (url: string): void => {
    printErr(`To log in, open this address in a browser of this computer:\n\n  ${url}\n\n`);
    if (browser !== undefined) openBrowser(browser, url);
  };
  return loginOf(issuer, await loopbackLogin(opened, { scopes, signal, show }));
}

const showCode = (url: string, code: string): void =>
  printErr(`To log in, open this address in a browser of any computer:\n\n  ${url}\n\nCode: ${code}\n`);

export type LogoutFlags = ContextFlags & OutputFlag;

export async function logout(flags: LogoutFlags): Promise<number> {
  const place = serverOf(resolveContext(flags), 'logout');
  const before = storedLogin(place.url);
  await changeLogin(place.url, () => Promise.resolve(undefined));
  const isTold = before?.kind === 'oidc' && (await revoke(before));
  const wasThere = before !== undefined;
  if (flags.output === 'json') printOut(`${JSON.stringify({ server: place.url, wasThere, isTold })}\n`);
  else if (!wasThere) printOut(`you were not logged in at ${place.url}\n`);
  else printOut(`logged out of ${place.url}${isTold ? ', and its issuer knows' : ''}\n`);
  return ExitCode.Done;
}

/** Revokes a login, so that nobody who copied it can renew it. False: the issuer does not support that, or not now. */
async function revoke(login: OidcLogin): Promise<boolean> {
  const { refreshToken } = login;
  if (refreshToken === undefined) return false;
  try {
    const { oidc, config } = await openIssuer(login);
    if (config.serverMetadata().revocation_endpoint === undefined) return false;
    await oidc.tokenRevocation(config, refreshToken);
    return true;
  } catch {
    return false;
  }
}

export type WhoamiFlags = ContextFlags & OutputFlag;

export async function whoami(flags: WhoamiFlags): Promise<number> {
  const context = resolveContext(flags);
  refuseStranger(context);
  const { server } = context;
  // Over Temporal no server is asked: the user is what this computer says.
  const who = server === undefined ? undefined : await withClient(context, (client) => client.whoAmI());
  const trusted = { mode: 'trusted', id: userOf(context), isVerified: false };
  if (flags.output === 'json')
    printOut(
      `${JSON.stringify(who === undefined ? trusted : { mode: 'verified', server: server?.url, isVerified: true, ...who }, null, 2)}\n`,
    );
  else if (who === undefined) printOut(`trusted mode: ${trusted.id} (unverified)\n`);
  else printOut(`${lines(who, server?.url ?? '').join('\n')}\n`);
  return ExitCode.Done;
}

function lines({ kind, id, groups, issuer, expiresAt }: VerifiedCaller, url: string): readonly string[] {
  const left = expiresAt - Date.now();
  const until = new Date(expiresAt).toISOString();
  return renderTable([
    [kind, id],
    ['groups', groups.length === 0 ? '-' : groups.join(', ')],
    ['issuer', issuer],
    ['token', `until ${until}${left > 0 ? `, for ${formatDuration(left)}` : ''}`],
    ['server', url],
  ]).map((line) => asTyped(line.trimEnd()));
}

interface AudienceFlags extends OutputFlag {
  readonly audience?: string;
}

/**
 * The user's consent to a new audience. `asked`: the user agrees on the terminal, or names the audience if there is none.
 * `shown`: without a terminal the audience is only shown, because the user logs in at the issuer anyway. `given`: the user names
 * the token, and the audience is the token's.
 */
type Consent = 'asked' | 'shown' | 'given';

/**
 * The audience that tokens for the server are made for. An ID token is accepted everywhere that accepts its audience, and a
 * server names its audience itself. So the user chooses it, and an audience that belongs to another server is refused
 * (docs/adr/0106).
 * @param named audience that the server names
 * @throws CliError if it belongs to another server, or the user does not agree
 */
async function chosenAudience(
  place: ServerPlace,
  named: string,
  flags: AudienceFlags,
  consent: Consent,
): Promise<string> {
  const { url } = place;
  const before = flags.audience ?? place.audience ?? audienceAt(url);
  if (before !== undefined && before !== named && consent === 'shown') throw another(url, named, before);
  if (before === undefined) {
    refuseOfAnother(url, named);
    await agree(url, named, flags, consent);
  }
  const chosen = before ?? named;
  if (consent !== 'given' || flags.audience !== undefined) keepInContext(place, chosen);
  return chosen;
}

function audienceAt(url: string): string | undefined {
  const login = storedLogin(url);
  return login?.kind === 'oidc' ? login.clientId : login?.audience;
}

const another = (url: string, named: string, before: string): CliError =>
  new CliError(
    ExitCode.Usage,
    `${url} names the audience ${named} for its logins, and you chose ${before} for it`,
    `ask its operator; if it was changed: jobctl login --audience ${named}`,
  );

function refuseOfAnother(url: string, named: string): void {
  const other = [...audiencesInContexts(url), ...audiencesElsewhere(url)].find(({ audience }) => audience === named);
  if (other === undefined) return;
  throw new CliError(
    ExitCode.Usage,
    `${url} names the audience ${named}, which is that of ${other.url}: it could be you there with a token for it`,
    `if both belong to the same operator: jobctl login --audience ${named}`,
  );
}

async function agree(url: string, named: string, flags: AudienceFlags, consent: Consent): Promise<void> {
  if (consent === 'given') return;
  const what = `${url} asks for a token of the audience ${named}`;
  const isAskable = flags.output !== 'json' && process.stdin.isTTY;
  if (consent === 'shown' && !isAskable) return printErr(`${what}\n`);
  mustBeAskable(flags, what, `is it that server's? its operator knows; then: --audience ${named}`);
  if (await ask(`${what}.\nWhoever accepts it takes that token for you. Is it this server's own? [y/N] `)) return;
  throw new CliError(ExitCode.Refused, 'not logged in: nothing was changed');
}

/** @param url a server whose own audience is left out */
function audiencesInContexts(url: string): readonly { readonly audience: string; readonly url: string }[] {
  return [...readContexts(process.env).byName.values()].flatMap(({ server, audience }) =>
    server === undefined || audience === undefined || isSamePlace(server, url) ? [] : [{ audience, url: server }],
  );
}

const isSamePlace = (a: string, b: string): boolean => new URL(a).href === new URL(b).href;

/** Stores the audience, so that the user is not asked again, even after a logout. */
function keepInContext({ name, audience: before }: ServerPlace, audience: string): void {
  if (name === undefined || name === LOCAL_CONTEXT || before === audience) return;
  const { file, text } = readContexts(process.env);
  writeContexts(file, withSettings(text, name, { audience }));
}
