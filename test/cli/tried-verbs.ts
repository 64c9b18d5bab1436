import type { Command } from 'commander';
import { createProgram } from '../../cli/program.js';

/** The id of the one job. */
export const JOB = `verbs-${process.pid}`;
/** The name of a schedule of another user. */
export const SCHEDULE = `at-${JOB}`;
export type Tried = readonly ['server' | 'nowhere', ...string[]];
/**
 * Arguments with which each verb gets as far as it can in test/long/every-verb.test.ts. `server`: a Temporal with one job and no
 * worker. `nowhere`: a Temporal that does not exist, for verbs that would wait for a worker. Text: the reason why it is not run.
 */
const TRIED: Readonly<Record<string, Tried | string>> = {
  init: ['nowhere', 'FOLDER', '--yes', '--force'],
  submit: ['nowhere', 'FOLDER/job.yaml'],
  workspace: ['nowhere', 'FOLDER/job.yaml'],
  'schedule create': ['nowhere', 'nightly', 'FOLDER/job.yaml', '--cron', '@daily'],
  'schedule ls': ['server'],
  'schedule status': ['server', 'nightly'],
  'schedule pause': ['nowhere', 'nightly'],
  'schedule resume': ['nowhere', 'nightly'],
  'schedule trigger': ['nowhere', 'nightly'],
  'schedule delete': ['nowhere', 'nightly'],
  build: ['nowhere', 'FOLDER/job.yaml'],
  launch: ['nowhere', '--instance-type', 'v5litepod-8', '--', 'true'],
  validate: ['nowhere', 'FOLDER/job.yaml'],
  list: ['server'],
  status: ['server', JOB],
  'report usage': ['server', '--ended'],
  'report cost': ['server', '--ended'],
  'report goodput': ['server', '--ended'],
  'report availability': ['server', '--ended'],
  'report storage': ['server'],
  'report cloud-quota': ['nowhere', '--google-project', 'p', '--google-api-endpoint', 'http://127.0.0.1:9'],
  why: ['server', JOB],
  logs: ['server', JOB],
  wait: ['server', JOB, '--timeout', '1s'],
  export: ['server', JOB],
  retry: ['nowhere', JOB, '--failed'],
  'import bastion-jobspec': ['nowhere', 'FOLDER/spec.json'],
  'import jobman': ['nowhere', 'FOLDER/job.yaml'],
  'import launch': ['nowhere', '--', '--instance_type=v4-8', '--', 'python3', 'x.py'],
  top: ['server'],
  exec: ['nowhere', JOB, '--', 'ls'],
  cp: ['nowhere', `${JOB}:x`, 'FOLDER'],
  sync: ['nowhere', 'FOLDER', `${JOB}:`],
  'port-forward': ['nowhere', JOB, '8080'],
  'context use': ['nowhere', 'nobody'],
  'context set': ['nowhere', 'No/Name'],
  'context rm': ['nowhere', 'nobody'],
  'secret put': ['nowhere', 'TOKEN'],
  'secret rm': ['nowhere', 'TOKEN'],
  ui: ['nowhere', '--no-open'],
  capacity: ['server'],
  'quota show': ['server'],
  'quota history': ['server'],
  'quota plan': ['server'],
  'quota validate': ['nowhere', 'FOLDER/job.yaml'],
  'quota fmt': ['nowhere', 'FOLDER/job.yaml'],
  'quota apply': ['nowhere', 'FOLDER/job.yaml'],
  'quota set-priority': ['nowhere', JOB, '2'],
  'quota release': ['nowhere', JOB, '--because', 'it is off'],
  'machines drain': ['nowhere', 'rack-3'],
  'machines undrain': ['nowhere', 'rack-3'],
  'machines forget': ['nowhere', 'rack-3'],
  'notify test': ['nowhere', '--channel', 'ops'],
  'machines release': ['nowhere', 'rack-3', '--claim', 'x'],
  'setup api-keys': ['nowhere', '--folder', 'FOLDER/api-keys'],
  'serve new-key': ['nowhere', '--file', 'FOLDER/serve-key.pem'],
  completion: ['nowhere', 'bash'],
  'dev up': 'starts a stack: test/dev interrupts it',
  'rehearsal preempt': ['nowhere', JOB],
  'rehearsal warn': ['nowhere', JOB],
  'rehearsal capacity': ['nowhere', 'us-central1-a/v5litepod', '4'],
  'rehearsal fail': ['nowhere', 'CreateNode'],
  'rehearsal script': ['nowhere', 'FOLDER/job.yaml'],
  rehearse: ['nowhere', 'FOLDER/none.yaml'],
};

/** Verbs that do something, by their words. */
function verbsOf(command: Command, words: readonly string[] = []): readonly (readonly [string, Command])[] {
  const own = [words.join(' '), command] as const;
  const below = command.commands.flatMap((each) => verbsOf(each, [...words, each.name()]));
  return command.commands.length === 0 || command.registeredArguments.length > 0 ? [own, ...below] : below;
}

export const VERBS = verbsOf(createProgram({ commandWords: undefined, exitCode: 0 }));

/** A verb without a row gets a job for each argument that names one. Undefined: it needs other arguments, and so a row. */
export function triedAs(verb: string, { registeredArguments }: Command): Tried | string | undefined {
  const jobs = registeredArguments.filter((argument) => argument.name() === 'job');
  const isUsual = registeredArguments.every((argument) => jobs.includes(argument) || !argument.required);
  return TRIED[verb] ?? (isUsual ? ['nowhere', ...jobs.map(() => JOB)] : undefined);
}

/** Arguments with which a verb asks a question. */
interface Asked {
  readonly args: readonly string[];
  /** Absent: `[y/N]`. */
  readonly question?: string;
  /** Absent: 4. 0: any word is an answer. */
  readonly codeOfNo?: number;
}
/** Verbs that ask: each that has --yes. Text: why it is not asked here. */
export const ASKS: Readonly<Record<string, Asked | string>> = {
  init: { args: ['FOLDER', '--force'], question: 'Command [', codeOfNo: 0 },
  cancel: { args: ['--name', 'verbs-*'] },
  stop: { args: ['--name', 'verbs-*'] },
  delete: { args: [JOB, '--by', 'somebody'] },
  'import jobman': { args: ['FOLDER/job.yaml', '-o', 'FOLDER/job.yaml'] },
  'import bastion-jobspec': { args: ['FOLDER/spec.json', '-o', 'FOLDER/job.yaml'] },
  'import launch': {
    args: ['-o', 'FOLDER/job.yaml', '--', '--instance_type=v4-8', '--', 'python3', 'x.py'],
  },
  'schedule pause': { args: [SCHEDULE, '--by', 'somebody'] },
  'schedule resume': { args: [SCHEDULE, '--by', 'somebody'] },
  'schedule trigger': { args: [SCHEDULE, '--by', 'somebody'] },
  'schedule delete': { args: [SCHEDULE, '--by', 'somebody'] },
  contract: 'needs a Google project: test/doctor/contract.live.test.ts',
  'quota apply': 'needs a bucket: test/long/quota-verbs.test.ts',
  'quota drain': 'needs a published pool: test/long/quota-verbs.test.ts',
  'dev down': 'asks before it removes data alone, and there is no stack: test/dev',
};
