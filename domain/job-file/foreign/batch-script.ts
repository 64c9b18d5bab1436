import { ACCELERATOR_TYPES } from '../../accelerators.js';
import { jobNameFrom } from '../../identity.js';
import { shellWords } from '../../shell-quote.js';
import { count } from '../../units.js';
import { durationOf, secondsOf } from './batch-time.js';
import { interpreterOf, lackOf } from './interpreter.js';
import { lostLines } from './lost-options.js';
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

/** An option that is given twice has its last value. */
const lastOf = (asked: readonly Directive[], name: string): string | undefined =>
  asked.findLast((each) => each.name === name)?.value;

/** The machines of `-N 2`, `--nodes=2-4`, and of PBS `-l nodes=2:ppn=8` and `-l select=2:ngpus=4`. */
function nodesOf(asked: readonly Directive[]): number | undefined {
  const first = /^\d+/.exec(lastOf(asked, 'nodes') ?? '')?.[0];
  const chunks = resourcesOf(asked).flatMap((value) => CHUNKS.exec(value)?.[1] ?? []);
  return countOf(first ?? chunks.at(-1));
}

/** The seconds that a job may run; PBS and Grid Engine have them among the resources. */
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
