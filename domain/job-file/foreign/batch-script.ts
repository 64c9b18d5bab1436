import { ACCELERATOR_TYPES } from '../../accelerators.js';
import { jobNameFrom } from '../../identity.js';
import { shellQuote } from '../../shell-quote.js';
import { count } from '../../units.js';
import { type Directives, directivesOf, type Scheduler, SCHEDULERS } from './schedulers.js';
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
    what: scheduler.what,
    instead: [...submitLines(asked, file), ...lostLines(asked, scheduler), ...bodyLines(script, scheduler)],
  };
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

/** A slice with that many hosts, or that many slices of one host. */
function typeOf(nodes: number): { readonly type: string; readonly slices: number } {
  const found =
    nodes === 1
      ? undefined
      : ACCELERATOR_TYPES.find(({ generation, hosts }) => generation === 'v5litepod' && hosts === nodes);
  return found === undefined ? { type: USUAL, slices: nodes } : { type: found.type, slices: 1 };
}

/** Reads `90` (minutes), `90:00`, `1:30:00`, `2-12` (days and hours), `2-12:30` and `2-12:30:00`. */
function secondsOf(time: string | undefined): number | undefined {
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

/** Reasons why options are not carried over. No reason: they are in the line, or jobctl does the same anyway. */
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
/** Variables of jobctl, without JOBCTL_, by the end of the scheduler's names for the same values. */
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
