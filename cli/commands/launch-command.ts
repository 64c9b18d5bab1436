import { type Command, Option } from 'commander';
import { parseHostChoice } from '../jobs/hosts/host-options.js';
import { EXECUTION_WORDS } from '../job/launching/executions.js';
import type { LaunchFlags } from '../job/launching/launch-job.js';
import {
  buildOptions,
  buildPlaceOption,
  collect,
  type Invocation,
  outputOption,
  wholeNumber,
  withConnection,
} from '../terminal/options.js';
import type { SubmitFlags } from './verbs/submit.js';

const NOTES = `
It stands for a job file, which --dry-run prints: kubernetes, ray_cluster, tpu or machines, and build or the image of --image. Without
--image and a registry (JOBCTL_REGISTRY, or of the context) nobody knows where the image goes. A context holds zone, registry, GPU type and
Ray version for all lines: jobctl context set --help. Jobs on TPU VMs and machines without --build and --image get the current
folder as a bundle. Lines of Bastion's launch (--instance_type=..) work too: docs/migrating.md.

Examples:
  jobctl launch --image ghcr.io/team/train --build remote -- python3 train.py
  jobctl launch --build local --image ghcr.io/team/train -- python3 train.py
  jobctl launch --image ghcr.io/team/train:1.4 --workers 4 --gpus 8 --gpu-type h100 -- python3 train.py --lr 3
  jobctl launch --execution ray --ray-version 2.60.0 --image ghcr.io/team/ray:1.4 --workers 4 -- python3 train.py
  jobctl launch --instance-type v5litepod-16 --zone us-central1-a -- python3 train.py
  jobctl launch --execution machines --dry-run -- make eval
`;

/**
 * Registers `launch`: a job without a job file, described by the flags of Astera's launch. The choices are those of
 * launching/launch-job.ts.
 */
export function registerLaunch(program: Command, invocation: Invocation): void {
  const command = program
    .command('launch')
    .summary('build an image and run a command in it')
    .description(
      'Builds the image of the current folder and submits a job that runs the words after `--` in it. Several words are quoted one by one, a single word is a shell line.',
    )
    .usage('[options] -- CMD..')
    .addOption(buildPlaceOption())
    .addOption(
      new Option('--execution <where>', 'what runs it (default: kubernetes; tpu with --instance-type)').choices(
        EXECUTION_WORDS,
      ),
    )
    .addOption(
      new Option('--workers <number>', 'pods, workers of Ray, slices or machines (default: 1)').argParser(
        wholeNumber(1, 1024),
      ),
    )
    .addOption(
      new Option('--min-workers <number>', 'of Ray, which adds and removes them (default: --workers)').argParser(
        wholeNumber(0, 1024),
      ),
    )
    .addOption(new Option('--max-workers <number>', 'of Ray (default: --workers)').argParser(wholeNumber(1, 1024)))
    .addOption(new Option('--gpus <number>', 'GPUs of each worker (default: 0)').argParser(wholeNumber(0, 64)))
    .option('--gpu-type <type>', 'what quota calls them, such as h100')
    .option('--image <image>', 'with --build the repository it is pushed to, else a pushed image')
    .option('--ray-version <version>', 'of Ray in the image')
    .option('--instance-type <type>', 'the type of Cloud TPU slice, such as v5litepod-16')
    .option('--zone <zone>', 'its zone')
    .option('--name-prefix <prefix>', 'ids of jobs are made from it')
    .option('--dry-run', 'print the job file that the line stands for, and do nothing')
    .option('--local', 'submit to the local stack, and start it if it is not up')
    .option('--wait', 'follow the job, and exit with its exit code (default, but for --output json and --no-verdict)')
    .option('--no-wait', 'submit, and follow nothing')
    .addOption(
      new Option('--host <hosts>', 'hosts whose lines --wait shows: 0, 0,2, 0-3 or all').argParser(parseHostChoice),
    )
    .option('--no-verdict', 'do not wait for the verdict of the pool')
    .option('--name <name>', 'the exact id of the job')
    .option('--set <key=value>', 'set a value of the job file; may be repeated', collect)
    .option('--project <project>', 'the quota project')
    .option('--user <user>', 'the user who submits (default: your login name)')
    .option('--literal-quotes', 'keep the quotes of words of the command that are in single quotes')
    .addOption(new Option('--priority <number>', '1 (high) to 5 (low) (default: 3)').argParser(wholeNumber(1, 5)))
    .addOption(outputOption())
    .addHelpText('after', NOTES);
  withConnection(buildOptions(command)).action(async (flags: LaunchFlags & SubmitFlags) => {
    const { launch } = await import('./verbs/launch.js');
    invocation.exitCode = await launch(flags, invocation.commandWords);
  });
}
