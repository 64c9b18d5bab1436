import { ACCELERATOR_TYPES } from '../../accelerators.js';
import { jobNameFrom } from '../../identity.js';
import { shellQuote } from '../../shell-quote.js';
import { count } from '../../units.js';
import { countOf } from './translation.js';

/** A script for a scheduler of batch jobs, with lines that say what it asks for. */
interface Scheduler {
  readonly what: string;
  /** How such a line begins. */
  readonly mark: RegExp;
  /** Short options under the name of the long ones. */
  readonly long: Readonly<Record<string, string>>;
  /** Its variables begin so. */
  readonly variables: string;
  /** The one that says which job of an array this is. */
  readonly index: string;
}

const SCHEDULERS: readonly Scheduler[] = [
  {
    what: 'a batch script of Slurm',
    mark: /^#SBATCH[ \t]+/,
    ...{ variables: 'SLURM_', index: 'SLURM_ARRAY_TASK_ID' },
    long: {
      ...{
        J: 'job-name',
        t: 'time',
        N: 'nodes',
        n: 'ntasks',
        c: 'cpus-per-task',
        p: 'partition',
        A: 'account',
        q: 'qos',
      },
      ...{ a: 'array', o: 'output', e: 'error', G: 'gpus', C: 'constraint', w: 'nodelist', x: 'exclude', D: 'chdir' },
      ...{ d: 'dependency' },
    },
  },
  {
    what: 'a batch script of PBS',
    mark: /^#PBS[ \t]+/,
    ...{ variables: 'PBS_', index: 'PBS_ARRAY_INDEX' },
    long: { N: 'job-name', o: 'output', e: 'error', J: 'array' },
  },
  {
    what: 'a batch script of Grid Engine',
    mark: /^#\$[ \t]+-/,
    ...{ variables: 'SGE_', index: 'SGE_TASK_ID' },
    long: { N: 'job-name', o: 'output', e: 'error', t: 'array' },
  },
  {
    what: 'a batch script of LSF',
    mark: /^#BSUB[ \t]+/,
    ...{ variables: 'LSB_', index: 'LSB_JOBINDEX' },
    long: { J: 'job-name', o: 'output', e: 'error' },
  },
];

/**
 * What a script for a scheduler is, and what its user types; undefined for any other text.
 * @param file its name
 * @param isShell also a script that only reads the scheduler's variables is one
 */
export function batchScript(
  script: string,
  file: string,
  isShell = false,
): { readonly what: string; readonly instead: readonly string[] } | undefined {
  const lines = script.split('\n');
  const reads = (variables: string): boolean =>
    isShell && script.split(/\W+/).some((word) => word.startsWith(variables));
  const scheduler = SCHEDULERS.find(({ mark, variables }) => lines.some((line) => mark.test(line)) || reads(variables));
  if (scheduler === undefined) return undefined;
  const asked = directivesOf(lines, scheduler);
  return {
    what: scheduler.what,
    instead: [...submitLines(asked, file), ...lostLines(asked, scheduler), ...bodyLines(script, scheduler)],
  };
}

type Directives = ReadonlyMap<string, string>;

/** The scheduler reads them up to the first command. */
function directivesOf(lines: readonly string[], { mark, long }: Scheduler): Directives {
  const head = lines.findIndex((line) => line.trim() !== '' && !line.startsWith('#'));
  const asked = new Map<string, string>();
  for (const line of head === -1 ? lines : lines.slice(0, head)) {
    if (!mark.test(line)) continue;
    const text = line
      .replace(mark, (found) => (found.endsWith('-') ? '-' : ''))
      .replace(/ #.*$/, '')
      .trim();
    const at = text.search(/[= \t]/);
    const [word, value] = at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1).trim()];
    const short = word.slice(1, 2);
    const [option, own] = word.startsWith('--')
      ? [word.slice(2), value]
      : [long[short] ?? short, word.slice(2) + value];
    const before = asked.get(option);
    asked.set(option, before === undefined ? own : `${before},${own}`);
  }
  return resourcesOf(asked);
}

/** PBS has its resources in `-l a=1,b=2` and `-l select=1:ngpus=1`. */
function resourcesOf(asked: Directives): Directives {
  const resources = asked.get('l') ?? '';
  const walltime = /\bwalltime=([\d:]+)/.exec(resources)?.[1];
  if (walltime === undefined) return asked;
  const others = resources.split(',').filter((one) => !one.startsWith('walltime='));
  return new Map([...asked, ['l', others.join(',')], ['time', walltime]]);
}

const USUAL = 'v5litepod-8';

function submitLines(asked: Directives, file: string): readonly string[] {
  const nodes = countOf(/^\d+/.exec(asked.get('nodes') ?? '')?.[0]) ?? 1;
  const { type, slices } = typeOf(nodes);
  const [name, seconds] = [asked.get('job-name'), secondsOf(asked.get('time'))];
  const words = [
    ...['--tpu', type],
    ...(slices > 1 ? ['--slices', String(slices)] : []),
    ...(name === undefined || /[$%]/.test(name) ? [] : ['--name', jobNameFrom(name)]),
    ...(seconds === undefined ? [] : ['--set', `timeouts.run=${durationOf(seconds)}`]),
  ];
  const isGpu = [...asked].some(([option, value]) => /gpu/.test(`${option} ${value}`));
  return [
    `on a TPU: jobctl submit ${words.join(' ')} --bundle . -- bash ${shellQuote(file)}`,
    `--tpu is yours to choose: ${slices > 1 ? `${count(slices, 'slice')} of ${type} have` : `${type} has`} ${count(nodes, 'host')}, and the script runs on each`,
    ...(isGpu ? ['on GPUs: a job file with kubernetes, compute_engine or machines in place of tpu'] : []),
  ];
}

