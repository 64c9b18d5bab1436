import { Command, CommanderError, Help } from 'commander';
import { shellWords } from '../domain/shell-quote.js';
import { COMPLETE_VERB } from './commands/operating.js';
import { addVerb, type Verb } from './commands/define-verb.js';
import { whereText } from './commands/places.js';
import { submitFlags, VERB_GROUPS, VERBS, verbOf } from './commands/verbs.js';
import { isForeign } from './job/migrating/foreign-words.js';
import { CliError, EXIT_CODES_TEXT, ExitCode } from './terminal/cli-error.js';
import type { Invocation } from './terminal/options.js';
import { printErr, printOut, asTyped, knowVerbs, typedCommand } from './terminal/print.js';
import { acceleratorNamed } from '../domain/accelerators.js';
import { editDistance, nearestWord } from '../domain/nearest-word.js';

knowVerbs([...VERBS.map(({ name }) => name), 'help']);

/**
 * Runs one command line.
 * @param args without node and script
 * @returns the exit code
 * @throws the errors of a verb, which `explainError` turns into text
 */
export async function runProgram(args: readonly string[]): Promise<number> {
  if (args[0] === COMPLETE_VERB) return complete(args.slice(1));
  if (args[0] === 'help' && args[1] === 'where') {
    printOut(whereText());
    return ExitCode.Done;
  }
  const end = args.indexOf('--');
  const typedCommandWords = end === -1 ? undefined : args.slice(end + 1);
  const typed = await ofJobctl(end === -1 ? args : args.slice(0, end), typedCommandWords);
  const own = asVerb(typed.own);
  const { commandWords } = typed;
  const invocation: Invocation = { commandWords, exitCode: 0 };
  refuseStrayWords(own, invocation);
  const program = createProgram(invocation, own);
  try {
    await program.parseAsync([...own], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0 && error.code !== 'commander.help') throw usageError(error, own, program);
    return error.code === 'commander.help' ? ExitCode.Usage : ExitCode.Done;
  }
  return invocation.exitCode;
}

/**
 * Translates another tool's command line into jobctl's if that does exactly the same (docs/adr/0064).
 * @throws CliError with the equivalent command line of jobctl, if it is not certain to be the same
 */
async function ofJobctl(own: readonly string[], commandWords: readonly string[] | undefined): Promise<Typed> {
  if (!isForeign(own)) return { own, commandWords };
  const { answerTo, refusalOf } = await import('./job/migrating/typed-line.js');
  const answer = answerTo(own, commandWords, submitFlags());
  if (answer === undefined) return { own, commandWords };
  const { runs, notes = [] } = answer;
  if (runs === undefined) throw refusalOf(own, answer);
  const lines = [`${own[0]} is ${answer.whose}: this runs \`jobctl ${shellWords(runs)}\``, ...notes];
  printErr(`${lines.join('\n  ')}\n`);
  const end = runs.indexOf('--');
  return end === -1 ? { own: runs, commandWords } : { own: runs.slice(0, end), commandWords: runs.slice(end + 1) };
}

/** A command line, split at `--`. */
interface Typed {
  readonly own: readonly string[];
  readonly commandWords: readonly string[] | undefined;
}

/** Prints one completion candidate per line. */
async function complete(words: readonly string[]): Promise<number> {
  const { candidates } = await import('./commands/completion.js');
  const program = createProgram({ commandWords: undefined, exitCode: 0 });
  // The word that is being typed is not yet a verb.
  const before = asVerb(words.slice(0, -1));
  for (const word of await candidates(program, [...before, words.at(-1) ?? ''])) printOut(`${word}\n`);
  return ExitCode.Done;
}

/** Replaces words that people try first, and the words of kubectl, Slurm and Docker, by jobctl's verbs. */
export function asVerb(own: readonly string[]): readonly string[] {
  const [first = '', second, ...more] = own;
  if (own.length === 1 && (first === '--version' || first === '-V')) return ['version'];
  if (first === 'get' || first === 'describe') {
    // `get jobs`, `get job train-7f3k`, `get pods`
    const rest = second !== undefined && /^(jobs?|pods?|po)$/.test(second) ? more : own.slice(1);
    const isOne = first === 'describe' || (rest[0] !== undefined && !rest[0].startsWith('-'));
    return [isOne ? 'status' : 'list', ...rest];
  }
  // Astera's launch has subcommands.
  if (first === 'launch' && second === 'submit') return ['launch', ...more];
  const near = VERBS.find(({ nearWords }) => nearWords?.includes(first) === true);
  return near === undefined ? own : [near.name, ...own.slice(1)];
}
const NEAR_WORDS_TEXT = `Words of other tools work too: ls, ps, queue and get mean list; describe JOB and get JOB mean status.`;

