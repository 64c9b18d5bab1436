import type { Option } from 'commander';
import { asLiteral } from '../../../domain/job-file/interpolation.js';
import { splitShellWords, shellWords } from '../../../domain/shell-quote.js';
import { type Draft, submitLine } from './draft.js';
import { bastionLine, isFlagOfBastion, launchAction } from './import-launch.js';
import { typedCommand } from '../../terminal/print.js';

/** The answer to a command line of another tool. */
export interface Answer {
  /** Owner of the line, as the beginning of a sentence: `JobMan's`. */
  readonly whose: string;
  /** Words of a jobctl command that does exactly the same. It is run. */
  readonly runs?: readonly string[];
  /** Otherwise command lines that do the same, ready to paste. */
  readonly lines?: readonly string[];
  /** Differences between the tools, and losses. */
  readonly notes?: readonly string[];
}

// Owners of a line, as a sentence begins.
export const JOBMANS = "JobMan's";
export const AXLEARNS = "AXLearn's";
export const ASTERAS = "Astera launch's";
export const SKYPILOTS = "SkyPilot's";
export const SLURMS = "Slurm's";
export const ANOTHERS = "another tool's";

export const behind = (command: readonly string[] | undefined): readonly string[] =>
  command === undefined ? [] : ['--', ...command];
export const line = (...words: readonly string[]): string => `${typedCommand()} ${shellWords(words)}`;
export const plain = (args: readonly string[]): readonly string[] => args.filter((word) => !word.startsWith('-'));
export const jobsOf = (args: readonly string[]): readonly string[] =>
  plain(args).length === 0 ? ['JOB'] : plain(args);
export const firstOf = (args: readonly string[]): string => plain(args)[0] ?? 'JOB';

/** The value of `--name VALUE` or `--name=VALUE`. */
export function valueOf(args: readonly string[], name: string): string | undefined {
  const at = args.findIndex((word) => word === name || word.startsWith(`${name}=`));
  const word = args[at];
  if (word === undefined) return undefined;
  return word === name ? args[at + 1] : word.slice(name.length + 1);
}

/** Answers a `launch` of AXLearn, Astera or SkyPilot. */
export function launchAnswer(
  args: readonly string[],
  command: readonly string[] | undefined,
  submits: readonly Option[],
): Answer {
  const [file] = plain(args);
  if (file !== undefined && /\.ya?ml$/.test(file)) return { whose: SKYPILOTS, lines: [line('submit', file)] };
  const action = launchAction(args);
  const whose = action === 'logs' ? ASTERAS : AXLEARNS;
  const named = valueOf(args, '--name') ?? valueOf(args, '--job_name') ?? plain(args)[1] ?? 'JOB';
  switch (action) {
    case 'list':
      return { whose, runs: ['list'] };
    case 'stop':
      return { whose, lines: [line('cancel', named)] };
    case 'logs':
      return { whose, lines: [line('logs', named, '--follow', ...hostOf(valueOf(args, '--worker')))] };
    case 'update': {
      const { draft } = bastionLine(args, command ?? []);
      const run = asLiteral((draft.get('command.run') as string | undefined) ?? '');
      const set = run === '' ? [] : ['--set', `command.run=${JSON.stringify(run)}`];
      return {
        whose,
        lines: [line('restart', named, '--bundle', '.', ...set)],
        notes: ['it begins a new attempt on the slices that the job has'],
      };
    }
    default: {
      const { own, others } = ofSubmit(args, submits);
      const { draft, isDryRun } = bastionLine(others, command ?? []);
      const isDirty = draft.get('build') !== undefined && args.some((word) => /allow_dirty=true$/i.test(word));
      const more = [
        ...(isDryRun === true ? ['--dry-run'] : []),
        ...(isDirty ? ['--allow-dirty'] : []),
        ...(action === 'run' ? ['--local', ...(args.includes(NO_WAIT) ? [] : ['--wait'])] : []),
      ];
      return submitAnswer(draft, [...new Set([...more, ...own])], action === 'run');
    }
  }
}

