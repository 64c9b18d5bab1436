import { userInfo } from 'node:os';
import type { CliContext } from '../context.js';

type Defaults = Pick<CliContext, 'project' | 'user'>;

/** Who submits a job whose file names no user: the context's user, else the login name. */
export const submitterOf = ({ user }: Pick<Defaults, 'user'>): string => user ?? userInfo().username;

/** The job file with the context's quota project and user, if it names none: what `--dry-run` prints is what is submitted. */
export function asSubmitted(raw: unknown, { project, user }: Defaults): unknown {
  const file = raw as Readonly<Record<string, unknown>>;
  const isMissing = (key: string, value: string | undefined): boolean => value !== undefined && file[key] === undefined;
  return {
    ...file,
    ...(isMissing('project', project) ? { project } : {}),
    ...(isMissing('user', user) ? { user } : {}),
  };
}
