import type { Option } from 'commander';
import { shellWords, splitShellWords } from '../../../domain/shell-quote.js';
import { asLiteral } from '../../../domain/job-file/interpolation.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { DEFAULT_TPU } from '../init/written-job.js';
import { typedCommand } from '../../terminal/print.js';
import { type Draft, submitLine } from './draft.js';
import { bastionLine, isFlagOfBastion, launchAction } from './import-launch.js';

/** The answer to a command line of another tool. */
export interface Answer {
  /** Owner of the line, as a sentence begins: `JobMan's`. */
  readonly whose: string;
  /** The words of jobctl that do exactly the same: they run. */
  readonly runs?: readonly string[];
  /** Else the command lines that do the same, ready to paste. */
  readonly lines?: readonly string[];
  /** Differences and losses. */
  readonly notes?: readonly string[];
}

/**
 * @param own the words before `--`, as `isForeign` accepts them
 * @param command the words behind `--`
 * @param submits the flags of `jobctl submit`, which may stand in a line of Bastion's
 * @returns undefined if it is no line of another tool after all
 */
export function answerTo(
  own: readonly string[],
  command: readonly string[] | undefined,
  submits: readonly Option[],
): Answer | undefined {
  const [first = '', ...rest] = own;
  if (['jobman', 'axlearn', 'gcp', 'sky'].includes(first))
    return rest.length === 0 ? undefined : behindName(first, rest, command, submits);
  if (first === 'launch') return launchAnswer(rest, command, submits);
  if (first === 'submit') return { whose: ASTERAS, runs: ['launch', ...rest, ...behind(command)] };
  if (first === 'bastion') return bastionAnswer(rest);
  if (first === 'history') return bastionAnswer(['history', ...rest]);
  return JOBMAN[first]?.(rest, command) ?? OTHERS[first]?.(rest, command);
}

/** The refusal that shows the answer's lines. */
export function refusalOf(own: readonly string[], { whose, lines = [], notes = [] }: Answer): CliError {
  const what = `jobctl ${own.slice(0, own[1]?.startsWith('-') === false && GROUPS.has(own[0] ?? '') ? 2 : 1).join(' ')}`;
  const head =
    lines.length === 0
      ? `${what}: this is ${whose} command line, and jobctl has none that does the same`
      : `${what}: this is ${whose} command line; with jobctl it is`;
  return new CliError(ExitCode.Usage, head, ...lines, ...notes);
}

const GROUPS: ReadonlySet<string> = new Set(['jobman', 'axlearn', 'gcp', 'launch', 'bastion', 'queue', 'sky']);

const JOBMANS = "JobMan's";
const AXLEARNS = "AXLearn's";
const ASTERAS = "Astera launch's";
const SKYPILOTS = "SkyPilot's";
const SLURMS = "Slurm's";
const ANOTHERS = "another tool's";

type Reader = (args: readonly string[], command: readonly string[] | undefined) => Answer | undefined;

/** `jobman create X`, `axlearn gcp launch ..`: what stands behind the tool's name. */
function behindName(
  name: string,
  rest: readonly string[],
  command: readonly string[] | undefined,
  submits: readonly Option[],
): Answer {
  const [first = '', ...args] = rest;
  const own = OF_TOOL[name]?.[first]?.(args, command) ?? answerTo(rest, command, submits);
  if (own !== undefined) return own;
  const whose = name === 'jobman' ? JOBMANS : name === 'sky' ? SKYPILOTS : AXLEARNS;
  if (first === 'list') return { whose, lines: [line('list')] };
  if (first === 'exec') return { whose, lines: [line('exec', firstOf(args), '--', ...(command ?? ['nvidia-smi']))] };
  // No guess is better than a wrong one.
  return SAME_WORDS.has(first) ? { whose, lines: [line(first, firstOf(args))] } : { whose };
}

/** Verbs of jobctl that take a job, as words of the same name do in JobMan, Bastion and SkyPilot. */
const SAME_WORDS: ReadonlySet<string> = new Set(['status', 'stop', 'resume', 'cancel', 'delete', 'ssh', 'logs']);

const behind = (command: readonly string[] | undefined): readonly string[] =>
  command === undefined ? [] : ['--', ...command];
const line = (...words: readonly string[]): string => `${typedCommand()} ${shellWords(words)}`;
const plain = (args: readonly string[]): readonly string[] => args.filter((word) => !word.startsWith('-'));
const jobsOf = (args: readonly string[]): readonly string[] => (plain(args).length === 0 ? ['JOB'] : plain(args));
const firstOf = (args: readonly string[]): string => plain(args)[0] ?? 'JOB';

/** The value of `--name VALUE` or `--name=VALUE`. */
function valueOf(args: readonly string[], name: string): string | undefined {
  const at = args.findIndex((word) => word === name || word.startsWith(`${name}=`));
  const word = args[at];
  if (word === undefined) return undefined;
  return word === name ? args[at + 1] : word.slice(name.length + 1);
}

// JobMan -------------------------------------------------------------------------------------------------------------

