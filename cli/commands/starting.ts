import { InvalidArgumentError, Option } from 'commander';
import type { AskedMachines } from '../job/init/written-job.js';
import { EXECUTION_WORDS } from '../job/launching/executions.js';
import { parseHostChoice } from '../jobs/job-filter.js';
import { BUILD_FLAGS, buildPlaceOption, collect, outputOption, wholeNumber, type Flag } from '../terminal/options.js';
import { defineVerb, type Verb } from './define-verb.js';
import { ROUTE_FLAGS, SSH_CONFIG } from './hosts.js';
import type { InitFlags } from './verbs/init.js';

/** Flags that name machines, for verbs that need no job file. */
export const MACHINE_FLAGS: readonly Flag[] = [
  ['--tpu <type>', 'the type of Cloud TPU slice, such as v5litepod-16 (tpu.accelerator)'],
  ['--zone <zone>', 'its zone (tpu.zone or compute_engine.zone)'],
  ['--slices <number>', 'number of slices (slices)', wholeNumber(1, 256)],
  ['--pricing <pricing>', 'spot, ondemand, preemptible, reserved, flex-start or any (in the same section)'],
  new Option('--spot', 'the same as --pricing spot').conflicts('pricing'),
];

/** Flags by which a TPU VM that somebody made by hand becomes the job's first slice. */
const ADOPTION_FLAGS: readonly Flag[] = [
  [
    '--adopt <node>',
    'a TPU VM made by hand as the first slice, and say as its owner that the job may have it (tpu.adopt)',
  ],
  ['--delete-after', 'say as its owner that the adopted TPU VM is deleted at the end, and not given back'],
];

/** Reads the form. The check of the written file judges the values. */
function askedMachines(text: string): AskedMachines {
  const [, accelerator, count, hosts = '1'] = /^([^:\s]+):(\d{1,6})(?::(\d{1,4}))?$/.exec(text) ?? [];
  if (accelerator !== undefined) return { accelerator, count: Number(count), hosts: Number(hosts) };
  throw new InvalidArgumentError('Takes TYPE:COUNT, such as h100:8, or h100:16:2 for 16 on 2 machines.');
}

