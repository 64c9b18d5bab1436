import { ask, mustBeAskable } from '../ask.js';
import { CliError } from '../cli-error.js';
import { type ServerPlace } from '../context.js';
import { LOCAL_CONTEXT, readContexts, writeContexts } from '../contexts/contexts-file.js';
import { withSettings } from '../contexts/edit-contexts.js';
import { ExitCode } from '../exit-codes.js';
import type { OutputFlag } from '../options.js';
import { printErr } from '../print.js';
import { audiencesElsewhere, storedLogin } from './stored-logins.js';

export interface AudienceFlags extends OutputFlag {
  readonly audience?: string;
}

/**
 * How somebody says yes to an audience that they have not chosen before. `asked`: on the terminal, and without one they have to name
 * it. `shown`: where there is no terminal it is shown, since they log in at the issuer themselves. `given`: the token is one that they
 * name, and the audience its own.
 */
export type Consent = 'asked' | 'shown' | 'given';

/**
 * The audience that tokens for the server are made for. An ID token is good wherever its audience is accepted, and a server says by
 * itself which one it is: so the user chooses it, and one that another server has is refused (docs/adr/0106).
 * @param named by the server
 * @throws CliError where it is another server's, or nobody agrees
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

/** @param url those of other servers alone */
function audiencesInContexts(url: string): readonly { readonly audience: string; readonly url: string }[] {
  return [...readContexts(process.env).byName.values()].flatMap(({ server, audience }) =>
    server === undefined || audience === undefined || isSamePlace(server, url) ? [] : [{ audience, url: server }],
  );
}

const isSamePlace = (a: string, b: string): boolean => new URL(a).href === new URL(b).href;

/** So that nobody is asked again, also after a logout. */
function keepInContext({ name, audience: before }: ServerPlace, audience: string): void {
  if (name === undefined || name === LOCAL_CONTEXT || before === audience) return;
  const { file, text } = readContexts(process.env);
  writeContexts(file, withSettings(text, name, { audience }));
}
