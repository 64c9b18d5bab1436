import type { CliContext } from '../../place/context.js';

/** The job file with the context's quota project and user, if it names none. `--dry-run` prints this, the submitted file. */
export function asSubmitted(
  raw: unknown,
  { project, user, server }: Pick<CliContext, 'project' | 'user' | 'server'>,
): unknown {
  const file = raw as Readonly<Record<string, unknown>>;
  const isMissing = (key: string, value: string | undefined): boolean => value !== undefined && file[key] === undefined;
  return {
    ...file,
    ...(isMissing('project', project) ? { project } : {}),
    // A server knows the submitter.
    ...(server === undefined && isMissing('user', user) ? { user } : {}),
  };
}
