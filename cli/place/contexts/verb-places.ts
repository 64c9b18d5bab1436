import type { Command } from 'commander';
import { CliError } from '../../terminal/cli-error.js';
import { ExitCode } from '../../terminal/exit-codes.js';

/** The requirement of a verb on the place that it talks to, for verbs that take `--context`. */
type VerbPlace =
  /** It asks a `jobctl serve` or Temporal, depending on the context. */
  | 'either'
  /** Neither: the verb is about the context itself, or about the store of secrets. */
  | 'none'
  /** Temporal itself, with the reason why a server is not enough. */
  | { readonly temporal: string };

const OWN_MACHINES: VerbPlace = {
  temporal: "it asks a worker about a pool's own machines, which is for its operators",
};

/** Keyed by the words of the command line. */
export const VERB_PLACES: Readonly<Record<string, VerbPlace>> = {
  'access explain': 'either',
  'audit leaks': { temporal: 'it judges from Temporal, the bucket and the cloud, and not by what a server says' },
  'audit log': 'either',
  cancel: 'either',
  capacity: 'either',
  'context show': 'none',
  cp: 'either',
  delete: 'either',
  download: 'either',
  exec: 'either',
  export: { temporal: "it copies the whole histories of a job's workflows" },
  launch: 'either',
  list: 'either',
  login: 'none',
  logout: 'none',
  logs: 'either',
  'machines check': OWN_MACHINES,
  'machines drain': OWN_MACHINES,
  'machines forget': OWN_MACHINES,
  'machines ls': OWN_MACHINES,
  'machines release': OWN_MACHINES,
  'machines undrain': OWN_MACHINES,
  outputs: 'either',
  'port-forward': 'either',
  'quota apply': 'either',
  'quota drain': 'either',
  'quota freeze': 'either',
  'quota history': 'either',
  'quota plan': 'either',
  'quota release': 'either',
  'quota set-priority': 'either',
  'quota show': 'either',
  'quota thaw': 'either',
  requeue: 'either',
  restart: 'either',
  resume: 'either',
  'secret ls': 'either',
  'secret put': 'none',
  'secret rm': 'none',
  setup: 'either',
  'setup server': { temporal: 'it prepares the Temporal namespace and the bucket that a server stands on' },
  ssh: 'either',
  stacks: 'either',
  status: 'either',
  stop: 'either',
  submit: 'either',
  top: 'either',
  wait: 'either',
  whoami: 'either',
  why: 'either',
};

/** The words of a verb: `quota show`. */
export function wordsOf(command: Command): string {
  const { parent } = command;
  return parent === null || parent.parent === null ? command.name() : `${wordsOf(parent)} ${command.name()}`;
}

/** @throws CliError (Usage) for a verb that needs Temporal itself if only a server is named */
export async function refuseServerAlone(command: Command): Promise<void> {
  const words = wordsOf(command);
  const place = VERB_PLACES[words];
  if (place === undefined || typeof place === 'string') return;
  const { resolveContext } = await import('../context.js');
  const { server, temporal } = resolveContext(command.opts());
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
