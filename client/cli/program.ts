import { Command, CommanderError } from 'commander';
import { CliError } from './cli-error.js';
import { registerJobVerbs } from './commands.js';
import { registerDev } from './dev/register-dev.js';
import { EXIT_CODES_TEXT, ExitCode } from './exit-codes.js';
import { registerOperatorVerbs } from './operator-commands.js';

/** What verbs hand back to the one who runs the program. */
export interface Invocation {
  /** Words after `--`; undefined where there is no `--`. */
  readonly commandWords: readonly string[] | undefined;
  exitCode: number;
}

/**
 * Runs one command line.
 * @param args without node and script
 * @returns the exit code
 * @throws what a verb throws: `explainError` puts it into words
 */
export async function runProgram(args: readonly string[]): Promise<number> {
  const end = args.indexOf('--');
  const own = asVerb(end === -1 ? args : args.slice(0, end));
  const invocation: Invocation = { commandWords: end === -1 ? undefined : args.slice(end + 1), exitCode: 0 };
  refuseStrayWords(own, invocation);
  const program = createProgram(invocation);
  try {
    await program.parseAsync([...own], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0 && error.code !== 'commander.help') throw usageError(error, own);
    return error.code === 'commander.help' ? ExitCode.Usage : ExitCode.Done;
  }
  return invocation.exitCode || Number(process.exitCode ?? 0);
}

/** What people type first at a tool that they do not know. */
function asVerb(own: readonly string[]): readonly string[] {
  return own.length === 1 && (own[0] === '--version' || own[0] === '-V') ? ['version'] : own;
}

export function createProgram(invocation: Invocation): Command {
  const program = new Command('jobctl')
    .description('Runs machine-learning jobs on Cloud TPUs: durable, queued by quota, set up on every host.')
    .exitOverride()
    // Commander's own words go through `usageError`.
    .configureOutput({ outputError: () => undefined })
    .addHelpText(
      'after',
      `\nExample:\n  jobctl submit --local --wait examples/quick-start.yaml\n\n${EXIT_CODES_TEXT}\n`,
    );
  registerJobVerbs(program, invocation);
  registerOperatorVerbs(program, invocation);
  registerDev(program);
  return program;
}

/** Only `submit` takes a command after `--`; elsewhere its words would vanish in silence. */
function refuseStrayWords(own: readonly string[], { commandWords }: Invocation): void {
  if (commandWords === undefined || own.includes('--help') || own.includes('-h')) return;
  const [verb = ''] = own;
  if (verb !== 'submit') {
    throw new CliError(
      ExitCode.Usage,
      `jobctl ${verb}: takes no words after --`,
      'only `jobctl submit FILE -- CMD..` does',
    );
  }
  if (commandWords.length === 0) {
    throw new CliError(
      ExitCode.Usage,
      'jobctl submit: no command after --',
      "such as -- python3 train.py, or -- 'cd src && make train'",
    );
  }
}

/** `error: unknown option '--wiat'\n(Did you mean --wait?)` in our form. */
function usageError({ message }: CommanderError, own: readonly string[]): CliError {
  const [first = '', suggestion] = message.split('\n');
  const isVerbKnown = !first.includes('unknown command');
  const verb = isVerbKnown ? verbOf(own) : 'jobctl';
  const meant = /Did you mean (?:one of )?(.+?)\?/.exec(suggestion ?? '')?.[1];
  return new CliError(
    ExitCode.Usage,
    `${verb}: ${first.replace(/^error: /, '')}`,
    ...(meant === undefined ? [] : [`the nearest is ${meant}`]),
    `\`${verb} --help\` shows what there is`,
  );
}

/** `jobctl dev up`: the words before the first flag that name commands. */
function verbOf(own: readonly string[]): string {
  const [verb, second] = own;
  if (verb === undefined || verb.startsWith('-')) return 'jobctl';
  const isNested = (verb === 'dev' || verb === 'audit') && second !== undefined && /^[a-z]+$/.test(second);
  return isNested ? `jobctl ${verb} ${second}` : `jobctl ${verb}`;
}