/** @param typed the words of the command line: only verbs among them get their flags and subcommands. Absent: all verbs do. */
export function createProgram(invocation: Invocation, typed?: readonly string[]): Command {
  const program = new Command('jobctl')
    .description('Runs machine-learning jobs on Cloud TPUs: durable, queued by quota, set up on every host.')
    .exitOverride()
    // A verb with subcommands (setup) takes no flag after one of them.
    .enablePositionalOptions()
    // Nearly every verb has options, and the list is read for the verbs.
    .configureHelp({ subcommandTerm: (verb) => new Help().subcommandTerm(verb).replace(' [options]', '') })
    // Commander's own messages go through `usageError`.
    .configureOutput({
      outputError: () => undefined,
      writeOut: (text) => printOut(asTyped(text)),
      writeErr: (text) => printErr(asTyped(text)),
    })
    .addHelpText(
      'after',
      `\nExample:\n  jobctl submit --local --wait examples/quick-start.yaml\n\n${NEAR_WORDS_TEXT}\n\n${EXIT_CODES_TEXT}\n`,
    );
  for (const { heading, verbs } of VERB_GROUPS) {
    program.commandsGroup(heading);
    for (const verb of verbs) addVerb(program, isAmong(typed, verb) ? verb : withoutFlags(verb), invocation);
  }
  return program;
}

const isAmong = (words: readonly string[] | undefined, { name, aliases = [] }: Verb): boolean =>
  words === undefined || words.some((word) => word === name || aliases.includes(word));

/** A verb as the list of verbs shows it. Commander takes 10 ms to make the 500 flags of all verbs. */
const withoutFlags = ({ flags: _flags, place: _place, verbs: _verbs, ...verb }: Verb): Verb => verb;