/** A flag of `jobctl launch`. `submit` does not wait anyway, so it is dropped. */
const NO_WAIT = '--no-wait';

/** Separates the flags of `jobctl submit` in a line of Bastion from Bastion's own. A flag of both tools counts as Bastion's. */
function ofSubmit(
  args: readonly string[],
  submits: readonly Option[],
): { readonly own: readonly string[]; readonly others: readonly string[] } {
  const own: string[] = [];
  const others: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    const [flag = ''] = word.split('=');
    const option = isFlagOfBastion(flag) ? undefined : submits.find(({ long, short }) => [long, short].includes(flag));
    if (word === NO_WAIT) continue;
    if (typeof option?.long !== 'string') others.push(word);
    else if (option.isBoolean() || option.negate) own.push(word);
    else own.push(word === flag ? `${option.long}=${args[++at] ?? ''}` : word);
  }
  return { own, others };
}

const hostOf = (worker: string | undefined): readonly string[] => (worker === undefined ? [] : ['--host', worker]);

/** @param isShown the line is shown, but not run */
function submitAnswer(draft: Draft, more: readonly string[], isShown: boolean): Answer {
  const { command, name, ...rest } = draft.tree;
  const tree = { ...rest, command: command ?? { run: 'python3 train.py' } };
  // In Bastion the name identifies the job.
  const line = submitLine(tree, [...(name === undefined ? [] : ['--name', String(name)]), ...more]);
  const hasType = draft.get('tpu.accelerator') !== undefined || more.some((word) => word.startsWith('--tpu='));
  const notes = [
    ...(command === undefined ? ['the command goes behind --'] : []),
    ...(hasType ? [] : ['the line has no type of TPU: add --tpu, such as --tpu v4-32']),
    ...draft.told.filter(({ fate }) => fate !== 'kept').map(({ key, fate, text }) => `${fate}: ${key}: ${text}`),
  ];
  const isSame = command !== undefined && hasType && draft.told.every(({ fate, passes }) => fate !== 'lost' || passes);
  if (isShown || !isSame) return { whose: AXLEARNS, lines: [line], notes };
  const words = splitShellWords(line) ?? [];
  return { whose: AXLEARNS, runs: words.slice(words.indexOf('submit')), notes };
}

/** Answers a line about Bastion itself, or about its `history`. */
export function bastionAnswer(args: readonly string[]): Answer {
  const whose = AXLEARNS;
  const [action = '', project] = plain(args);
  const job = valueOf(args, '--job_name');
  switch (action) {
    case 'history':
      if (job !== undefined) return { whose, lines: [line('status', job, '--timeline'), line('logs', job, '--job')] };
      return { whose, lines: [line('quota', 'history', ...(project === undefined ? [] : ['--project', project]))] };
    case 'submit': {
      const spec = valueOf(args, '--spec') ?? 'SPEC';
      return { whose, lines: [line('import', 'bastion-jobspec', spec, '-o', 'job.yaml'), line('submit', 'job.yaml')] };
    }
    case 'cancel':
      return { whose, lines: [line('cancel', job ?? project ?? 'JOB')] };
    case 'create':
    case 'start':
      return {
        whose,
        lines: [line('setup', 'server'), line('worker', '--config', 'worker.json')],
        notes: ['docs/deployment.md takes it from an empty computer to a first job'],
      };
    case 'stop':
    case 'delete':
      return { whose, notes: ['a worker ends at SIGTERM, and its jobs go on with another one; docs/operations.md'] };
    case 'set':
      return {
        whose,
        lines: [line('quota', 'freeze')],
        notes: ['freeze is the dry run of the scheduler: running jobs go on and nothing is granted'],
      };
    default:
      return { whose, lines: [line('list')] };
  }
}
