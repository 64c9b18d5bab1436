import { Argument, type Command, Option } from 'commander';
import { connectionFlags, type Flag, type Invocation, type Parser } from '../terminal/options.js';
import type { ContextFlags } from '../place/context.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';

/** Takes the arguments, the flags, and the words after `--` if the verb `takesWords`. @returns the exit code; undefined is 0 */
type Run = (...given: never[]) => void | number | Promise<void | number>;

/** The definition of a verb, or of a group of verbs (docs/adr/0137). */
export interface Verb {
  readonly name: string;
  /** Other names, as help shows them. */
  readonly aliases?: readonly string[];
  /** Words of other tools that mean this verb. Help does not show them. */
  readonly nearWords?: readonly string[];
  /** Its line in the list of verbs. Absent: the description. */
  readonly summary?: string;
  readonly description: string;
  /** The usage line. Absent: it is made from arguments and flags. */
  readonly usage?: string;
  /** The servers that the verb talks to. It gets the flags that name one, unless it has a `--context` of its own. */
  readonly place?: VerbPlace;
  /** The verb accepts words after `--`; others refuse them. */
  readonly takesWords?: true;
  readonly arguments?: readonly (Argument | readonly [words: string, what?: string, parser?: Parser])[];
  readonly flags?: readonly Flag[];
  /** Text after the flags in help. Begins and ends with a line break. */
  readonly notes?: string;
  readonly examples?: readonly string[];
  /** Loads the code that the verb runs: `--help` must not wait for a gRPC client. Absent: a group of verbs. */
  readonly run?: () => Run | Promise<Run>;
  readonly verbs?: readonly Verb[];
}

export const defineVerb = (verb: Verb): Verb => verb;

/** Adds the verb to commander, with its subverbs. */
export function addVerb(parent: Command, verb: Verb, invocation: Invocation, above: readonly string[] = []): void {
  const { name, description, summary, usage, run } = verb;
  const words = [...above, name];
  const command = parent
    .command(name)
    .aliases(verb.aliases ?? [])
    .description(description);
  if (summary !== undefined) command.summary(summary);
  if (usage !== undefined) command.usage(usage);
  for (const argument of verb.arguments ?? []) command.addArgument(argumentOf(argument));
  for (const flag of allFlags(verb)) {
    if (typeof flag === 'string') command.optionsGroup(flag);
    else command.addOption(optionOf(flag));
  }
  command.addHelpText('after', behindFlags(verb));
  if (run !== undefined)
    command.action(async (...typed: unknown[]) => {
      // Commander's last argument is the command.
      const given = [...typed.slice(0, -1), ...(verb.takesWords === true ? [invocation.commandWords] : [])];
      if (verb.place !== undefined) await refuseServerAlone(words.join(' '), verb.place, command.opts());
      const running = await run();
      invocation.exitCode = (await running(...(given as never[]))) ?? 0;
    });
  for (const each of verb.verbs ?? []) addVerb(command, each, invocation, words);
}

function argumentOf(argument: NonNullable<Verb['arguments']>[number]): Argument {
  if (argument instanceof Argument) return argument;
  const [words, what, parser] = argument;
  const made = new Argument(words, what);
  return parser === undefined ? made : made.argParser(parser as (text: string) => unknown);
}

function allFlags({ flags = [], place }: Verb): readonly Flag[] {
  const isNamed = flags.some((flag) => Array.isArray(flag) && flag[0] === '--context <name>');
  return place === undefined || isNamed ? flags : [...flags, ...connectionFlags()];
}

/** The verb's flags, including those of the connection. */
export const optionsOf = (verb: Verb): readonly Option[] =>
  allFlags(verb).flatMap((flag) => (typeof flag === 'string' ? [] : [optionOf(flag)]));

function optionOf(flag: Exclude<Flag, string>): Option {
  if (flag instanceof Option) return flag;
  const [words, what, parser, value, shownValue] = flag;
  const option = new Option(words, what).default(value, shownValue);
  return parser === undefined ? option : option.argParser(parser as (text: string) => unknown);
}

function behindFlags({ notes = '', examples = [] }: Verb): string {
  if (examples.length === 0) return notes;
  const lines = examples.map((example) => `  ${example}\n`);
  return `${notes}\nExample${examples.length === 1 ? '' : 's'}:\n${lines.join('')}`;
}

/** The kind of place that a verb talks to, for verbs that take `--context`. */
type VerbPlace =
  /** A `jobctl serve` or Temporal, depending on the context. */
  | 'either'
  /** Neither of them: the verb is about the context itself, or about the store of secrets. */
  | 'none'
  /** Temporal itself, or the bucket itself, with the reason why a server is not enough. */
  | { readonly temporal: string }
  | { readonly bucket: string };

/** @throws CliError (Usage) for a verb that needs Temporal itself, or the bucket itself, if only a server is named */
async function refuseServerAlone(words: string, place: VerbPlace, flags: ContextFlags): Promise<void> {
  if (typeof place === 'string') return;
  const { resolveContext } = await import('../place/context.js');
  const { server, temporal, bucket } = resolveContext(flags);
  const needed =
    'temporal' in place
      ? { what: 'Temporal', it: 'address', flag: '--temporal-address', value: 'HOST:PORT', has: temporal.address }
      : { what: 'the bucket', it: 'bucket', flag: '--bucket', value: 'NAME', has: bucket?.bucket };
  if (server === undefined || needed.has !== undefined) return;
  const reason = 'temporal' in place ? place.temporal : place.bucket;
  const named = server.name === undefined ? server.url : `context ${server.name} (${server.url})`;
  throw new CliError(
    ExitCode.Usage,
    `jobctl ${words}: needs ${needed.what} itself, and ${named} is a jobctl serve: ${reason}`,
    `with rights in ${needed.what}: name it with ${needed.flag}, or use a context that has its ${needed.it}`,
    ...(server.name === undefined
      ? []
      : [`or give this one both: jobctl context set ${server.name} ${needed.flag} ${needed.value}`]),
  );
}
