import { Option } from 'commander';
import type { Command } from 'commander';
import { registerBuild } from './build-command.js';
import { parseHostChoice } from '../jobs/hosts/host-options.js';
import { changingMany } from '../jobs/job-filter.js';
import { registerLaunch } from './launch-command.js';
import { registerLifeVerbs } from './life-commands.js';
import { registerLookingVerbs } from './looking-commands.js';
import {
  buildOptions,
  buildPlaceOption,
  collect,
  type Invocation,
  outputOption,
  wholeNumber,
  withConnection,
} from '../terminal/options.js';
import type { InitFlags } from './verbs/init.js';
import type { ManyFlags } from '../jobs/many/act-on-jobs.js';
import type { SubmitFlags } from './verbs/submit.js';
import type { ValidateFlags } from './verbs/validate.js';

/** Registers the verbs for users with jobs. Each loads its module when it is used: `--help` must not wait for a gRPC client. */
export function registerJobVerbs(program: Command, invocation: Invocation): void {
  registerInit(program, invocation);
  registerSubmit(program, invocation);
  registerBuild(program, invocation);
  registerLaunch(program, invocation);
  registerValidate(program, invocation);
  registerLookingVerbs(program, invocation);
  registerCancel(program, invocation);
  registerLifeVerbs(program, invocation);
}

const INIT_NOTES = `
It looks for train.py, or a program with \`if __name__ == '__main__'\`, and for requirements.txt, environment.yml and pyproject.toml.
On a terminal it asks for the command, the type of slice and the zone, unless flags answer. Without a terminal it takes the defaults.

Examples:
  jobctl init
  jobctl init --tpu v6e-8 --zone us-east5-b --run 'python3 train.py --lr 3'
`;

function registerInit(program: Command, invocation: Invocation): void {
  program
    .command('init')
    .summary('write a job file for a folder')
    .description('Writes a job file, job.yaml, for a folder with a program.')
    .argument('[folder]', 'the folder (default: the current one)')
    .option('--run <command>', 'the command, a shell line (command.run)')
    .option('--tpu <type>', 'the type of Cloud TPU slice (tpu.accelerator)')
    .option('--zone <zone>', 'its zone (tpu.zone)')
    .option('--yes', 'ask nothing and take the defaults')
    .option('--force', 'overwrite an existing job.yaml')
    .addHelpText('after', INIT_NOTES)
    .action(async (folder: string | undefined, flags: InitFlags) => {
      const { init } = await import('./verbs/init.js');
      invocation.exitCode = await init(folder ?? '.', flags);
    });
}

const SUBMIT_NOTES = `
Output:
  On a terminal, submit prints a header and the next commands. With --wait it prints the phases and the lines of host 0 as \`HOST | line\`,
  since hosts of one command print much the same; --host all shows the lines of every host. If the command fails on another host, the
  last lines of that host are printed at the end.
  In a pipe, stdout is the job's id alone. With --wait, stdout is the lines of the hosts; the header with the id, the phases and the
  summary go to stderr. With --output json, stdout is {"id": .., "verdict": ..}; with --wait it is {"id": ..} and a second line
  with the outcome. Ctrl-C leaves the job running.
  Without --wait, submit waits for the first verdict (about a second, 8 s at most): the job's place in line and what it waits for,
  or why it is refused (exit code 4).

Examples:
  jobctl submit train.yaml
  jobctl submit --local --wait examples/quick-start.yaml
  jobctl submit train.yaml --name exp-7 --set tpu.accelerator=v6e-8 --priority 2
  jobctl submit train.yaml --bundle . -- python3 train.py --lr 0.1
  jobctl submit --tpu v5litepod-16 --zone us-central1-a --spot --bundle . -- python3 train.py --lr 0.1
`;

