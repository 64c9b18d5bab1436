import type { ContextFlags } from '../context.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';

/** The requirement of a verb on the place that it talks to, for verbs that take `--context`. */
export type VerbPlace =
  /** It asks a `jobctl serve` or Temporal, depending on the context. */
  | 'either'
  /** Neither: the verb is about the context itself, or about the store of secrets. */
  | 'none'
  /** Temporal itself, with the reason why a server is not enough. */
  | { readonly temporal: string };

/** @throws CliError (Usage) for a verb that needs Temporal itself if only a server is named */
export async function refuseServerAlone(words: string, place: VerbPlace, flags: ContextFlags): Promise<void> {
  if (typeof place === 'string') return;
  const { resolveContext } = await import('../context.js');
  const { server, temporal } = resolveContext(flags);
  if (server === undefined || temporal.address !== undefined) return;
  const named = server.name === undefined ? server.url : `context ${server.name} (${server.url})`;
  throw new CliError(
    ExitCode.Usage,
    `jobctl ${words}: needs Temporal itself, and ${named} is a jobctl serve: ${place.temporal}`,
    'with rights in Temporal: name it with --temporal-address, or use a context that has its address',
    ...(server.name === undefined
      ? []
      : [`or give this one both: jobctl context set ${server.name} --temporal-address HOST:PORT`]),
  );
}
