import { ACCELERATOR_TYPES } from '../../accelerators.js';
import { jobNameFrom } from '../../identity.js';
import { shellWords, splitShellWords } from '../../shell-quote.js';
import { count, inLargestUnit } from '../../units.js';
import { baseName } from '../../local-files.js';
import { type Directive, directivesOf, type Scheduler, SCHEDULERS } from './schedulers.js';
import { countOf } from './translation.js';

/**
 * Describes a script for a scheduler, with the line that its user types instead. Undefined for any other text.
 * @param file its name
 * @param isShell true: a script that only reads the scheduler's variables counts as well
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
    what: `a batch script of ${scheduler.tool}`,
    instead: [
      ...submitLines(asked, { script, file, tool: scheduler.tool }),
      ...lostLines(asked, scheduler),
      ...bodyLines(script, scheduler),
    ],
  };
}

const USUAL = 'v5litepod-8';

interface Script {
  readonly script: string;
  readonly file: string;
  readonly tool: string;
}

function submitLines(asked: readonly Directive[], { script, file, tool }: Script): readonly string[] {
  const nodes = nodesOf(asked) ?? 1;
  const { type, slices } = typeOf(nodes);
  const [name, seconds] = [lastOf(asked, 'job-name')?.split('[')[0], limitOf(asked, tool)];
  const program = interpreterOf(script) ?? ['bash'];
  const words = [
    ...['--tpu', type],
    ...(slices > 1 ? ['--slices', String(slices)] : []),
    ...(name === undefined || /[$%]/.test(name) ? [] : ['--name', jobNameFrom(name)]),
    ...(seconds === undefined || seconds === 0 ? [] : ['--set', `timeouts.run=${durationOf(seconds)}`]),
  ];
  const isGpu = asked.some(({ shown }) => /gpu/.test(shown));
  return [
    `on a TPU: jobctl submit ${words.join(' ')} --bundle . -- ${shellWords([...program, file])}`,
    `--tpu is yours to choose: ${slices > 1 ? `${count(slices, 'slice')} of ${type} have` : `${type} has`} ${count(nodes, 'host')}, and the script runs on each`,
    ...lackOf(program),
    ...(isGpu ? ['on GPUs: a job file with kubernetes, compute_engine or machines in place of tpu'] : []),
  ];
}

/** The value of an option. If the option is given twice, the last value counts. */
const lastOf = (asked: readonly Directive[], name: string): string | undefined =>
  asked.findLast((each) => each.name === name)?.value;

/** Number of machines in `-N 2`, `--nodes=2-4`, and in PBS `-l nodes=2:ppn=8` and `-l select=2:ngpus=4`. */
function nodesOf(asked: readonly Directive[]): number | undefined {
  const first = /^\d+/.exec(lastOf(asked, 'nodes') ?? '')?.[0];
  const chunks = resourcesOf(asked).flatMap((value) => CHUNKS.exec(value)?.[1] ?? []);
  return countOf(first ?? chunks.at(-1));
}

/** The seconds that a job may run. PBS and Grid Engine have the limit among the resources. */
function limitOf(asked: readonly Directive[], tool: string): number | undefined {
  const found = resourcesOf(asked)
    .flatMap((value) => LIMIT.exec(value)?.[1] ?? [])
    .at(-1);
  if (found === undefined) return secondsOf(lastOf(asked, 'time'), tool);
  return /^\d+$/.test(found) ? Number(found) : secondsOf(found, tool);
}

const resourcesOf = (asked: readonly Directive[]): readonly string[] =>
  asked.filter(({ name }) => name === 'l').flatMap(({ value }) => value.split(','));
const CHUNKS = /^(?:nodes|select)=(\d+)(?::[^+]*)?$/;
const LIMIT = /^(?:walltime|h_rt)=([\d:]+)$/;

/** A slice with that many hosts, or that many slices of one host. */
function typeOf(nodes: number): { readonly type: string; readonly slices: number } {
  const found =
    nodes === 1
      ? undefined
      : ACCELERATOR_TYPES.find(({ generation, hosts }) => generation === 'v5litepod' && hosts === nodes);
  return found === undefined ? { type: USUAL, slices: nodes } : { type: found.type, slices: 1 };
}