function refuseStrayWords(own: readonly string[], { commandWords }: Invocation): void {
  if (commandWords === undefined || own.includes('--help') || own.includes('-h')) return;
  const [verb = ''] = own;
  if (verbOf(own)?.takesWords !== true) {
    throw new CliError(
      ExitCode.Usage,
      `jobctl ${verb}: takes no words after --`,
      'only `jobctl submit FILE -- CMD..`, `launch -- CMD..`, `exec JOB -- CMD..` and `ssh JOB -- OPTIONS` do',
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

/** `error: unknown option '--wiat'\n(Did you mean --wait?)` in jobctl's form: problem, reason, nearest word, remedy. */
function usageError({ message }: CommanderError, own: readonly string[], program: Command): CliError {
  const [first = '', suggestion = ''] = message.split('\n');
  const [told = '', ...why] = first
    .replace(/^error: /, '')
    .replace(/\.$/, '')
    .split('. ');
  const what = told.replace(/^command-argument value ('[^]*') is invalid for argument '(.+)'$/, '$2: $1 is invalid');
  const verb = typedVerb(own, program);
  const suggested = /Did you mean (?:one of )?(.+?)\?/.exec(suggestion)?.[1] ?? nearestChoice(first);
  const ofMachines = gpuWords(what, suggested, own, program) ?? typeWords(what, own);
  const near = ofMachines === undefined ? suggested : ofMachines.near;
  const meant = near === undefined || isFarFrom(what, near) ? undefined : near;
  return new CliError(
    ExitCode.Usage,
    `${verb}: ${what}`,
    ...why.map((reason) => reason.charAt(0).toLowerCase() + reason.slice(1)),
    ...(meant === undefined ? [] : [`the nearest is ${meant}`]),
    ...(ofMachines?.hint ?? []),
    ...aboutFile(own, what),
    ...(verb === 'jobctl submit' && what.startsWith('too many')
      ? ['a command goes behind --: jobctl submit FILE -- CMD..']
      : [...behindDashes(own, what, program), ...takenByFlag(own, what, program)]),
    `\`${verb} --help\` shows what there is`,
  );
}

/** Whether a suggestion is too far: two letters are half of a short word, so `cost` is not `list`. No guess beats a wrong one. */
function isFarFrom(what: string, suggested: string): boolean {
  const typed = /^unknown command '(.+)'$/.exec(what)?.[1];
  const most = typed !== undefined && typed.length > 5 ? 2 : 1;
  return typed !== undefined && !suggested.split(', ').some((word) => editDistance(typed, word) <= most);
}

/** The unknown option in a message: as typed, its name, and its value after `=`. All are empty for any other message. */
function unknownOption(what: string): { readonly typed: string; readonly flag: string; readonly inline?: string } {
  const typed = /^unknown option '(.+)'$/.exec(what)?.[1] ?? '';
  const [flag = '', inline] = typed.split('=');
  return { typed, flag, ...(inline !== undefined && { inline }) };
}

interface BetterHint {
  readonly near?: string;
  readonly hint: readonly string[];
}

/**
 * The hint for an unknown option about GPUs, as other tools have them: `--gpu`, `--num-gpus`, `--gres=gpu:2`. By its letters,
 * `--tpu` would be nearest. Undefined for any other option.
 */
function gpuWords(
  what: string,
  suggested: string | undefined,
  own: readonly string[],
  program: Command,
): BetterHint | undefined {
  const { flag } = unknownOption(what);
  if (!/gpu|gres/i.test(flag)) return undefined;
  const options = program.commands.find((command) => command.name() === own[0])?.options ?? [];
  const ofVerb = options.flatMap(({ long }) => (long?.includes('gpu') === true ? [long] : []));
  if (suggested !== undefined && ofVerb.includes(suggested)) return { near: suggested, hint: [] };
  const near = nearestWord(flag, ofVerb) ?? ofVerb.find((long) => long === '--gpus');
  if (near !== undefined) return { near, hint: [] };
  return { hint: own[0] === 'submit' ? [gpuRemedy()] : [] };
}

const gpuRemedy = (): string =>
  `GPUs: \`${typedCommand()} launch --gpus N --gpu-type TYPE -- CMD..\` on a cluster, or the section kubernetes, compute_engine or machines of a job file`;

/**
 * The hint for an option of `submit` that names the machine type as other tools do: `--accelerators A100:8`, `--machine-type
 * n2-standard-8`. Undefined for any other option.
 */
function typeWords(what: string, own: readonly string[]): BetterHint | undefined {
  const { typed, flag, inline } = unknownOption(what);
  if (own[0] !== 'submit' || !/^--(accelerators?|machine|instance|node|tpu|vm)([_-](type|size|shape)s?)?$/.test(flag))
    return undefined;
  const value = inline ?? own[own.indexOf(typed) + 1] ?? '';
  const name = value.split(':')[0] ?? '';
  const tpu = acceleratorNamed(name);
  if (tpu !== undefined) return { hint: [`the type of a TPU slice: --tpu ${tpu.type}`] };
  const isOfVms = !flag.startsWith('--accelerator');
  return {
    hint: [
      'the type of a TPU slice: --tpu v5litepod-16, for example',
      isOfVms ? 'VMs: the section compute_engine of a job file, with machine_type and zone' : gpuRemedy(),
    ],
  };
}

/** The hint for `import task.yaml`: the verb of the tool that the file belongs to. */
function aboutFile([verb, file = '']: readonly string[], what: string): readonly string[] {
  if (verb !== 'import' || !what.startsWith('unknown command') || !/[./]/.test(file)) return [];
  return [`\`${typedCommand()} validate ${shellWords([file])}\` says what the file is, and what to write`];
}

/** The hint for `exec JOB ls -l`: the line with the missing `--`. */
function behindDashes(own: readonly string[], what: string, program: Command): readonly string[] {
  const [verb = '', ...rest] = own;
  if (!['exec', 'ssh'].includes(verb) || !/^(too many arguments|unknown option)/.test(what)) return [];
  const options = program.commands.find((command) => command.name() === verb)?.options ?? [];
  let positionals = 0;
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at] ?? '';
    const option = options.find(({ short, long }) => word === short || word === long);
    if (option !== undefined && (option.required || option.optional)) at++;
    if (word.startsWith('-') || ++positionals < 2) continue;
    const line = shellWords([verb, ...rest.slice(0, at), '--', ...rest.slice(at)]);
    return [`a command goes behind --: ${typedCommand()} ${line}`];
  }
  return [];
}

/** The hint for `restart --replace train`: the flag, whose value is optional, has taken the word meant as the argument. */
function takenByFlag(own: readonly string[], what: string, program: Command): readonly string[] {
  const argument = /^missing required argument '(.*)'/.exec(what)?.[1];
  const [verb = '', ...rest] = own;
  const options = program.commands.find((command) => command.name() === verb)?.options ?? [];
  const at = rest.findIndex((word) => options.some(({ long, optional }) => optional && long === word));
  const [flag, taken] = [rest[at], rest[at + 1]];
  if (argument === undefined || flag === undefined || taken === undefined || taken.startsWith('-')) return [];
  const line = shellWords([verb, taken, ...rest.slice(0, at + 1), ...rest.slice(at + 2)]);
  return [
    `${flag} takes the word behind it, '${taken}', as its own; write the ${argument} first: ${typedCommand()} ${line}`,
  ];
}

/** Suggests a value for an option that takes one of a few words. */
function nearestChoice(message: string): string | undefined {
  const match = /argument '(.*)' is invalid\. Allowed choices are (.+)\.$/.exec(message);
  return match?.[1] === undefined ? undefined : nearestWord(match[1], match[2]?.split(', ') ?? []);
}

/** The words that name the verb, such as `jobctl dev up`. */
function typedVerb(own: readonly string[], program: Command): string {
  const words = ['jobctl'];
  let at: Command | undefined = program;
  for (const word of own) {
    at = at.commands.find((command) => command.name() === word || command.aliases().includes(word));
    if (at === undefined) break;
    words.push(word);
  }
  return words.join(' ');
}
