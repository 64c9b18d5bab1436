import { secondsOf } from './batch-time.js';
import type { Directive, Scheduler } from './schedulers.js';

const OF_MACHINE = 'a host has what its type has';
const OF_USERS = 'the quota of its pool says who may use what: pool, project and user in a job file';
const ONCE = 'the script runs once on each host';

/** Reasons why options are not carried over, by their common names. None: jobctl does the same anyway, or the line has it. */
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

/** The lines of what a script asks for and the line of `jobctl submit` has not. */
export function lostLines(asked: readonly Directive[], { tool, index }: Scheduler): readonly string[] {
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
    return `a job for each: --set env.${index}=0, and so on`;
  if (name === 'time')
    return secondsOf(value, tool) === undefined ? 'no time that can be read: --set timeouts.run=2h' : undefined;
  if (name === 'nodes') return /^\d+$/.test(value) ? undefined : 'a job has as many hosts as its line says';
  return BY_NAME.has(name) ? BY_NAME.get(name) : `jobctl knows no such option of ${tool}`;
}

/** Takes the time out of the resources of PBS and Grid Engine: the line has it. */
function withoutLimit(directive: Directive): readonly Directive[] {
  if (directive.name !== 'l') return [directive];
  const parts = directive.value.split(',');
  const others = parts.filter((one) => !/^(walltime|h_rt)=/.test(one));
  if (others.length === parts.length) return [directive];
  return others.length === 0 ? [] : [{ ...directive, shown: `-l ${others.join(',')}` }];
}