const PROGRAMS: Readonly<Record<string, string>> = {
  srun: 'leave it out: the script runs on every host',
  mpirun: 'leave it out: the script runs on every host',
  module: 'hosts have no modules: venv, conda or docker in a job file',
  'source activate': 'hosts have no conda: conda: {name: .., config_file: ..} in a job file makes it',
  conda: 'hosts have no conda: conda: {name: .., config_file: ..} in a job file makes it',
  singularity: 'docker: {image: ..} in a job file runs the command in an image',
  apptainer: 'docker: {image: ..} in a job file runs the command in an image',
  sbatch: 'hosts have no Slurm: `jobctl wait JOB && jobctl submit ..` on your computer',
  scontrol: 'JOBCTL_HOST_IPS has the hosts',
};
/** Ends of the scheduler's variable names -> jobctl's variables with the same values, without JOBCTL_. */
const OWN: Readonly<Record<string, string>> = {
  NNODES: 'NUM_HOSTS',
  JOB_NUM_NODES: 'NUM_HOSTS',
  NODEID: 'HOST_INDEX',
  PROCID: 'HOST_INDEX',
  NTASKS: 'NUM_TASKS',
  JOB_ID: 'JOB_ID',
  JOBID: 'JOB_ID',
  NODELIST: 'HOST_IPS',
  JOB_NODELIST: 'HOST_IPS',
  O_WORKDIR: 'BUNDLE_DIR',
};

/** Lines about programs and variables that the script uses and a host does not have. */
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

/**
 * Reads a time limit in seconds. Slurm: `90` (minutes), `90:00`, `1:30:00`, `2-12` (days and hours), `2-12:30`. LSF: `90` and
 * `1:30` (hours and minutes). 0: there is no limit. Undefined: the text is not a time.
 */
function secondsOf(time: string | undefined, tool: string): number | undefined {
  if (time === undefined) return undefined;
  if (/^(infinite|unlimited)$/i.test(time)) return 0;
  if (tool === 'LSF') return ofLsf(time);
  if (!/^(\d+-)?\d+(:\d+){0,3}$/.test(time)) return undefined;
  const [days, clock = ''] = time.includes('-') ? time.split('-') : [undefined, time];
  const parts = clock.split(':').map(Number);
  const [first = 0, second = 0, third = 0, fourth = 0] = parts;
  if (days !== undefined) return ((Number(days) * 24 + first) * 60 + second) * 60 + third;
  if (parts.length === 4) return ((first * 24 + second) * 60 + third) * 60 + fourth;
  return parts.length === 3 ? (first * 60 + second) * 60 + third : first * 60 + second;
}

function ofLsf(time: string): number | undefined {
  const [, hours = '0', minutes = ''] = /^(?:(\d+):)?(\d+)(?:\/\S+)?$/.exec(time) ?? [];
  return minutes === '' ? undefined : (Number(hours) * 60 + Number(minutes)) * 60;
}

function durationOf(seconds: number): string {
  const { count, unit } = inLargestUnit(seconds);
  return `${count}${unit}`;
}

const OF_MACHINE = 'a host has what its type has';
const OF_USERS = 'the quota of its pool says who may use what: pool, project and user in a job file';
const ONCE = 'the script runs once on each host';

/** Why options are not carried over, by their common names. Undefined: jobctl does the same, or the line has the option. */
const REASONS: readonly (readonly [names: string, why: string | undefined])[] = [
  [
    'job-name nodes requeue exclusive quiet verbose parsable test-only ignore-pbs hold_jid_ad z terse cwd clear',
    undefined,
  ],
  ['notify verify K I Is XF', undefined],
  ['output error open-mode', '`jobctl logs JOB` has what the command prints'],
  ['mail-type mail-user', 'notify: {on: [started, failed, ended], to: {mail: [ADDRESS]}} in a job file'],
  ['dependency kill-on-invalid-dep', '`jobctl wait JOB` in front of the next submit'],
  ['chdir', 'the command starts in the bundle'],
  ['input', 'a command has no input: read a file of the bundle'],
  [
    'export export-file get-user-env propagate',
    'hosts have none of your variables: --set env.NAME=VALUE for each that the script reads',
  ],
  ['signal', 'a command that is to end gets SIGTERM first, and --set grace=2m is the time until SIGKILL'],
  ['begin deadline time-min', 'a job starts as soon as its pool has room'],
  ['nice priority', 'priority: 1 (high) to 5 in a job file'],
  ['hold', 'a job is submitted when it shall run'],
  ['wait', '`jobctl submit --wait`'],
  ['comment wckey admin-comment profile acctg-freq', 'a job has no notes beside its name'],
  ['no-requeue', 'a preempted job starts again: --set retries.preemption=0 ends it'],
  ['hetjob packjob', 'the hosts of a job are equal: what is asked for behind this line is another job'],
  ['no-kill', 'all hosts of a job run, or none'],
  ['ntasks ntasks-per-node ntasks-per-gpu ntasks-per-core ntasks-per-socket overcommit distribution n pe', ONCE],
  ['partition account qos reservation licenses clusters app wrap', OF_USERS],
  [
    'cpus-per-task cpus-per-gpu mem mem-per-cpu mem-per-gpu gres gpus gpus-per-node gpus-per-task gpus-per-socket gpu',
    OF_MACHINE,
  ],
  [
    'gpu-bind gpu-freq constraint prefer nodelist exclude tmp sockets-per-node cores-per-socket threads-per-core',
    OF_MACHINE,
  ],
  [
    'hint core-spec thread-spec contiguous oversubscribe share spread-job use-min-nodes switches extra-node-info',
    OF_MACHINE,
  ],
  [
    'mincpus mem-bind cpu-freq tres-per-task tres-bind network power reboot bb bbf l R M x binding soft hard masterq',
    OF_MACHINE,
  ],
  ['container container-id', 'docker: {image: ..} in a job file runs the command in an image'],
  ['shell', 'the first line of the script names its shell'],
  ['checkpoint', '--set outputs.restore=true with outputs.paths brings files back after a preemption'],
];
const BY_NAME = new Map(REASONS.flatMap(([names, why]) => names.split(' ').map((name) => [name, why] as const)));

