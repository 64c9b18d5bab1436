import { existsSync } from 'node:fs';
import { shellWords, splitShellWords } from '../../../domain/shell-quote.js';
import { lineDefaults, launchJob, type LaunchFlags } from '../launching/launch-job.js';
import { LAUNCH_FLAGS, nameImage, JOBSPEC_KEYS } from './bastion-keys.js';
import { Draft, type GivenKey, type KeyRule } from './draft.js';
import { isOfBastion } from './foreign-words.js';
import { showValue } from '../../../domain/problem.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { BUILD_PLACES } from '../building/sources.js';
import { EXECUTION_WORDS } from '../launching/executions.js';
import { isMapping } from '../../../domain/job-file/plain-tree.js';

type LaunchTool = "Bastion's launch" | "Astera's launch";

interface LaunchLine {
  readonly tool: LaunchTool;
  /** `start`, `submit` and so on; `start` if the line names no action. */
  readonly action: string;
  readonly draft: Draft;
  /** The line asks for a dry run. */
  readonly isDryRun?: boolean;
}

const BASTION_ACTIONS = ['start', 'run', 'update', 'stop', 'list'];

/**
 * Reads a command line of Bastion's or Astera's `launch`, two tools of one name, and makes a job file from it.
 * @param words the words after `launch`: its flags, and its command after `--`
 */
export function readLaunch(words: readonly string[]): LaunchLine {
  const end = words.indexOf('--');
  const own = end === -1 ? words : words.slice(0, end);
  const command = end === -1 ? [] : words.slice(end + 1);
  return isOfBastion(own) ? bastionLine(own, command) : asteraLine(own, command);
}

/** The action of a `launch` line: its first word that is not a flag, or `start`. */
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
    draft.set('command.run', command.join(' '));
    draft.tell('-- CMD', 'kept', 'command.run: the words joined by blanks, as Bastion does');
    if (draft.get('build') === undefined) bundleOf(draft);
  }
  const action = words.find((word) => BASTION_ACTIONS.includes(word)) ?? words[0] ?? 'start';
  return { tool: "Bastion's launch", action, draft, isDryRun: given.some(({ key }) => key === '--dry_run') };
}

/** The `launch` line in a job spec's command: `python3 -m ..launch run --instance_type=.. -- CMD`. Undefined: another command. */
function launchInside(command: string): LaunchLine | undefined {
  const words = splitShellWords(command);
  const at = words?.findIndex((word) => /(^|\.)launch$/.test(word)) ?? -1;
  if (words === undefined || at === -1) return undefined;
  const end = words.indexOf('--');
  // After -- there is a shell line, with its quotes.
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
  draft.set('command.run', run);
  const text = "command.run: run by the image's shell, where launch gave the words to its ENTRYPOINT";
  draft.tell('-- CMD', 'changed', text);
  return { tool: "Astera's launch", action: words[0] ?? 'submit', draft };
}

function tellWords(words: readonly string[], draft: Draft): void {
  for (const word of words) draft.tell(word, 'lost', 'a word without a flag; a command goes behind --');
}

/** Does nothing: `launchJob` has already put the values of these flags into the draft. */
const isPut = (): void => undefined;

/** Flags of Astera's `launch submit`, and those that `jobctl launch` has in addition. */
export const ASTERA_FLAGS: readonly KeyRule[] = [
  {
    key: '--build',
    to: 'build',
    put: isPut,
    note: 'where the image is built: `remote`, in the cluster, is the default of pods and Ray here too. A flag of `submit` and `launch`',
  },
  {
    key: '--execution',
    to: 'kubernetes',
    put: isPut,
    note: 'the section: `kubernetes`, `ray_cluster` (for ray), and beside those of launch `tpu` and `machines`',
  },
  {
    key: '--workers',
    to: 'kubernetes.workers',
    put: isPut,
    note: 'pods; of ray `ray_cluster.workers.min` and `max`; of machines `machines.hosts`; of tpu `slices`',
  },
  {
    key: '--gpus',
    to: 'kubernetes.gpus',
    put: isPut,
    note: 'of each worker; with `--gpu-type`, since quota counts them by type',
  },
  { key: '--allow-dirty', isSwitch: true, fate: 'kept', note: 'a flag of `submit` and `launch`' },
  { key: '--allow-unpushed', isSwitch: true, fate: 'kept', note: 'a flag of `submit` and `launch`' },
  { key: '--name-prefix', to: 'name', put: isPut, note: 'ids of jobs are made from it' },
  {
    key: '--image',
    to: 'build.image',
    put: isPut,
    note: 'where the image is pushed; without it the registry of the context or of `JOBCTL_REGISTRY`, and the name of the folder. Without `--build` the image that is run',
  },
  { key: '--gpu-type', to: 'kubernetes.gpu_type', put: isPut },
  { key: '--ray-version', to: 'ray_cluster.ray_version', put: isPut },
  { key: '--instance-type', to: 'tpu.accelerator', put: isPut },
  { key: '--zone', to: 'tpu.zone', put: isPut },
];

/** The flags of a line, parsed. @throws CliError for a value that `jobctl launch` refuses */
function launchFlags(given: readonly GivenKey[]): LaunchFlags {
  const valueOf = (key: string): string | undefined => {
    const found = given.findLast((each) => each.key === key);
    return found === undefined ? undefined : String(found.value);
  };
  const texts = {
    gpuType: valueOf('--gpu-type'),
    rayVersion: valueOf('--ray-version'),
    image: valueOf('--image'),
    instanceType: valueOf('--instance-type'),
    zone: valueOf('--zone'),
    namePrefix: valueOf('--name-prefix'),
    build: oneOf('--build', valueOf('--build'), BUILD_PLACES),
    execution: oneOf('--execution', valueOf('--execution'), EXECUTION_WORDS),
    workers: countOf('--workers', valueOf('--workers'), 1),
    gpus: countOf('--gpus', valueOf('--gpus'), 0),
  };
  return Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== undefined));
}

