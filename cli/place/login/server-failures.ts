import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { ServerPlace } from '../context.js';
import { asTyped } from '../../terminal/print.js';

/** The command that logs in there. */
export const loginCommand = ({ name, url }: ServerPlace): string =>
  asTyped(name === undefined ? `jobctl login --server ${url}` : `jobctl login --context ${name}`);

/** Adds the remedy for the place that named the server. The error is known by its name, so that no class is loaded. */
export function explainedBy(place: ServerPlace | undefined, error: unknown): unknown {
  if (place === undefined || !(error instanceof Error)) return error;
  const { remedy } = error as { readonly remedy?: string };
  const rest = remedy === undefined ? [] : [remedy];
  if (error.name === 'NotLoggedIn') {
    const isSaid = remedy !== undefined && /jobctl login -/.test(remedy);
    return new CliError(ExitCode.Unavailable, error.message, isSaid ? remedy : `log in: ${loginCommand(place)}`);
  }
  if (error.name === 'ServerUnreachable' && place.name !== undefined)
    return new CliError(
      ExitCode.Unavailable,
      error.message,
      ...rest,
      `context ${place.name} names this server; \`jobctl context show\` shows its settings`,
    );
  return error;
}