function registerSubmit(program: Command, invocation: Invocation): void {
  const command = program
    .command('submit')
    .summary('submit a job file, or a command')
    .description(
      'Submits a job file. Words after `--` replace its command.run: several words are quoted one by one, a single word is a shell line. Without a file, --tpu and the words after `--` make the job.',
    )
    .usage('[FILE] [options] [-- CMD..]')
    .argument('[file]', 'the job file (YAML)')
    .option('--tpu <type>', 'the type of Cloud TPU slice, such as v5litepod-16 (tpu.accelerator)')
    .option('--zone <zone>', 'its zone (tpu.zone or compute_engine.zone)')
    .addOption(new Option('--slices <number>', 'number of slices (slices)').argParser(wholeNumber(1, 256)))
    .option('--pricing <pricing>', 'spot, ondemand, preemptible, reserved, flex-start or any (in the same section)')
    .addOption(new Option('--spot', 'the same as --pricing spot').conflicts('pricing'))
    .option('--dry-run', 'print the job file that would be submitted, and submit nothing')
    .option('--local', 'submit to the local stack, and start it if it is not up')
    .option('--wait', 'follow the job, and exit with its exit code')
    .addOption(
      new Option('--host <hosts>', 'hosts whose lines --wait shows: 0, 0,2, 0-3 or all (default: the first)').argParser(
        parseHostChoice,
      ),
    )
    .option('--no-verdict', 'do not wait for the verdict of the pool')
    .option('--name <name>', 'the exact id of the job; the same content under the same id is the same job')
    .option('--set <key=value>', 'set a value of the file; may be repeated', collect)
    .option('--bundle <folder>', 'copy this folder to every host, and start the command in it')
    .option('--project <project>', 'the quota project')
    .option('--user <user>', 'the user who submits (default: your login name)')
    .option('--allow-outside', 'upload what the job file names outside of its folder or repository; do not ask')
    .option('--literal-quotes', 'keep the quotes of words of the command that are in single quotes')
    .addOption(new Option('--priority <number>', '1 (high) to 5 (low) (default: 3)').argParser(wholeNumber(1, 5)))
    .addOption(outputOption())
    .addHelpText('after', SUBMIT_NOTES);
  withConnection(buildOptions(command.addOption(buildPlaceOption()))).action(
    async (file: string | undefined, flags: SubmitFlags) => {
      const { submit } = await import('./verbs/submit.js');
      invocation.exitCode = await submit(file, flags, invocation.commandWords);
    },
  );
}

const KINDS = ['job', 'pool', 'quota'] as const;
const VALIDATE_NOTES = `
Examples:
  jobctl validate train.yaml --set slices=2
  jobctl validate train.yaml --pool-file pool.toml
  jobctl validate pool.toml
`;

function registerValidate(program: Command, invocation: Invocation): void {
  program
    .command('validate')
    .summary('check a job file, or a pool or quota file')
    .description(
      'Checks a job file as submit does, or a pool or quota file, and prints a summary of it. It needs no server.',
    )
    .argument('<file>', 'a job file (YAML), a pool file or a quota file (TOML)')
    .option('--set <key=value>', 'set a value of a job file; may be repeated', collect)
    .option('--pool-file <file>', "check a job file together with its pool's defaults")
    .addOption(new Option('--kind <kind>', 'the kind of file, if its name and content do not tell').choices(KINDS))
    .addOption(outputOption())
    .addHelpText('after', VALIDATE_NOTES)
    .action(async (file: string, flags: ValidateFlags) => {
      const { validate } = await import('./verbs/validate.js');
      invocation.exitCode = await validate(file, flags);
    });
}

const CANCEL_NOTES = `
It shows the jobs that a filter finds, and asks before it cancels these, or jobs of other people; with --yes it does not ask. The outcome
of a job records who cancelled it, and on which computer.

Examples:
  jobctl cancel train-7f3k && jobctl wait train-7f3k
  jobctl cancel train-7f3k lr-0q1d
  jobctl cancel --name 'lr-*' --phase queued
`;

function registerCancel(program: Command, invocation: Invocation): void {
  const command = changingMany(program.command('cancel'))
    .summary('stop jobs and give their slices back')
    .description('Stops the command on all hosts, deletes the slices and ends the job as cancelled. Returns at once.')
    .addHelpText('after', CANCEL_NOTES);
  withConnection(command).action(async (jobs: readonly string[], flags: ManyFlags) => {
    const { cancel } = await import('./verbs/life.js');
    invocation.exitCode = await cancel(jobs, flags);
  });
}
