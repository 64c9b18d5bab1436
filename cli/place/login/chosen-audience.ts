import { ask, mustBeAskable } from '../../terminal/ask.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type ServerPlace } from '../context.js';
import { LOCAL_CONTEXT, readContexts, writeContexts } from '../contexts/contexts-file.js';
import { withSettings } from '../contexts/edit-contexts.js';
import type { OutputFlag } from '../../terminal/options.js';
import { printErr } from '../../terminal/print.js';
import { audiencesElsewhere, storedLogin } from './stored-logins.js';

export interface AudienceFlags extends OutputFlag {
  readonly audience?: string;
}

/**
 * The user's consent to an audience that they have not chosen before. `asked`: on the terminal; without one they must name it.
 * `shown`: without a terminal it is only shown, because they log in at the issuer themselves. `given`: the user names the token,
 * and the audience is the token's own.
 */
export type Consent = 'asked' | 'shown' | 'given';

/**
 * The audience that tokens for the server are made for. An ID token is accepted everywhere that accepts its audience, and a
 * server names its audience itself. So the user chooses it, and an audience that belongs to another server is refused
 * (docs/adr/0106).
 * @param named audience that the server names
 * @throws CliError if it belongs to another server, or the user does not agree
 */
export async function chosenAudience(
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