const module_ =
  (module: string): Reader =>
  (args) => ({ whose: JOBMANS, lines: [line('setup', firstOf(args), '--module', module)] });

const JOBMAN: Readonly<Record<string, Reader>> = {
  create: (args) => {
    const config = valueOf(args, '--config');
    const rest =
      config === undefined
        ? args
        : args.filter((word) => word !== '--config' && word !== `--config=${config}` && word !== config);
    return { whose: JOBMANS, runs: ['submit', ...(config === undefined ? [] : [config]), ...rest] };
  },
  start: (args) => ({ whose: JOBMANS, runs: ['resume', ...args] }),
  reboot: (args) => ({ whose: JOBMANS, runs: ['restart', ...args] }),
  run: readRun,
  clean: readClean,
  gcsfuse: module_('gcsfuse'),
  docker: module_('docker'),
  conda: module_('conda'),
  venv: module_('venv'),
  tpu: (args) => ({
    whose: JOBMANS,
    lines: [line('requeue', firstOf(args))],
    notes: ['a job asks for its slice by itself; requeue gives it back and asks again'],
  }),
  ssh: (args) => ({
    whose: JOBMANS,
    lines: [line('ssh', firstOf(args), '--host', valueOf(args, '--i') ?? '0')],
  }),
  queue: ([action = '', job = 'JOB']) => ({
    whose: JOBMANS,
    lines: [['requeue', 'reset'].includes(action) ? line('requeue', job) : line('list')],
    notes: ['jobctl has no list of tasks: each task is a job, and its pool queues them by quota'],
  }),
  billing: () => ({
    whose: JOBMANS,
    lines: [line('quota', 'history', '--since', '30d')],
    notes: ["it shows chip-hours; money is in Google's billing export, where each slice has the label jobctl-job"],
  }),
  analytics: () => ({ whose: JOBMANS, lines: [line('quota', 'history', '--since', '30d')] }),
  storage: () => ({
    whose: JOBMANS,
    notes: ["Google's own: gcloud storage du --summarize --readable-sizes gs://BUCKET"],
  }),
  availability: () => ({
    whose: JOBMANS,
    lines: [line('doctor', '--gcp')],
    notes: ['it looks at quota and types by zone; a job that names several in tpu.zones asks them in turn'],
  }),
};

function readRun(args: readonly string[], command: readonly string[] | undefined): Answer {
  const [job, ...more] = plain(args);
  if (job !== undefined && /\.ya?ml$/.test(job))
    return { whose: ANOTHERS, lines: [line('submit', job, ...behind(command))] };
  // `run python3 train.py`: no job is meant.
  const program = command ?? (more.length > 0 || job?.includes('.') === true ? args : undefined);
  if (program !== undefined || job === undefined)
    return {
      whose: ANOTHERS,
      lines: [line('submit', '--tpu', DEFAULT_TPU, ...behind(program ?? ['python3', 'train.py']))],
      notes: ['--tpu says which TPU slice'],
    };
  if (args.includes('--force-prefix'))
    return { whose: JOBMANS, lines: [line('setup', job, '--module', 'gcsfuse', '--force'), line('restart', job)] };
  if (args.includes('--force')) return { whose: JOBMANS, lines: [line('setup', job, '--force'), line('restart', job)] };
  return {
    whose: JOBMANS,
    lines: [line('restart', job)],
    notes: ['modules whose content is unchanged are not set up again'],
  };
}

function readClean(args: readonly string[]): Answer {
  const job = firstOf(args);
  if (!args.includes('--all'))
    return {
      whose: JOBMANS,
      lines: [line('delete', job), line('delete', job, '--purge')],
      notes: ['the first ends the job and deletes its slices, the second removes its record and logs'],
    };
  return {
    whose: JOBMANS,
    lines: [line('delete', '--mine')],
    notes: [
      'it shows your open jobs and asks before it ends them; `delete JOB --purge` removes the record of one that has ended',
    ],
  };
}

// AXLearn, Astera ----------------------------------------------------------------------------------------------------

