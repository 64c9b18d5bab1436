import type { Command, CommanderError } from 'commander';
import { editDistance, nearestWord } from '../../domain/nearest-word.js';
import { shellWords } from '../../domain/shell-quote.js';
import { CliError } from './cli-error.js';
import { ExitCode } from './exit-codes.js';
import { typedCommand } from './typed-command.js';

/** `error: unknown option '--wiat'\n(Did you mean --wait?)` in our form: what, why, the nearest word, what to do. */
export function usageError({ message }: CommanderError, own: readonly string[], program: Command): CliError {
  const [first = '', suggestion = ''] = message.split('\n');
  const [told = '', ...why] = first
    .replace(/^error: /, '')
    .replace(/\.$/, '')
    .split('. ');
  const what = told.replace(/^command-argument value ('[^]*') is invalid for argument '(.+)'$/, '$2: $1 is invalid');
  const verb = verbOf(own, program);
  const suggested = /Did you mean (?:one of )?(.+?)\?/.exec(suggestion)?.[1] ?? nearestChoice(first);
  const meant = suggested === undefined || isFarFrom(what, suggested) ? undefined : suggested;
  return new CliError(
    ExitCode.Usage,
    `${verb}: ${what}`,
    ...why.map((reason) => reason.charAt(0).toLowerCase() + reason.slice(1)),
    ...(meant === undefined ? [] : [`the nearest is ${meant}`]),
    ...aboutFile(own, what),
    ...(verb === 'jobctl submit' && what.startsWith('too many')
      ? ['a command goes behind --: jobctl submit FILE -- CMD..']
      : [...behindDashes(own, what, program), ...takenByFlag(own, what, program)]),
    `\`${verb} --help\` shows what there is`,
  );
}

/** In a short word, two letters are half of it: `cost` is not `list`. A wrong guess is worse than no guess. */
function isFarFrom(what: string, suggested: string): boolean {
  const typed = /^unknown command '(.+)'$/.exec(what)?.[1];
  const most = typed !== undefined && typed.length > 5 ? 2 : 1;
  return typed !== undefined && !suggested.split(', ').some((word) => editDistance(typed, word) <= most);
}

/** `import task.yaml`: suggests the verb that tells whose file it is. */
function aboutFile([verb, file = '']: readonly string[], what: string): readonly string[] {
  if (verb !== 'import' || !what.startsWith('unknown command') || !/[./]/.test(file)) return [];
  return [`\`${typedCommand()} validate ${shellWords([file])}\` says what the file is, and what to write`];
}

/** `exec JOB ls -l`: suggests the line with the missing `--`. */
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

/** `restart --replace train`: the flag's value is optional, and the flag has taken the word meant for the argument. */
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

/** `jobctl dev up`: the words that name a verb. */
function verbOf(own: readonly string[], program: Command): string {
  const words = ['jobctl'];
  let at: Command | undefined = program;
  for (const word of own) {
    at = at.commands.find((command) => command.name() === word || command.aliases().includes(word));
    if (at === undefined) break;
    words.push(word);
  }
  return words.join(' ');
}
