import { hostname, userInfo } from 'node:os';
import type { JobClient } from '../job-client.js';
import { CliError } from './cli-error.js';
import type { CliContext } from './context.js';
import { ExitCode } from './exit-codes.js';
import type { Asker } from '../../domain/job-state.js';

/** Who types, by this computer's word: the context's user, else the login name. */
export const userOf = ({ user }: Pick<CliContext, 'user'>): string => user ?? userInfo().username;

/** The same, unless a user is named, with the name of the computer. */
export const asker = (user: string | undefined, context: Pick<CliContext, 'user'>): Asker => ({
  by: user ?? userOf(context),
  from: hostname(),
});

/** The same where a server knows who asks: it is asked, and nobody else can be named. @throws CliError (Usage) where somebody is */
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

/** The context by which `--mine` is meant: over a server, of whom it knows. */
export async function asKnown<Context extends Pick<CliContext, 'user' | 'server'>>(
  client: Pick<JobClient, 'whoAmI'>,
  context: Context,
  { mine }: { readonly mine?: true },
): Promise<Pick<CliContext, 'user'>> {
  if (mine !== true || context.server === undefined) return context;
  return { user: (await askerAt(client, undefined, context)).by };
}
