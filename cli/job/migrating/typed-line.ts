import type { Option } from 'commander';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { DEFAULT_TPU } from '../init/written-job.js';
import {
  ANOTHERS,
  type Answer,
  ASTERAS,
  AXLEARNS,
  behind,
  firstOf,
  JOBMANS,
  jobsOf,
  line,
  plain,
  SKYPILOTS,
  SLURMS,
  valueOf,
  bastionAnswer,
  launchAnswer,
} from './launch-answer.js';

/**
 * Answers a command line that may be another tool's.
 * @param own the words before `--`, as `isForeign` accepts them
 * @param command the words after `--`
 * @param submits the flags of `jobctl submit`, which a line of Bastion may have too
 * @returns undefined if it is not a line of another tool after all
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

/** The error that shows jobctl's lines for another tool's line. */
export function refusalOf(own: readonly string[], { whose, lines = [], notes = [] }: Answer): CliError {
  const what = `jobctl ${own.slice(0, own[1]?.startsWith('-') === false && GROUPS.has(own[0] ?? '') ? 2 : 1).join(' ')}`;
  const head =
    lines.length === 0
      ? `${what}: this is ${whose} command line, and jobctl has none that does the same`
      : `${what}: this is ${whose} command line; with jobctl it is`;
  return new CliError(ExitCode.Usage, head, ...lines, ...notes);
}

const GROUPS: ReadonlySet<string> = new Set(['jobman', 'axlearn', 'gcp', 'launch', 'bastion', 'queue', 'sky']);

type Reader = (args: readonly string[], command: readonly string[] | undefined) => Answer | undefined;

/** Answers a line that begins with a tool's name: `jobman create X`, `axlearn gcp launch ..`. */
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
  // It is better not to guess than to guess wrongly.
  return SAME_WORDS.has(first) ? { whose, lines: [line(first, firstOf(args))] } : { whose };
}

/** Verbs of jobctl that take a job and mean the same in JobMan, Bastion and SkyPilot. */
const SAME_WORDS: ReadonlySet<string> = new Set(['status', 'stop', 'resume', 'cancel', 'delete', 'ssh', 'logs']);

// JobMan -------------------------------------------------------------------------------------------------------------

const module_ =
  (module: string): Reader =>
  (args) => ({ whose: JOBMANS, lines: [line('setup', firstOf(args), '--module', module)] });

const OF_PRICES =
  "it counts by the list of public prices, or by the operator's price file; the bill is in Google's billing export, where each slice has the label jobctl-job";

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
  billing: () => ({ whose: JOBMANS, lines: [line('report', 'cost', '--since', '30d')], notes: [OF_PRICES] }),
  analytics: () => ({ whose: JOBMANS, lines: [line('report', 'usage', '--since', '30d')] }),
  storage: () => ({
    whose: JOBMANS,
    lines: [line('report', 'storage')],
    notes: [
      "it counts what jobctl keeps for jobs; of any other bucket, Google's own: gcloud storage du --summarize --readable-sizes gs://BUCKET",
    ],
  }),
  availability: () => ({
    whose: JOBMANS,
    lines: [line('capacity'), line('report', 'availability', '--by', 'zone')],
    notes: [
      'where there were chips in the last hours, and over a month; a job that names several in tpu.zones asks them in turn',
    ],
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

// Tools that are not replaced, whose words people type anyway ----------------------------------------------------------

const as =
  (whose: string, ...verb: readonly string[]): Reader =>
  (args) => ({ whose, lines: [line(...verb, ...jobsOf(args))] });
/** For a verb that takes a single job. */
const asOne =
  (whose: string, verb: string): Reader =>
  (args) => ({ whose, lines: [line(verb, firstOf(args))] });

/** Answers a verb that runs a job again. A job that has ended is final, so its file becomes a new job. */
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
  sacct: () => ({
    whose: SLURMS,
    lines: [line('list', '--all', '--since', '7d')],
    notes: ['the chip-hours of a job: `goodput JOB`; sums by user or project, as of sreport: `report usage --by user`'],
  }),
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
  cost: () => ({ whose: ANOTHERS, lines: [line('report', 'cost', '--since', '30d')], notes: [OF_PRICES] }),
  info: asOne(ANOTHERS, 'status'),
  rm: as(ANOTHERS, 'delete'),
  kill: as(ANOTHERS, 'cancel'),
  attach: (args) => ({ whose: ANOTHERS, lines: [line('logs', firstOf(args), '--follow')] }),
  shell: asOne(ANOTHERS, 'ssh'),
  rerun: again,
  resubmit: again,
  events: (args) => ({ whose: ANOTHERS, lines: [line('logs', firstOf(args), '--job')] }),
};

/** SkyPilot's managed jobs: each job of jobctl is one, and its pool is the queue. */
const MANAGED_JOBS: Readonly<Record<string, Reader>> = {
  queue: () => ({
    whose: SKYPILOTS,
    lines: [line('list')],
    notes: ['it shows who runs and who waits, by place; the reason of one that waits: `why JOB`'],
  }),
  launch: (args) => ({ whose: SKYPILOTS, lines: [line('submit', plain(args)[0] ?? 'job.yaml')], notes: [OF_TASKS] }),
  logs: (args) => ({ whose: SKYPILOTS, lines: [line('logs', firstOf(args), '--follow')] }),
  cancel: as(SKYPILOTS, 'cancel'),
};
const OF_TASKS = 'a task of SkyPilot: `validate` with its file prints the lines of a job file';

/** Words that have another meaning after the name of their tool than alone. */
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
    'cost-report': () => ({ whose: SKYPILOTS, lines: [line('report', 'cost', '--since', '30d')], notes: [OF_PRICES] }),
    check: () => ({ whose: SKYPILOTS, lines: [line('doctor', '--gcp')] }),
    jobs: ([action = '', ...rest], command) => MANAGED_JOBS[action]?.(rest, command),
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