function launchAnswer(
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

/** A flag of `jobctl launch`. It is what `submit` does anyway. */
const NO_WAIT = '--no-wait';

/** Flags of jobctl's `submit` that stand in a line of Bastion. Those that Bastion has too mean what they mean there. */
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

/** @param isShown the line is shown and not run */
function submitAnswer(draft: Draft, more: readonly string[], isShown: boolean): Answer {
  const { command, name, ...rest } = draft.tree;
  const tree = { ...rest, command: command ?? { run: 'python3 train.py' } };
  // Bastion's name is the job.
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

function bastionAnswer(args: readonly string[]): Answer {
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

// Tools that are not replaced, whose words people type anyway ----------------------------------------------------------

const as =
  (whose: string, ...verb: readonly string[]): Reader =>
  (args) => ({ whose, lines: [line(...verb, ...jobsOf(args))] });
/** For a verb that takes one job. */
const asOne =
  (whose: string, verb: string): Reader =>
  (args) => ({ whose, lines: [line(verb, firstOf(args))] });

/** A job that has ended is final: the same file is another job. */
function again(args: readonly string[]): Answer {
  return {
    whose: ANOTHERS,
    lines: [line('restart', firstOf(args)), line('submit', 'job.yaml')],
    notes: ['the first is for a job that is open, the second for one that has ended: its file is a new job then'],
  };
}

const OTHERS: Readonly<Record<string, Reader>> = {
  logs: (args) => {
    const [job = 'JOB'] = plain(args.filter((_, at) => !['--replica', '--worker'].includes(args[at - 1] ?? '')));
    const [replica, worker] = [valueOf(args, '--replica') ?? '0', valueOf(args, '--worker') ?? '0'];
    if (replica === '0') return { whose: AXLEARNS, lines: [line('logs', job, '--host', worker)] };
    const notes = [
      `hosts are numbered over all slices: worker ${worker} of replica ${replica} is ${replica} x (hosts of a slice) + ${worker}; without --host the lines of all come as HOST | line`,
    ];
    return { whose: AXLEARNS, lines: [line('logs', job)], notes };
  },
  sshvm: asOne(AXLEARNS, 'ssh'),
  bundle: () => ({
    whose: AXLEARNS,
    lines: [line('build', 'job.yaml')],
    notes: [
      'it builds and pushes the image of section `build` (docs/build.md), as submit does; `bundle` in a job file brings a folder to every host',
    ],
  }),
  sbatch: (args) => {
    const script = plain(args)[0] ?? 'train.sh';
    return {
      whose: SLURMS,
      lines: [line('submit', '--tpu', DEFAULT_TPU, '--', script.endsWith('.py') ? 'python3' : 'bash', script)],
      notes: ['--tpu says which TPU slice; `validate` with the script for its file reads the lines #SBATCH'],
    };
  },
  sacct: () => ({ whose: SLURMS, lines: [line('list', '--all', '--since', '7d')] }),
  srun: (args, command) => readRun([], command ?? (args.length === 0 ? undefined : args)),
  squeue: () => ({ whose: SLURMS, runs: ['list'] }),
  scancel: as(SLURMS, 'cancel'),
  sinfo: () => ({ whose: SLURMS, lines: [line('quota', 'show')] }),
  apply: (args) => ({
    whose: "kubectl's",
    lines: [line('submit', valueOf(args, '-f') ?? plain(args)[0] ?? 'job.yaml')],
  }),
  up: () => ({ whose: ANOTHERS, lines: [line('dev', 'up')], notes: ['it starts the local stack'] }),
  down: (args) =>
    plain(args).length === 0
      ? {
          whose: ANOTHERS,
          lines: [line('dev', 'down')],
          notes: ['it ends the local stack; `delete JOB` ends a job'],
        }
      : as(SKYPILOTS, 'delete')(args, undefined),
  cost: () => ({
    whose: ANOTHERS,
    lines: [line('quota', 'history', '--since', '30d')],
    notes: ["it shows chip-hours; money is in Google's billing export, where each slice has the label jobctl-job"],
  }),
  info: asOne(ANOTHERS, 'status'),
  rm: as(ANOTHERS, 'delete'),
  kill: as(ANOTHERS, 'cancel'),
  attach: (args) => ({ whose: ANOTHERS, lines: [line('logs', firstOf(args), '--follow')] }),
  shell: asOne(ANOTHERS, 'ssh'),
  rerun: again,
  resubmit: again,
  events: (args) => ({ whose: ANOTHERS, lines: [line('logs', firstOf(args), '--job')] }),
};

/** Words that mean something else behind the name of their tool than alone. */
const OF_TOOL: Readonly<Record<string, Readonly<Record<string, Reader>>>> = {
  jobman: {
    quota: () => ({
      whose: JOBMANS,
      lines: [line('doctor', '--gcp')],
      notes: ["it looks at Google's quota, zone by zone; `quota show` is what the pool divides"],
    }),
  },
  sky: {
    queue: () => ({ whose: SKYPILOTS, lines: [line('list')] }),
    check: () => ({ whose: SKYPILOTS, lines: [line('doctor', '--gcp')] }),
    down: as(SKYPILOTS, 'delete'),
  },
  gcp: {
    auth: () => ({
      whose: AXLEARNS,
      notes: ["Google's own: gcloud auth application-default login; of a server of jobctl: the verb login"],
    }),
    config: ([action = '']) => ({
      whose: AXLEARNS,
      lines: action === 'activate' ? [line('context', 'use', 'NAME')] : [line('context', 'ls')],
      notes: [
        'a context is where jobs go; zone, Google project and service account are in the pool file (docs/pool-file.md)',
      ],
    }),
    tpu: () => ({
      whose: AXLEARNS,
      lines: [line('list')],
      notes: ['slices are made and deleted for jobs; `status JOB` shows those of one'],
    }),
    vm: ([action = '']) => bastionAnswer(['create', 'start', 'stop', 'delete'].includes(action) ? [action] : []),
    dataflow: () => ({ whose: AXLEARNS, notes: ['jobs of Dataflow are not for jobctl'] }),
  },
};
