import { Argument, InvalidArgumentError, Option } from 'commander';
import { DEFAULT_AFTER_MS, type NoticeWish } from '../local/rehearse/preemption-plan.js';
import { PART_NAMES } from '../place/stack/stack-record.js';
import { BUILD_FLAGS, collect, durationOption, outputOption, wholeNumber } from '../terminal/options.js';
import { defineVerb } from './define-verb.js';

export const DEV = defineVerb({
  name: 'dev',
  description:
    'run a local stack in the background: a Temporal server, a worker and a simulated Cloud TPU (or the real one)',
  verbs: [
    defineVerb({
      name: 'up',
      description: 'start every part of the stack that is not running',
      flags: [
        ['--quota <file>', "a quota file (Bastion's TOML); remembered"],
        ['--no-quota', 'use the unlimited pool again'],
        ['--codec-key <reference>', 'encrypt what Temporal stores, with the key at file:///PATH; remembered'],
        ['--no-codec-key', 'stop encrypting; payloads that are encrypted stay readable here'],
        ['--pool-file <file>', "the pool's zones and defaults (TOML); remembered"],
        ['--no-pool-file', 'use no pool file any more'],
        ['--machines <file>', 'no cloud: the machines that this pool file names, and nothing else; remembered'],
        ['--temporal-address <host:port>', 'use this Temporal server and start none; remembered'],
        ['--no-temporal-address', 'start a Temporal server in the stack again'],
        ['--port <number>', 'port of the Temporal server (default: a free one from 7233)', portNumber],
        ['--ui-port <number>', 'port of the Web UI (default: a free one from 8233)', portNumber],
        new Option('--cloud <cloud>', 'gcp is the REAL Cloud TPU, which is billed; remembered').choices([
          'rehearsal',
          'gcp',
        ]),
        'With --cloud gcp:',
        [
          '--google-project <id>',
          'JOBCTL_GOOGLE_PROJECT: the project (default: that of the credentials, or of gcloud)',
        ],
        [
          '--bucket <name>',
          'JOBCTL_BUCKET: the bucket of logs and outcomes; with --machines also s3://.. or file:///..',
        ],
        ['--create-bucket', 'make a bucket in the region of --zone, if --bucket is not given'],
        ['--zone <zone>', 'the zone of the slices'],
        [
          '--i-am-alone-here',
          'nobody else can log in to this computer: run a Temporal server that any login may use; remembered',
        ],
        ['--no-i-am-alone-here', 'run one that asks who calls again'],
        new Option('--tpu-endpoint <host:port>', 'JOBCTL_TPU_ENDPOINT').hideHelp(),
        new Option('--google-api-endpoint <url>', 'JOBCTL_GOOGLE_API_ENDPOINT').hideHelp(),
        new Option('--store-endpoint <url>', 'JOBCTL_STORE_ENDPOINT').hideHelp(),
        new Option('--ssh-port <port>', 'of the hosts').argParser(portNumber).hideHelp(),
      ],
      examples: [
        'jobctl dev up --quota examples/quota.toml',
        'jobctl dev up --machines pool.toml',
        'jobctl dev up --cloud gcp --google-project my-project --bucket my-jobs',
      ],
      run: async () => (await import('./verbs/dev.js')).up,
    }),
    defineVerb({
      name: 'down',
      description: 'stop the stack; jobs, logs and data are kept for the next `dev up`',
      flags: [
        ['--purge', 'remove the data too'],
        [
          '-y, --yes',
          'do not ask; without --purge, also stop while jobs are open on real Cloud TPU or on your own machines',
        ],
      ],
      notes: `
Exit code 4: nothing was changed, because the question was not answered with yes, or because jobs or slices are open on real Cloud TPU,
which continue to be billed, or on machines of your own, where their commands go on. --purge is refused then with --yes too: it would
forget what they hold. End them first (\`jobctl delete JOB\`). Secrets that \`jobctl secret put\` stored stay, also with --purge.
`,
      examples: ['jobctl dev down --purge --yes'],
      run: async () => (await import('./verbs/dev.js')).down,
    }),
    defineVerb({
      name: 'status',
      description: 'show which parts run, and where; exit with 3 unless all are up',
      flags: [['-o, --output <format>', 'text or json', outputFormat, 'text']],
      examples: ['jobctl dev status --output json'],
      run: async () => (await import('./verbs/dev.js')).status,
    }),
    defineVerb({
      name: 'logs',
      description: 'print the output of the stack',
      arguments: [new Argument('[part]', 'the part (default: all)').choices(PART_NAMES)],
      flags: [
        ['-f, --follow', 'follow until Ctrl-C'],
        ['--tail <lines>', 'lines from the end, of each part', lineCount, 100],
      ],
      examples: ['jobctl dev logs worker -f --tail 20'],
      run: async () => (await import('./verbs/dev.js')).logs,
    }),
  ],
});

