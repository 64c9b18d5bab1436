import { hostname, userInfo } from 'node:os';
import type { CliContext } from './context.js';
import type { Asker } from '../../domain/job-state.js';

/** Who types, by this computer's word: the context's user, else the login name. */
export const userOf = ({ user }: Pick<CliContext, 'user'>): string => user ?? userInfo().username;

/** The same, unless a user is named, with the name of the computer. */
export const asker = (user: string | undefined, context: Pick<CliContext, 'user'>): Asker => ({
  by: user ?? userOf(context),
  from: hostname(),
});