/** Verbs that lead from a program or a job file to a job. */
export const STARTING_VERBS: readonly Verb[] = [
  defineVerb({
    name: 'init',
    summary: 'write a job file for a folder',
    description: 'Writes a job file, job.yaml, for a folder with a program.',
    arguments: [['[folder]', 'the folder (default: the current one)']],
    flags: [
      ['--run <command>', 'the command, a shell line (command.run)'],
      ['--tpu <type>', 'the type of Cloud TPU slice (tpu.accelerator)'],
      ['--zone <zone>', 'its zone (tpu.zone)'],
      new Option(
        '--machines <type:count>',
        'own machines in place of a slice, such as h100:8; h100:16:2 is 16 on 2 machines',
      )
        .argParser(askedMachines)
        .conflicts(['tpu', 'zone']),
      ['--yes', 'ask nothing and take the defaults'],
      ['--force', 'overwrite an existing job.yaml'],
    ],
    notes: `
It looks for train.py, or a program with \`if __name__ == '__main__'\`, and for requirements.txt, environment.yml and pyproject.toml.
On a terminal it asks for the command, the type of slice and the zone, unless flags answer. Without a terminal it takes the defaults.
`,
    examples: [
      'jobctl init',
      'jobctl init --machines h100:8',
      "jobctl init --tpu v6e-8 --zone us-east5-b --run 'python3 train.py --lr 3'",
    ],
    run: async () => {
      const { init } = await import('./verbs/init.js');
      return (folder: string | undefined, flags: InitFlags) => init(folder ?? '.', flags);
    },
  }),
  defineVerb({
    name: 'submit',
    summary: 'submit a job file, or a command',
    description:
      'Submits a job file. Words after `--` replace its command.run: several words are quoted one by one, a single word is a shell line. Without a file, --tpu and the words after `--` make the job.',
    usage: '[FILE] [options] [-- CMD..]',
    place: 'either',
    takesWords: true,
    arguments: [
      [
        '[file]',
        'the job file (YAML); with --- between them, of several jobs (--name, --wait, --host and CMD are for one)',
      ],
    ],
    flags: [
      ...MACHINE_FLAGS,
      ...ADOPTION_FLAGS,
      ['--dry-run', 'print the job file that would be submitted, and submit nothing'],
      ['--local', 'submit to the local stack, and start it if it is not up'],
      ['--wait', 'follow the job, and exit with its exit code'],
      ['--host <hosts>', 'hosts whose lines --wait shows: 0, 0,2, 0-3 or all (default: the first)', parseHostChoice],
      ['--no-verdict', 'do not wait for the verdict of the pool'],
      ['--name <name>', 'the exact id of the job; the same content under the same id is the same job'],
      ['--set <key=value>', 'set a value of the file; may be repeated', collect],
      ['--sweep <key=values>', 'one job for each value: env.LR=0.1,0.01 or env.SEED=1..5; may be repeated', collect],
      ['--bundle <folder>', 'copy this folder to every host, and start the command in it'],
      ['--project <project>', 'the quota project'],
      ['--user <user>', 'the user who submits (default: your login name)'],
      ['--allow-outside', 'upload what the job file names outside of its folder or repository; do not ask'],
      ['--literal-quotes', 'keep the quotes of words of the command that are in single quotes'],
      ['--priority <number>', '1 (high) to 5 (low) (default: 3)', wholeNumber(1, 5)],
      outputOption(),
      buildPlaceOption(),
      ...BUILD_FLAGS,
    ],
    notes: `
Output:
  On a terminal, submit prints a header and the next commands. With --wait it prints the phases and the lines of host 0 as \`HOST | line\`,
  since hosts of one command print much the same; --host all shows the lines of every host. If the command fails on another host, the
  last lines of that host are printed at the end.
  In a pipe, stdout is the job's id alone. With --wait, stdout is the lines of the hosts; the header with the id, the phases and the
  summary go to stderr. With --output json, stdout is {"id": .., "verdict": ..}; with --wait it is {"id": ..} and a second line
  with the outcome. Ctrl-C leaves the job running.
  Without --wait, submit waits for the first verdict (about a second, 8 s at most): the job's place in line and what it waits for,
  or why it is refused (exit code 4).
`,
    examples: [
      'jobctl submit train.yaml',
      'jobctl submit --local --wait examples/quick-start.yaml',
      'jobctl submit train.yaml --name exp-7 --set tpu.accelerator=v6e-8 --priority 2',
      'jobctl submit train.yaml --sweep env.LR=0.1,0.01 --sweep env.SEED=1..5 --set array.max_parallel=3',
      'jobctl submit train.yaml --bundle . -- python3 train.py --lr 0.1',
      'jobctl submit --tpu v5litepod-16 --zone us-central1-a --spot --bundle . -- python3 train.py --lr 0.1',
    ],
    run: async () => (await import('./verbs/submit.js')).submit,
  }),
  defineVerb({
    name: 'workspace',
    summary: 'get machines to work on, which are given back when idle',
    description:
      'Submits a job whose slices are for people: log in, open VS Code, run notebooks. It is given back when nobody has used it for a time.',
    usage: '[FILE] [options]',
    place: 'either',
    arguments: [['[file]', 'a job file (YAML); its command is left out']],
    flags: [
      ...MACHINE_FLAGS,
      ...ADOPTION_FLAGS,
      ['--idle <duration>', 'given back after so long without use, such as 30m (workspace.idle; default: 1h)'],
      ['--for <duration>', 'given back after so long in any case, such as 8h (timeouts.run)'],
      ['--name <name>', 'the exact id of the job, which is its name for ssh too'],
      ['--dry-run', 'print the job file that would be submitted, and submit nothing'],
      ['--local', 'submit to the local stack, and start it if it is not up'],
      ['--set <key=value>', 'set a value of the file; may be repeated', collect],
      ['--bundle <folder>', 'copy this folder to every host'],
      ['--project <project>', 'the quota project'],
      ['--user <user>', 'the user who submits (default: your login name)'],
      ['--allow-outside', 'upload what the job file names outside of its folder or repository; do not ask'],
      ['--priority <number>', '1 (high) to 5 (low) (default: 3)', wholeNumber(1, 5)],
      new Option('--sync <folder>', 'then keep this folder in step on every host, as jobctl sync does').conflicts([
        'output',
        'dryRun',
      ]),
      outputOption(),
      SSH_CONFIG,
      ...ROUTE_FLAGS,
    ],
    notes: `
It waits until the job runs, and prints how to reach it. Use is a login, a process on the accelerators, or load of the processors
(docs/workspace.md). \`jobctl status\` says since when it is idle, and when it is given back. Ctrl-C leaves the job: \`jobctl ssh-config JOB\`
names its hosts later. Files on its disks go with it, except \`outputs\` of the job file.
`,
    examples: [
      'jobctl workspace --tpu v5litepod-8 --zone us-central1-a',
      'jobctl workspace train.yaml --idle 30m --for 8h --name exp-7 --ssh-config',
      'jobctl workspace --tpu v5litepod-8 --zone us-central1-a --sync .',
      'jobctl workspace --local --tpu v5litepod-4 --zone us-central1-a',
    ],
    run: async () => (await import('./verbs/workspace.js')).workspace,
  }),
  defineVerb({
    name: 'build',
    summary: "build and push a job's image, and print its digest",
    description:
      'Builds the image of a job file (its section build) on this computer, and pushes it. Nothing is submitted.',
    arguments: [['<file>', 'a job file (YAML), or - for stdin']],
    flags: [
      ['--set <key=value>', 'set a value of the job file; may be repeated', collect],
      ['--allow-outside', 'build what the job file names outside of its folder or repository; do not ask'],
      outputOption(),
      ...BUILD_FLAGS,
    ],
    notes: `
Prints the image by its digest, as hosts pull it, and nothing else to stdout. A cluster builds when a job needs it: \`submit --build remote\`.
`,
    examples: [
      'jobctl build job.yaml',
      'jobctl submit job.yaml --set build.digest="$(jobctl build job.yaml | cut -d @ -f 2)"',
    ],
    run: async () => (await import('./verbs/build.js')).build,
  }),
  defineVerb({
    name: 'launch',
    summary: 'build an image and run a command in it',
    description:
      'Builds the image of the current folder and submits a job that runs the words after `--` in it. Several words are quoted one by one, a single word is a shell line.',
    usage: '[options] -- CMD..',
    place: 'either',
    takesWords: true,
    flags: [
      buildPlaceOption(),
      new Option('--execution <where>', 'what runs it (default: kubernetes; tpu with --instance-type)').choices(
        EXECUTION_WORDS,
      ),
      ['--workers <number>', 'pods, workers of Ray, slices or machines (default: 1)', wholeNumber(1, 1024)],
      ['--min-workers <number>', 'of Ray, which adds and removes them (default: --workers)', wholeNumber(0, 1024)],
      ['--max-workers <number>', 'of Ray (default: --workers)', wholeNumber(1, 1024)],
      ['--gpus <number>', 'GPUs of each worker (default: 0)', wholeNumber(0, 64)],
      ['--gpu-type <type>', 'what quota calls them, such as h100'],
      ['--image <image>', 'with --build the repository it is pushed to, else a pushed image'],
      ['--ray-version <version>', 'of Ray in the image'],
      ['--instance-type <type>', 'the type of Cloud TPU slice, such as v5litepod-16'],
      ['--zone <zone>', 'its zone'],
      ['--name-prefix <prefix>', 'ids of jobs are made from it'],
      ['--dry-run', 'print the job file that the line stands for, and do nothing'],
      ['--local', 'submit to the local stack, and start it if it is not up'],
      ['--wait', 'follow the job, and exit with its exit code (default, but for --output json and --no-verdict)'],
      ['--no-wait', 'submit, and follow nothing'],
      ['--host <hosts>', 'hosts whose lines --wait shows: 0, 0,2, 0-3 or all', parseHostChoice],
      ['--no-verdict', 'do not wait for the verdict of the pool'],
      ['--name <name>', 'the exact id of the job'],
      ['--set <key=value>', 'set a value of the job file; may be repeated', collect],
      ['--project <project>', 'the quota project'],
      ['--user <user>', 'the user who submits (default: your login name)'],
      ['--literal-quotes', 'keep the quotes of words of the command that are in single quotes'],
      ['--priority <number>', '1 (high) to 5 (low) (default: 3)', wholeNumber(1, 5)],
      outputOption(),
      ...BUILD_FLAGS,
    ],
    notes: `
It stands for a job file, which --dry-run prints: kubernetes, ray_cluster, tpu or machines, and build or the image of --image. Without
--image and a registry (JOBCTL_REGISTRY, or of the context) nobody knows where the image goes. A context holds zone, registry, GPU type and
Ray version for all lines: jobctl context set --help. Jobs on TPU VMs and machines without --build and --image get the current
folder as a bundle. Lines of Bastion's launch (--instance_type=..) work too: docs/migrating.md.
`,
    examples: [
      'jobctl launch --image ghcr.io/team/train --build remote -- python3 train.py',
      'jobctl launch --build local --image ghcr.io/team/train -- python3 train.py',
      'jobctl launch --image ghcr.io/team/train:1.4 --workers 4 --gpus 8 --gpu-type h100 -- python3 train.py --lr 3',
      'jobctl launch --execution ray --ray-version 2.60.0 --image ghcr.io/team/ray:1.4 --workers 4 -- python3 train.py',
      'jobctl launch --instance-type v5litepod-16 --zone us-central1-a -- python3 train.py',
      'jobctl launch --execution machines --dry-run -- make eval',
    ],
    run: async () => (await import('./verbs/submit.js')).launch,
  }),
  defineVerb({
    name: 'validate',
    summary: 'check a job file, or a pool or quota file',
    description:
      'Checks a job file as submit does, or a pool or quota file, and prints a summary of it. It needs no server.',
    arguments: [['<file>', 'a job file (YAML), a pool file or a quota file (TOML)']],
    flags: [
      ['--set <key=value>', 'set a value of a job file; may be repeated', collect],
      ['--pool-file <file>', "check a job file together with its pool's defaults"],
      new Option('--kind <kind>', 'the kind of file, if its name and content do not tell').choices([
        'job',
        'pool',
        'quota',
      ]),
      outputOption(),
    ],
    examples: [
      'jobctl validate train.yaml --set slices=2',
      'jobctl validate train.yaml --pool-file pool.toml',
      'jobctl validate pool.toml',
    ],
    run: async () => (await import('./verbs/validate.js')).validate,
  }),
];

