import { InvalidArgumentError, Option } from 'commander';
import { WAIT_MINUTES } from '../doctor/contract/bound.js';
import { durationOption, outputOption, wholeNumber, collect } from '../terminal/options.js';
import { defineVerb, type Verb } from './define-verb.js';

const DEFAULT_GRACE_MS = 60_000;

/** Verbs that check whether jobs can run, and that show records of past actions. */
export const CHECKING_VERBS: readonly Verb[] = [
  defineVerb({
    name: 'doctor',
    summary: 'check that a Google Cloud project, a Kubernetes cluster, own machines or a Temporal server can run jobs',
    description:
      "Checks a Google Cloud project as a job would use it: login, APIs, permissions, bucket, types and quota of a zone, network, firewall, addresses, policies. Or checks a namespace of a Kubernetes cluster: version, rights, Kueue, quota, GPUs. Or a pool's own machines. Or a quota file. Or whether the Temporal server is this installation's. Exits with 1 if a check has FAILED.",
    arguments: [['[file]', 'a job file (YAML) with zones, accelerator, network ..']],
    flags: [
      ['--gcp', 'check Google Cloud'],
      [
        '--record <folder>',
        'with --gcp: write what Google answers as files that name nobody; calls are free, and read or are refused',
      ],
      ['--kubernetes', 'check a Kubernetes cluster'],
      ['--quota <file>', 'check a quota file: whom its members mean beside those who are written there'],
      ['--machines', "check a pool's own machines: driver, ECC, kernel log, disk, clock, ports between them"],
      ['--pool <name>', 'with --machines: the pool (default: default)'],
      [
        '--server',
        "check the Temporal server: whose its task queue is, and its workers; and a store that is not Google's",
      ],
      ['--kubeconfig <file>', 'KUBECONFIG: the kubeconfig file (default: ~/.kube/config)'],
      ['--kube-context <name>', "a context of it (default: the job file's, else the current one)"],
      ['--kube-namespace <name>', "the namespace of the pods (default: the job file's, else the context's)"],
      ['--google-project <id>', 'JOBCTL_GOOGLE_PROJECT: the project (default: that of the credentials, or of gcloud)'],
      [
        '--zone <zone>',
        'a zone for slices; may be repeated',
        (zone: string, before: readonly string[] | undefined) => [...(before ?? []), zone],
      ],
      ['--accelerator <type>', 'a type of slice, such as v5litepod-16'],
      ['--bucket <name>', 'JOBCTL_BUCKET: the bucket of logs and files'],
      ['--system-bucket <name>', 'JOBCTL_SYSTEM_BUCKET: the second bucket, which hosts may not write'],
      ['--network <name>', 'the network of the slices (default: "default")'],
      ['--subnetwork <name>', 'its subnetwork'],
      ['--service-account <email>', "the service account of the hosts (default: the project's)"],
      ['--no-external-ips', 'hosts without external addresses'],
      outputOption(),
      new Option('--google-api-endpoint <url>', "JOBCTL_GOOGLE_API_ENDPOINT: for all of Google's APIs").hideHelp(),
      new Option('--store-endpoint <url>', 'JOBCTL_STORE_ENDPOINT: for Cloud Storage').hideHelp(),
    ],
    notes: `
ok: the check passed. warning: a job may work, or the check could not be made. FAILED: a job would fail; the lines below say what to do.
Nothing is created or changed, with --record neither; in a store of S3's --server writes one object and removes it. docs/doctor.md explains each line.
`,
    examples: [
      'jobctl doctor --gcp train.yaml',
      'jobctl doctor --gcp --google-project my-project --zone us-central1-a --accelerator v5litepod-16 --bucket my-jobs',
      'jobctl doctor --gcp --zone us-central1-a --record recordings',
      'jobctl doctor --kubernetes pods.yaml',
      'jobctl doctor --quota quota.toml',
      'jobctl doctor --machines --pool lab',
      'jobctl doctor --server',
    ],
    run: async () => (await import('./verbs/doctor.js')).doctor,
  }),
  defineVerb({
    name: 'contract',
    summary: 'record what Google Cloud answers over the life of one small spot slice, for money',
    description:
      'Takes one small spot slice of Cloud TPU through its life and records each request and answer as a file, without what tells whose they are.',
    flags: [
      ['--gcp', 'of Google Cloud'],
      ['--spend <usd>', 'the most that it may cost, in USD, by the prices that jobctl knows', usd],
      ['--google-project <id>', 'JOBCTL_GOOGLE_PROJECT: the project (default: that of the credentials, or of gcloud)'],
      ['--zone <zone>', 'the zone of the slice'],
      ['--accelerator <type>', 'its type', undefined, 'v5litepod-1'],
      ['--record <folder>', 'the folder of the recordings (default: jobctl-contract-DATE)'],
      ['--yes', 'do not ask'],
      outputOption(),
      new Option('--tpu-endpoint <host:port>', 'JOBCTL_TPU_ENDPOINT').hideHelp(),
      new Option('--at-most <duration>', 'the wait for ACTIVE')
        .argParser(durationOption)
        .default(WAIT_MINUTES * 60_000)
        .hideHelp(),
      new Option('--every <duration>', 'between two looks').argParser(durationOption).default(5000).hideHelp(),
    ],
    notes: `
It asks for one spot slice, looks at it until it is ACTIVE, at most ten minutes, deletes it, and looks until it is gone. It asks before it
begins. Ctrl-C deletes the slice too; a second Ctrl-C ends at once and says what is left. The recordings name no project, person or
address. Exit code 1: the slice did not become ACTIVE in time (spot chips lack); what came is recorded. docs/doctor.md has the form.
`,
    examples: ['jobctl contract --gcp --spend 1 --google-project my-project --zone us-central1-a --record recordings'],
    run: async () => (await import('./verbs/contract.js')).contract,
  }),
  defineVerb({
    name: 'audit',
    description: 'check independently what the cloud holds, and see who did what',
    examples: ['jobctl audit leaks', 'jobctl audit log --job train-7f3k'],
    verbs: [
      defineVerb({
        name: 'log',
        summary: 'see who did what, by the audit log of a server',
        description: 'Prints who asked for what, from where, and how it was decided.',
        place: 'either',
        flags: [
          ['--user <name>', 'of this user alone'],
          ['--job <id>', 'about this job alone'],
          ['--pool <name>', 'in this pool (default: default)'],
          ['--since <duration>', 'within this time, such as 7d (default: 1d)', durationOption],
          ['--limit <n>', 'so many lines at most', wholeNumber(1, 10_000)],
          outputOption(),
        ],
        notes: `
Of a context that names a jobctl serve, for operators of the pool. Newest last. docs/access.md says what is recorded.
`,
        examples: [
          'jobctl audit log --job train-7f3k',
          'jobctl audit log --user alice@example.org --since 7d --output json',
        ],
        run: async () => (await import('./verbs/access.js')).auditLog,
      }),
      defineVerb({
        name: 'leaks',
        summary: 'find slices that no open job owns',
        description:
          'Lists the resources of this installation in the cloud, without the workers, and exits with 1 if one of them has no open job.',
        place: { temporal: 'it judges from Temporal, the bucket and the cloud, and not by what a server says' },
        flags: [
          [
            '--grace <duration>',
            'ignore jobs that closed less than this ago: they may still be cleaning up',
            durationOption,
            DEFAULT_GRACE_MS,
            '60s',
          ],
          ['--google-project <id>', 'the Google Cloud project to list'],
          ['--tpu-rest-endpoint <url>', "another Cloud TPU API than Google's"],
          outputOption(),
        ],
        examples: ['jobctl audit leaks --grace 5m --output json'],
        run: async () => (await import('../doctor/audit/audit-leaks.js')).auditLeaks,
      }),
    ],
  }),
];

function usd(text: string): number {
  const value = Number(text);
  if (/^\d+(?:\.\d+)?$/.test(text) && value > 0 && value <= 100) return value;
  throw new InvalidArgumentError('An amount in USD above 0, 100 at most.');
}

export const NOTIFY = defineVerb({
  name: 'notify',
  description: 'try who is told of jobs',
  examples: ['jobctl notify test train.yaml'],
  verbs: [
    defineVerb({
      name: 'test',
      summary: 'send a test event to those whom a job file tells',
      description:
        "Has a worker send one event to each target of the job file's notify, by the code and the rights that a job's own events are sent by. Says of each target whether it was told; exit code 1 if one was not.",
      place: { temporal: 'it starts a workflow of its own, which a worker carries out' },
      arguments: [['[job-file]', 'the job file']],
      flags: [
        ['--channel <name...>', 'channels of the operator, in place of a job file or beside it'],
        ['--pool <name>', "the pool whose rules count; the job file's without it"],
        ['--set <key=value>', 'set a value of the job file; may be repeated', collect],
        outputOption(),
      ],
      examples: ['jobctl notify test train.yaml', 'jobctl notify test --channel oncall'],
      run: async () => (await import('./verbs/notify.js')).notifyTest,
    }),
  ],
});
