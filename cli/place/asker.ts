import { hostname, userInfo } from 'node:os';
import type { JobClient } from '../../client/job-client.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import type { CliContext } from './context.js';
import type { Asker } from '../../domain/job-state.js';

/** The user who types, not verified: the context's user, or else the login name. */
export const userOf = ({ user }: Pick<CliContext, 'user'>): string => user ?? userInfo().username;

/** The named user, or else `userOf`, with the host name of this computer. */
export const asker = (user: string | undefined, context: Pick<CliContext, 'user'>): Asker => ({
  by: user ?? userOf(context),
  from: hostname(),
});

/** Returns whether a job or schedule has a user who is not known: nobody need be asked before another one changes it. */
export const isNobody = (user: string): boolean => user === '-' || user === 'unknown';

/** Over a server, the user whom the server knows; no other can be named. @throws CliError (Usage) if another is named */
export async function askerAt(
  client: Pick<JobClient, 'whoAmI'>,
  user: string | undefined,
  context: Pick<CliContext, 'user' | 'server'>,
): Promise<Asker> {
  if (context.server === undefined) return asker(user, context);
  if (user !== undefined)
    throw new CliError(
      ExitCode.Usage,
      `--by ${user}: ${context.server.url} knows who asks by their login`,
      'leave it out; `jobctl whoami` shows whom it knows you as',
    );
  return { by: (await client.whoAmI())?.id ?? '', from: hostname() };
}

/** The context, with the user whom `--mine` means. Over a server that is the user whom the server knows. */
export async function asKnown<Context extends Pick<CliContext, 'user' | 'server'>>(
  client: Pick<JobClient, 'whoAmI'>,
  context: Context,
  { mine }: { readonly mine?: true },
): Promise<Pick<CliContext, 'user'>> {
  if (mine !== true || context.server === undefined) return context;
  return { user: (await askerAt(client, undefined, context)).by };
}
