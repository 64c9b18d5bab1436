import { Command, CommanderError } from 'commander';
import { nearestWord } from '../../domain/nearest-word.js';
import { CliError } from './cli-error.js';
import { registerJobVerbs } from './commands.js';
import { registerDev } from './dev/register-dev.js';
import { COMPLETE_VERB } from './completion/scripts.js';
import { EXIT_CODES_TEXT, ExitCode } from './exit-codes.js';
import { registerHostVerbs } from './host-commands.js';
import type { Invocation } from './options.js';
import { registerOperatorVerbs } from './operator-commands.js';
import { registerOutputsVerbs } from './outputs-commands.js';
import { registerQuota } from './quota/register-quota.js';
import { registerRehearsal } from './rehearsal/register-rehearsal.js';
import { registerRehearse } from './rehearse/register-rehearse.js';
import { registerSecret } from './secret-commands.js';

/**
 * Runs one command line.
 * @param args without node and script
 * @returns the exit code
 * @throws what a verb throws: `explainError` puts it into words
 */
export async function runProgram(args: readonly string[]): Promise<number> {
  if (args[0] === COMPLETE_VERB) return complete(args.slice(1));
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

/** A candidate a line. */
async function complete(words: readonly string[]): Promise<number> {
  const { candidates } = await import('./completion/candidates.js');
  const program = createProgram({ commandWords: undefined, exitCode: 0 });
  // The word that is being typed is no verb yet.
  const before = asVerb(words.slice(0, -1));
  for (const word of await candidates(program, [...before, words.at(-1) ?? ''])) process.stdout.write(`${word}\n`);
  return ExitCode.Done;
}

/** What people type first at a tool that they do not know, and the words of kubectl, Slurm and Docker for ours. */
function asVerb(own: readonly string[]): readonly string[] {
  const [first = '', second, ...more] = own;
  if (own.length === 1 && (first === '--version' || first === '-V')) return ['version'];
  if (first === 'get' || first === 'describe') {
    // `get jobs`, `get job train-7f3k`
    const rest = second !== undefined && /^jobs?$/.test(second) ? more : own.slice(1);
    const isOne = first === 'describe' || (rest[0] !== undefined && !rest[0].startsWith('-'));
    return [isOne ? 'status' : 'list', ...rest];
  }
  return NEAR_WORDS.has(first) ? ['list', ...own.slice(1)] : own;
}
const NEAR_WORDS_TEXT = `Words of other tools: ls, ps, queue and get are list; describe JOB and get JOB are status.`;
const NEAR_WORDS: ReadonlySet<string> = new Set(['ls', 'ps', 'queue']);

export function createProgram(invocation: Invocation): Command {
  const program = new Command('jobctl')
    .description('Runs machine-learning jobs on Cloud TPUs: durable, queued by quota, set up on every host.')
    .exitOverride()
    // A verb with verbs of its own (setup) takes no flag that stands behind one of them.
    .enablePositionalOptions()
    // Commander's own words go through `usageError`.
    .configureOutput({ outputError: () => undefined })
    .addHelpText(
      'after',
      `\nExample:\n  jobctl submit --local --wait examples/quick-start.yaml\n\n${NEAR_WORDS_TEXT}\n\n${EXIT_CODES_TEXT}\n`,
    );
  registerJobVerbs(program, invocation);
  registerHostVerbs(program, invocation);
  registerOutputsVerbs(program, invocation);
  registerSecret(program, invocation);
  registerQuota(program, invocation);
  registerOperatorVerbs(program, invocation);
  registerDev(program);
  registerRehearsal(program, invocation);
  registerRehearse(program, invocation);
  return program;
}

/** Verbs that take words after `--`; elsewhere they would vanish in silence. */
const TAKE_WORDS: ReadonlySet<string> = new Set(['submit', 'exec', 'ssh']);

function refuseStrayWords(own: readonly string[], { commandWords }: Invocation): void {
  if (commandWords === undefined || own.includes('--help') || own.includes('-h')) return;
  const [verb = ''] = own;
  if (!TAKE_WORDS.has(verb)) {
    throw new CliError(
      ExitCode.Usage,
      `jobctl ${verb}: takes no words after --`,
      'only `jobctl submit FILE -- CMD..`, `exec JOB -- CMD..` and `ssh JOB -- OPTIONS` do',
    );
  }
  if (verb === 'submit' && commandWords.length === 0) {
    throw new CliError(
      ExitCode.Usage,
      'jobctl submit: no command after --',
      "such as -- python3 train.py, or -- 'cd src && make train'",
    );
  }
}

/** `error: unknown option '--wiat'\n(Did you mean --wait?)` in our form: what, why, the nearest word, what to do. */
function usageError({ message }: CommanderError, own: readonly string[]): CliError {
  const [first = '', suggestion = ''] = message.split('\n');
  const [what = '', ...why] = first
    .replace(/^error: /, '')
    .replace(/\.$/, '')
    .split('. ');
  const verb = verbOf(own, what.startsWith('unknown command'));
  const meant = /Did you mean (?:one of )?(.+?)\?/.exec(suggestion)?.[1] ?? nearestChoice(first);
  return new CliError(
    ExitCode.Usage,
    `${verb}: ${what}`,
    ...why.map((reason) => reason.charAt(0).toLowerCase() + reason.slice(1)),
    ...(meant === undefined ? [] : [`the nearest is ${meant}`]),
    ...(verb === 'jobctl submit' && what.startsWith('too many')
      ? ['a command goes behind --: jobctl submit FILE -- CMD..']
      : []),
    `\`${verb} --help\` shows what there is`,
  );
}

/** Of an option that takes one of a few words. */
function nearestChoice(message: string): string | undefined {
  const match = /argument '(.*)' is invalid\. Allowed choices are (.+)\.$/.exec(message);
  return match?.[1] === undefined ? undefined : nearestWord(match[1], match[2]?.split(', ') ?? []);
}

const GROUPS: ReadonlySet<string> = new Set(['audit', 'codec', 'dev', 'quota', 'rehearsal', 'secret', 'setup']);

/** `jobctl dev up`: the words that name the command, without the last where that is the one which is unknown. */
function verbOf(own: readonly string[], isUnknown: boolean): string {
  const words = GROUPS.has(own[0] ?? '') ? own.slice(0, 2) : own.slice(0, 1);
  const known = words.filter((word) => !word.startsWith('-')).slice(0, isUnknown ? words.length - 1 : undefined);
  return ['jobctl', ...known].join(' ');
}
