import { type Command, Option } from 'commander';
import { byOption, changingMany } from '../jobs/job-filter.js';
import {
  buildOptions,
  collect,
  durationOption,
  type Invocation,
  outputOption,
  withConnection,
} from '../terminal/options.js';
import type { EditFlags } from '../job/job-edit.js';
import type { DeleteFlags } from './verbs/delete.js';
import type { RequeueFlags, RestartFlags, StopFlags } from './verbs/life.js';

/** Registers the verbs that pause, resume, restart or end an open job. docs/job-states.md draws their effects. */
export function registerLifeVerbs(program: Command, invocation: Invocation): void {
  registerStop(program, invocation);
  registerResume(program, invocation);
  registerRestart(program, invocation);
  registerRequeue(program, invocation);
  registerDelete(program, invocation);
}

const STOP_NOTES = `
The command finds the cause in $JOBCTL_NOTICE_FILE and has the job's grace to save its state. The slices are kept, and billed, until
resume, until timeouts.stop is over (8h by default), or until the pool needs their chips. After that, and with --release, the job holds
nothing. It asks for chips again only at resume, with its first submit time.

Examples:
  jobctl stop train-7f3k
  jobctl stop train-7f3k --release
  jobctl stop --mine --phase running
`;

function registerStop(program: Command, invocation: Invocation): void {
  const command = changingMany(program.command('stop'))
    .summary('end the command and keep the slices')
    .description('Ends the command on all hosts and keeps slices and lease until `jobctl resume`. Returns at once.')
    .option('--release', 'give slices and lease back too')
    .addHelpText('after', STOP_NOTES);
  withConnection(command).action(async (jobs: readonly string[], flags: StopFlags) => {
    const { stop } = await import('./verbs/life.js');
    invocation.exitCode = await stop(jobs, flags);
  });
}

const RESUME_NOTES = `
With --file or --set the job continues with the changed job file, as after \`jobctl restart\`.

Examples:
  jobctl resume train-7f3k
  jobctl resume train-7f3k --set env.LEARNING_RATE=0.0005
`;

function registerResume(program: Command, invocation: Invocation): void {
  const command = editing(asking(program.command('resume')))
    .summary('continue a stopped job')
    .description(
      'Continues a stopped job by a new attempt, on the slices that it kept or as soon as its pool grants it chips.',
    )
    .addHelpText('after', RESUME_NOTES);
  withConnection(command).action(async (job: string, flags: EditFlags) => {
    const { resume } = await import('./verbs/life.js');
    invocation.exitCode = await resume(job, flags);
  });
}

const RESTART_NOTES = `
Command, environment, modules, times and budgets may change; what the slices were made from may not (tpu, slices, pool, the key). Modules
whose content is the same are not set up again.

Examples:
  jobctl restart train-7f3k
  jobctl restart train-7f3k --file train.yaml
  jobctl restart train-7f3k --bundle .
  jobctl restart train-7f3k --replace
  jobctl restart train-7f3k --replace 0,3
  jobctl restart train-7f3k --set 'command.run=python3 train.py --lr 0.1'
`;

function registerRestart(program: Command, invocation: Invocation): void {
  const command = editing(asking(program.command('restart')))
    .option('--replace [slices]', 'with other machines in place of all slices, or of these: 0,3 (write JOB before it)')
    .summary('start the command again on the same slices')
    .description(
      'Ends the command, with grace, and starts it again on the same slices, with the same or a changed job file.',
    )
    .addHelpText('after', RESTART_NOTES);
  withConnection(command).action(async (job: string, flags: RestartFlags) => {
    const { restart } = await import('./verbs/life.js');
    invocation.exitCode = await restart(job, flags);
  });
}

function registerRequeue(program: Command, invocation: Invocation): void {
  const command = asking(program.command('requeue'))
    .summary('give slices and lease back and ask again')
    .description(
      'Ends the command, with grace, gives slices and lease back, and asks for chips again, with the first submit time.',
    )
    .option('--zone <zone>', "ask in this one of the job's zones first")
    .addHelpText('after', '\nExamples:\n  jobctl requeue train-7f3k\n  jobctl requeue train-7f3k --zone us-east5-a\n');
  withConnection(command).action(async (job: string, flags: RequeueFlags) => {
    const { requeue } = await import('./verbs/life.js');
    invocation.exitCode = await requeue(job, flags);
  });
}

const DELETE_NOTES = `
An open job is cancelled, after a question unless --yes is given. A job that has ended and holds its slices (keep) keeps its outcome.
\`delete\` returns when nothing of the job is left in the cloud. Its record and logs stay in the bucket. --purge removes them, also after a
question, once the job has ended; what other jobs share stays.

Examples:
  jobctl delete train-7f3k
  jobctl delete train-7f3k --purge
  jobctl delete --name 'lr-*' --mine
`;

function registerDelete(program: Command, invocation: Invocation): void {
  const command = changingMany(program.command('delete'))
    .summary('end jobs and delete their slices')
    .description('Ends jobs, if they have not ended, and waits until their slices are gone.')
    .option('--purge', 'remove what the bucket keeps of jobs that have ended')
    .addOption(new Option('--timeout <duration>', 'wait no longer than this and exit 124').argParser(durationOption))
    .addHelpText('after', DELETE_NOTES);
  withConnection(command).action(async (jobs: readonly string[], flags: DeleteFlags) => {
    const { deleteJobs } = await import('./verbs/delete.js');
    invocation.exitCode = await deleteJobs(jobs, flags);
  });
}

function asking(command: Command): Command {
  return command.argument('<job>', "the job's id").addOption(byOption()).addOption(outputOption());
}

function editing(command: Command): Command {
  return buildOptions(
    command
      .option('--file <file>', 'the changed job file (YAML)')
      .option('--set <key=value>', 'set a value; may be repeated', collect)
      .option('--bundle <folder>', 'the folder that every host gets from now on, packed as it is now')
      .option('--allow-outside', 'upload what the job file names outside of its folder or repository; do not ask'),
  );
}