/** Lines about the options of a script that the line of `jobctl submit` does not carry over. */
function lostLines(asked: readonly Directive[], { tool, index }: Scheduler): readonly string[] {
  const byReason = new Map<string, string[]>();
  for (const directive of asked.flatMap(withoutLimit)) {
    const why = reasonOf(directive, { tool, index });
    if (why !== undefined) byReason.set(why, [...(byReason.get(why) ?? []), directive.shown]);
  }
  const lines = [...byReason].map(([why, all]) => `  ${all.join(', ')}: ${why}`);
  return lines.length === 0 ? [] : ['not carried over:', ...lines];
}

function reasonOf({ name, value }: Directive, { tool, index }: Pick<Scheduler, 'tool' | 'index'>): string | undefined {
  if (name === 'array' || (name === 'job-name' && value.includes('[')))
    return `a job for each: ${sweepOf(value, index)}`;
  if (name === 'time')
    return secondsOf(value, tool) === undefined ? 'no time that can be read: --set timeouts.run=2h' : undefined;
  if (name === 'nodes') return /^\d+$/.test(value) ? undefined : 'a job has as many hosts as its line says';
  return BY_NAME.has(name) ? BY_NAME.get(name) : `jobctl knows no such option of ${tool}`;
}

const TASKS = /(?:^|\[)(?<from>\d{1,9})-(?<to>\d{1,9})(?<step>:\d{1,9})?\]?(?:%(?<most>\d{1,9}))?$/;

/** The flags of `submit` that make a job for each task of an array: `0-15%4`, or a list. */
function sweepOf(value: string, variable: string): string {
  const { from, to, step, most } = TASKS.exec(value)?.groups ?? {};
  if (from !== undefined && to !== undefined && step === undefined) {
    const few = most === undefined ? '' : ` --set array.max_parallel=${most}`;
    return `--sweep env.${variable}=${Number(from)}..${Number(to)}${few}`;
  }
  return `--sweep env.${variable}=${/^\d+(?:,\d+)+$/.test(value) ? value : '0,1,2'}`;
}

/** Removes the time limit from the resources of PBS and Grid Engine, because the line carries it over. */
function withoutLimit(directive: Directive): readonly Directive[] {
  if (directive.name !== 'l') return [directive];
  const parts = directive.value.split(',');
  const others = parts.filter((one) => !/^(walltime|h_rt)=/.test(one));
  if (others.length === parts.length) return [directive];
  return others.length === 0 ? [] : [{ ...directive, shown: `-l ${others.join(',')}` }];
}

const SHELLS = ['bash', 'sh', 'dash', 'zsh', 'ksh', 'csh', 'tcsh', 'fish'];

/** The program and options in the first line (`#!`) of a script, or undefined if it has no such line. */
export function interpreterOf(script: string): readonly string[] | undefined {
  const line = /^#!([^\n]*)/.exec(script)?.[1];
  const [first = '', ...rest] = splitShellWords(line ?? '') ?? [];
  const words =
    baseName(first) === 'env' ? rest.filter((word) => word !== '-S' && !word.includes('=')) : [first, ...rest];
  const [program = '', ...options] = words;
  return program === '' ? undefined : [baseName(program), ...options];
}

/** A line about an interpreter that a host may lack. No line for an interpreter that every host has. */
export function lackOf([program = '']: readonly string[]): readonly string[] {
  const isThere = ['bash', 'sh', 'dash', 'perl'].includes(program) || isPython([program]);
  return isThere
    ? []
    : [`the hosts need \`${program}\`: an image has it, or script: {run: ..} of a job file installs it`];
}

export const isShell = ([program = '']: readonly string[] = []): boolean => SHELLS.includes(program);
export const isPython = ([program = '']: readonly string[] = []): boolean => /^python[\d.]*$/.test(program);