/** A slice with so many hosts, or so many slices of one host. */
function typeOf(nodes: number): { readonly type: string; readonly slices: number } {
  const found =
    nodes === 1
      ? undefined
      : ACCELERATOR_TYPES.find(({ generation, hosts }) => generation === 'v5litepod' && hosts === nodes);
  return found === undefined ? { type: USUAL, slices: nodes } : { type: found.type, slices: 1 };
}

/** `90`, `90:00`, `1:30:00`, `2-12`, `2-12:30`, `2-12:30:00`: minutes, or days in front of hours. */
export function secondsOf(time: string | undefined): number | undefined {
  if (time === undefined || !/^(\d+-)?\d+(:\d+){0,3}$/.test(time)) return undefined;
  const [days, clock = ''] = time.includes('-') ? time.split('-') : [undefined, time];
  const parts = clock.split(':').map(Number);
  const [first = 0, second = 0, third = 0, fourth = 0] = parts;
  if (days !== undefined) return ((Number(days) * 24 + first) * 60 + second) * 60 + third;
  if (parts.length === 4) return ((first * 24 + second) * 60 + third) * 60 + fourth;
  return parts.length === 3 ? (first * 60 + second) * 60 + third : first * 60 + second;
}

function durationOf(seconds: number): string {
  if (seconds % 3600 === 0) return `${seconds / 3600}h`;
  return seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}

/** Options by what becomes of them; none: they are in the line, or jobctl does so anyway. */
const LOST: readonly (readonly [RegExp, string | undefined])[] = [
  [/^(job-name|time|nodes|requeue)$/, undefined],
  [/^(output|error|open-mode|j)$/, '`jobctl logs JOB` has what the command prints'],
  [/^(mail-.*|m|M)$/, 'jobctl sends no mail: `jobctl wait JOB` ends with the job'],
  [/^dependency$/, '`jobctl wait JOB` in front of the next submit'],
  [/^(chdir|wd|cwd|V)$/, 'the command starts in the bundle'],
  [/./, 'a host has what its type has, and quota says who may use it'],
];

function lostLines(asked: Directives, { index }: Scheduler): readonly string[] {
  const byReason = new Map<string, string[]>();
  for (const [option, value] of asked) {
    const why = option === 'array' ? `a job for each: --set env.${index}=0, and so on` : reasonOf(option);
    const shown = option.length === 1 ? `-${option} ${value}` : `--${option}${value === '' ? '' : `=${value}`}`;
    if (why !== undefined) byReason.set(why, [...(byReason.get(why) ?? []), shown.trim()]);
  }
  const lines = [...byReason].map(([why, all]) => `  ${all.join(', ')}: ${why}`);
  return lines.length === 0 ? [] : ['not carried over:', ...lines];
}

const reasonOf = (option: string): string | undefined => LOST.find(([form]) => form.test(option))?.[1];

const PROGRAMS: Readonly<Record<string, string>> = {
  srun: 'leave it out: the script runs on every host',
  mpirun: 'leave it out: the script runs on every host',
  module: 'hosts have no modules: venv, conda or docker in a job file',
  'source activate': 'hosts have no conda: conda: {name: .., config_file: ..} in a job file makes it',
  conda: 'hosts have no conda: conda: {name: .., config_file: ..} in a job file makes it',
  singularity: 'docker: {image: ..} in a job file runs the command in an image',
  apptainer: 'docker: {image: ..} in a job file runs the command in an image',
  scontrol: 'JOBCTL_HOST_IPS has the hosts',
};
const OWN: Readonly<Record<string, string>> = {
  ...{
    NNODES: 'NUM_HOSTS',
    JOB_NUM_NODES: 'NUM_HOSTS',
    NODEID: 'HOST_INDEX',
    PROCID: 'HOST_INDEX',
    NTASKS: 'NUM_TASKS',
  },
  ...{ JOB_ID: 'JOB_ID', JOBID: 'JOB_ID', NODELIST: 'HOST_IPS', JOB_NODELIST: 'HOST_IPS', O_WORKDIR: 'BUNDLE_DIR' },
};

/** What the script uses and a host does not have. */
function bodyLines(script: string, { variables }: Scheduler): readonly string[] {
  const code = script.split('\n').filter((line) => !line.startsWith('#'));
  const programs = Object.keys(PROGRAMS).filter((program) =>
    code.some((line) => new RegExp(String.raw`(^|[ \t;&|(])${program}[ \t]`).test(line)),
  );
  const words = new Set(
    code
      .join(' ')
      .split(/\W+/)
      .filter((word) => word.startsWith(variables)),
  );
  const named = [...words].map((word) => {
    const own = OWN[word.slice(variables.length)];
    return `${word}${own === undefined ? '' : ` (JOBCTL_${own})`}`;
  });
  return [
    ...programs.map((program) => `\`${program}\`: ${PROGRAMS[program] ?? ''}`),
    ...(named.length === 0 ? [] : [`jobctl does not set ${named.join(', ')}`]),
  ];
}