const FLAGS: readonly Flag[] = [
  ['-o, --output <file>', 'the file to write (default: stdout)'],
  ['--yes', 'overwrite an existing file'],
];

export const IMPORT = defineVerb({
  name: 'import',
  summary: 'write a job file from a file or command line of another tool',
  description: 'Writes a job file from a job spec of AXLearn, a JobMan file, or a command line of launch.',
  notes: `
The job file goes to stdout or to the file of -o; an existing file is not overwritten without a question. stderr says of each key whether it
was kept, changed or lost, and why. docs/migrating.md lists all keys.
`,
  examples: ['jobctl import jobman configs/quick_start.yaml -o job.yaml'],
  verbs: [
    defineVerb({
      name: 'bastion-jobspec',
      description: "Writes a job file from a job spec (JSON) of AXLearn's Bastion.",
      arguments: [['<file>', 'the job spec (JSON)']],
      flags: FLAGS,
      examples: ['jobctl import bastion-jobspec spec.json -o job.yaml'],
      run: async () => (await import('./verbs/import.js')).importJobspec,
    }),
    defineVerb({
      name: 'jobman',
      description: 'Writes a JobMan file under the names of jobctl. JobMan files also run as they are.',
      arguments: [['<file>', 'the JobMan file (YAML)']],
      flags: FLAGS,
      examples: ['jobctl import jobman configs/quick_start.yaml -o job.yaml'],
      run: async () => (await import('./verbs/import.js')).importJobmanFile,
    }),
    defineVerb({
      name: 'launch',
      description: "Writes a job file from a command line of AXLearn's or Astera's launch.",
      usage: '[options] -- ARGS..',
      takesWords: true,
      flags: FLAGS,
      examples: ['jobctl import launch -- --instance_type=tpu-v4-32 --max_tries=3 -- python3 train.py'],
      run: async () => (await import('./verbs/import.js')).importLaunch,
    }),
  ],
});