function oneOf<Word extends string>(flag: string, value: string | undefined, words: readonly Word[]): Word | undefined {
  const found = words.find((word) => word === value);
  if (value === undefined || found !== undefined) return found;
  throw new CliError(ExitCode.Usage, `${flag}: ${showValue(value)} is none of ${words.join(', ')}`);
}

function countOf(flag: string, value: string | undefined, least: number): number | undefined {
  if (value === undefined) return undefined;
  const count = Number(value);
  if (Number.isInteger(count) && count >= least) return count;
  throw new CliError(ExitCode.Usage, `${flag}: ${showValue(value)} is no whole number of ${least} or more`);
}

interface SplitLine {
  readonly given: readonly GivenKey[];
  /** Words without a flag before them, such as an action. */
  readonly words: readonly string[];
}

/**
 * Splits a command line of another tool: `--key=value`, `--key value`, `--switch`, and absl's `--noswitch`. A flag without a rule
 * takes the next word as its value, unless that word is a flag.
 * @param args the words before `--`
 */
function splitFlags(args: readonly string[], rules: readonly KeyRule[]): SplitLine {
  const given: GivenKey[] = [];
  const words: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    const match = /^(--?[A-Za-z][\w-]*)(?:=([^]*))?$/.exec(word);
    if (match === null) {
      words.push(word);
      continue;
    }
    const [, name = '', value] = match;
    const ruled = ruleOf(name, rules);
    const key = ruled?.key ?? name;
    if (ruled?.isSwitch === true && OFF_VALUES.has(value?.toLowerCase() ?? '')) continue;
    if (value !== undefined) given.push({ key, value, shown: word });
    else if (ruled?.isSwitch === true) given.push({ key, value: true, shown: word });
    else {
      const next = args[at + 1];
      const isValue = next !== undefined && !next.startsWith('--') && !isRuled(next, rules);
      if (isValue) at++;
      given.push({ key, value: isValue ? next : true, shown: isValue ? `${word} ${next}` : word });
    }
  }
  return { given: given.filter(({ key }) => key !== OFF), words };
}

/** Returns whether a word is a known flag with one dash, which absl accepts: in `--bastion -dry_run` it is no name. */
const isRuled = (word: string, rules: readonly KeyRule[]): boolean =>
  /^-[A-Za-z]/.test(word) && ruleOf(word.replace(/=[^]*/, ''), rules) !== undefined;

/** Key of a switch that is turned off. It counts as not given. */
const OFF = '';
/** absl's values for off. Any other value leaves the switch on: after a misspelt `--dry_run=..` nothing may be submitted. */
const OFF_VALUES: ReadonlySet<string> = new Set(['false', 'f', '0']);

/** The rule for a flag. absl accepts `-name` for `--name`, and `--noname` for a switch. Users of both tools mix `_` and `-`. */
function ruleOf(name: string, rules: readonly KeyRule[]): KeyRule | undefined {
  const plain = (text: string): string => text.replace(/^--?/, '').replaceAll('-', '_');
  const found = rules.find(({ key }) => plain(key) === plain(name));
  if (found !== undefined || !plain(name).startsWith('no')) return found;
  const isOff = rules.some(({ key, isSwitch }) => isSwitch === true && plain(key) === plain(name).slice(2));
  return isOff ? { key: OFF, isSwitch: true } : undefined;
}

/** @param flag with its dashes, without a value */
export const isFlagOfBastion = (flag: string): boolean => ruleOf(flag, LAUNCH_FLAGS) !== undefined;

/**
 * Makes a job file from Bastion's job spec (JSON).
 * @param file its name, for messages
 * @throws CliError if it is not a job spec
 */
export function readJobspec(text: string, file: string): Draft {
  const spec = parsed(text, file);
  const given = Object.entries(spec).flatMap(([key, value]) =>
    key === 'metadata' ? inMetadata(value) : [{ key, value }],
  );
  const launch = typeof spec['command'] === 'string' ? launchInside(spec['command']) : undefined;
  const draft = launch?.draft ?? new Draft();
  if (launch !== undefined)
    draft.told.unshift({ key: 'command', fate: 'kept', text: 'it is a line of `launch run`, read as such:' });
  const rest = launch === undefined ? given : given.filter(({ key }) => key !== 'command');
  draft.take(JOBSPEC_KEYS, rest.map(shown), "Bastion's job spec");
  return draft;
}

const inMetadata = (metadata: unknown): readonly GivenKey[] =>
  Object.entries(isMapping(metadata) ? metadata : {}).map(([key, value]) => ({ key: `metadata.${key}`, value }));

const shown = ({ key, value }: GivenKey): GivenKey => ({ key, value, shown: `${key}: ${showValue(value)}` });

function parsed(text: string, file: string): Readonly<Record<string, unknown>> {
  const wanted = 'jobctl import bastion-jobspec takes the JSON that serialize_jobspec of AXLearn writes';
  let spec: unknown;
  try {
    spec = JSON.parse(text);
  } catch {
    throw new CliError(ExitCode.Usage, `${file}: is not JSON`, wanted);
  }
  const isSpec = isMapping(spec) && typeof spec['command'] === 'string' && isMapping(spec['metadata']);
  if (!isSpec)
    throw new CliError(
      ExitCode.Usage,
      `${file}: has no command (a text) and metadata, so it is no job spec of Bastion`,
      wanted,
    );
  return spec as Readonly<Record<string, unknown>>;
}
