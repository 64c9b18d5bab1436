import { existsSync } from 'node:fs';
import { shellWords, splitShellWords } from '../../../domain/shell-quote.js';
import { lineDefaults } from '../launching/line-defaults.js';
import { launchJob } from '../launching/launch-job.js';
import { LAUNCH_FLAGS, nameImage } from './bastion-keys.js';
import { Draft, type GivenKey, literalRun } from './draft.js';
import { splitFlags } from './flags.js';
import { isOfBastion } from './foreign-words.js';
import { ASTERA_FLAGS, launchFlags } from './launch-keys.js';

export type LaunchTool = "Bastion's launch" | "Astera's launch";

export interface LaunchLine {
  readonly tool: LaunchTool;
  /** `start`, `submit` and so on; `start` where the line names none. */
  readonly action: string;
  readonly draft: Draft;
}

const BASTION_ACTIONS = ['start', 'run', 'update', 'stop', 'list'];

/**
 * Reads a command line of Bastion's or Astera's `launch` (both have that name) and makes a job file of it.
 * @param words behind `launch`: its flags, and its command behind `--`
 */
export function readLaunch(words: readonly string[]): LaunchLine {
  const end = words.indexOf('--');
  const own = end === -1 ? words : words.slice(0, end);
  const command = end === -1 ? [] : words.slice(end + 1);
  return isOfBastion(own) ? bastionLine(own, command) : asteraLine(own, command);
}

/** The action of a `launch` line, by its first word that is no flag; `start` without one. */
export const launchAction = ([first = '']: readonly string[]): string =>
  [...BASTION_ACTIONS, 'submit', 'logs'].includes(first) ? first : 'start';

export function bastionLine(own: readonly string[], command: readonly string[]): LaunchLine {
  const { given, words } = splitFlags(own, LAUNCH_FLAGS);
  const draft = new Draft();
  // The bundler decides what these words mean.
  draft.take(LAUNCH_FLAGS, given.toSorted(bundlerFirst), "Bastion's launch");
  nameImage(
    draft,
    given.flatMap(({ key, value }) => (key === '--bundler_spec' ? [String(value)] : [])),
  );
  tellWords(words.slice(1), draft);
  if (command.length > 0) {
    // Bastion joins its words by blanks, and a shell reads the line: that is why its users quote twice.
    draft.set('command.run', literalRun(command.join(' ')));
    draft.tell('-- CMD', 'kept', 'command.run: the words joined by blanks, as Bastion does');
    if (draft.get('build') === undefined) bundleOf(draft);
  }
  const action = words.find((word) => BASTION_ACTIONS.includes(word)) ?? words[0] ?? 'start';
  return { tool: "Bastion's launch", action, draft };
}

/** The line inside a job spec's command: `python3 -m ..launch run --instance_type=.. -- CMD`. Undefined: it is another command. */
export function launchInside(command: string): LaunchLine | undefined {
  const words = splitShellWords(command);
  const at = words?.findIndex((word) => /(^|\.)launch$/.test(word)) ?? -1;
  if (words === undefined || at === -1) return undefined;
  const end = words.indexOf('--');
  // Behind -- stands a shell line, quotes and all.
  const line = end === -1 ? undefined : command.slice(command.indexOf(' -- ') + ' -- '.length);
  const own = words.slice(at + 1, end === -1 ? undefined : end);
  return bastionLine(own, line === undefined ? [] : [line]);
}

const bundlerFirst = (a: GivenKey, b: GivenKey): number =>
  Number(b.key === '--bundler_type') - Number(a.key === '--bundler_type');

function bundleOf(draft: Draft): void {
  const isAsked = draft.get('bundle.dir') !== undefined;
  draft.set('bundle.dir', '.');
  if (!isAsked) draft.tell('(the current folder)', 'kept', 'bundle.dir = .: Bastion took it too');
  if (draft.get('bundle.install') !== undefined || !existsSync('pyproject.toml')) return;
  draft.set('bundle.install', 'pip install -e .');
  draft.tell('(pyproject.toml)', 'kept', 'bundle.install = pip install -e .: Bastion installed it too');
}

function asteraLine(own: readonly string[], command: readonly string[]): LaunchLine {
  const { given, words } = splitFlags(own, ASTERA_FLAGS);
  const draft = new Draft();
  const place = { defaults: lineDefaults({}, undefined), folder: process.cwd() };
  Object.assign(draft.tree, launchJob(launchFlags(given), command.length > 0, place));
  draft.take(ASTERA_FLAGS, given, "Astera's launch");
  tellWords(words.slice(1), draft);
  const run = command.length === 1 ? (command[0] ?? '') : shellWords(command);
  draft.set('command.run', literalRun(run));
  const text = "command.run: run by the image's shell, where launch gave the words to its ENTRYPOINT";
  draft.tell('-- CMD', 'changed', text);
  return { tool: "Astera's launch", action: words[0] ?? 'submit', draft };
}

function tellWords(words: readonly string[], draft: Draft): void {
  for (const word of words) draft.tell(word, 'lost', 'a word without a flag; a command goes behind --');
}