export const REHEARSE = defineVerb({
  name: 'rehearse',
  summary: 'run a job under preemption, and measure what that costs',
  description: 'Runs a job on a private simulated Cloud TPU, preempts it, and prints a certificate of what that cost.',
  arguments: [['<file>', 'the job file (YAML)']],
  flags: [
    ['--preempt <times>', 'how often to preempt it (default: 1; with --script 0)', wholeNumber(1, 100)],
    [
      '--notice <duration>',
      'the notice before each preemption; none; or mixed, which is 5s before every other one',
      noticeOption,
      'mixed',
    ],
    ['--script <file>', 'also play a fault script (docs/rehearsal.md)'],
    ['--seed <number>', 'draws when and how the job is preempted; repeats a run', wholeNumber(0, 2 ** 32 - 1)],
    [
      '--time-scale <times>',
      "run the cloud's clock, and jobctl's waits for the cloud, so many times as fast",
      wholeNumber(1, 1000),
      1,
    ],
    ['--progress <regex>', 'the step counter in the output: one group, a whole number', progressOption],
    [
      '--after <duration>',
      'preempt at the latest so long after the first step, or after the start',
      durationOption,
      DEFAULT_AFTER_MS,
      '2m',
    ],
    ['--set <key=value>', 'set a value of the file; may be repeated', collect],
    ['--require-resume', 'exit with 1 if the job lost all of its work'],
    ['--keep', 'keep the stack, and print where it is'],
    ['--unconfined', "run even if nothing keeps the job from this computer's files"],
    outputOption(),
    ...BUILD_FLAGS,
  ],
  notes: `
The job runs in a private stack (state folder, ports, cloud), which is removed at the end and at Ctrl-C. Its buckets are made in the
rehearsal, empty. An attempt is preempted at a step that the seed draws. Lost work is counted by the job's own step counter: step,
iteration, epoch, batch, a progress bar, or --progress. stdout is the certificate alone.

Exit codes: 0 if the job succeeded, was preempted as often as asked, and nothing leaked; the command's own code if it failed; else 1.
With --require-resume also 1 if the job lost all of its work, or if that cannot be measured.
`,
  examples: [
    'jobctl rehearse train.yaml --preempt 2',
    'jobctl rehearse train.yaml --preempt 3 --notice none --require-resume',
    'jobctl rehearse train.yaml --script storm.yaml --time-scale 60',
    "jobctl rehearse train.yaml --progress 'Trained (\\d+) batches' --seed 7",
  ],
  run: async () => (await import('./verbs/rehearse.js')).rehearse,
});

const MAX_PORT = 65_535;

function portNumber(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= MAX_PORT) return port;
  throw new InvalidArgumentError(`a port is a number from 1 to ${MAX_PORT}.`);
}

function lineCount(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new InvalidArgumentError('a number of lines, 0 or more.');
}

function outputFormat(text: string): 'text' | 'json' {
  if (text === 'text' || text === 'json') return text;
  throw new InvalidArgumentError('text or json.');
}

function noticeOption(text: string): NoticeWish {
  if (text === 'none' || text === 'mixed') return text;
  const ms = durationOption(text);
  return ms === 0 ? 'none' : { ms };
}

function progressOption(text: string): RegExp {
  let pattern: RegExp;
  let groups: number;
  try {
    pattern = new RegExp(text);
    groups = (new RegExp(`${text}|`).exec('')?.length ?? 1) - 1;
  } catch (error) {
    throw new InvalidArgumentError(`${(error as Error).message.replace(/^Invalid regular expression: /, '')}.`);
  }
  if (groups === 1) return pattern;
  throw new InvalidArgumentError(`It has ${groups} groups, and one is wanted: the number. Such as 'step (\\d+)'.`);
}
