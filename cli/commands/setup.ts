import { Option } from 'commander';
import { DEFAULT_RETENTION_MS } from '../../client/namespace.js';
import { BY } from '../jobs/job-filter.js';
import { collect, durationOption, outputOption, wholeNumber } from '../terminal/options.js';
import { defineVerb } from './define-verb.js';

const API_KEY_LIFE_MS = 90 * 86_400_000;
/** The largest uid; the next one, (uid_t)-1, means no user. */
const MOST_UID = 4_294_967_294;

export const SETUP = defineVerb({
  name: 'setup',
  summary: "set a job's hosts up again; `setup server`, `setup job-keys` and `setup api-keys` prepare workers",
  description:
    'Sets the modules of an open job up again on its hosts, beside its command. Unchanged modules are left alone. Returns at once.',
  place: 'either',
  arguments: [['[job]', "the job's id"]],
  flags: [
    ['--module <name>', 'only this module; may be repeated', collect],
    ['--force', 'set unchanged modules up too'],
    BY,
    outputOption(),
  ],
  notes: `
The job must be running, paused or kept. \`jobctl logs JOB --job\` says how the set-up ended, \`--module NAME\` what a module printed.
`,
  examples: [
    'jobctl setup train-7f3k --module venv --force',
    'jobctl logs train-7f3k --job -f',
    'jobctl setup server --bucket my-jobs',
  ],
  run: async () => (await import('./verbs/life.js')).setup,
  verbs: [
    defineVerb({
      name: 'server',
      summary: 'prepare a Temporal namespace and a bucket for workers',
      description:
        "Prepares a Temporal namespace for workers (retention, search attributes, the janitor's schedule) and a bucket (the id of this installation).",
      place: { temporal: 'it prepares the Temporal namespace and the bucket that a server stands on' },
      flags: [
        [
          '--retention <duration>',
          'the least time for which closed jobs are kept',
          durationOption,
          DEFAULT_RETENTION_MS,
          '30d',
        ],
        ['--temporal-cloud', "print the commands for Temporal Cloud's own tools (default for its addresses)"],
        ['--google-project <id>', 'the Google Cloud project of the bucket'],
        [
          '--take-over',
          'the task queue is claimed by another installation, which is gone for good: it is this one from now on',
        ],
        ['--activate <change>', 'activate a change of workflow code; may be repeated', collect],
        ['--deactivate <change>', 'deactivate a change for workflows that have not begun it; may be repeated', collect],
        outputOption(),
      ],
      notes: `
Repeating is safe: nothing that exists is changed, and no retention is shortened. Exit code 1: a part has to be done by hand, and its
commands were printed. docs/operations.md leads from an empty computer to a first job.

A new version may change how workflows run while jobs are open. Its changes are listed last. Activate them when every worker is of
that version; until then you can go back to the version before (docs/operations.md, "Upgrade").
`,
      examples: ['jobctl setup server --temporal-address 127.0.0.1:7233 --bucket my-jobs --google-project my-project'],
      run: async () => (await import('./verbs/setup-server.js')).setupServer,
    }),
    defineVerb({
      name: 'job-keys',
      summary: 'make a secret for SSH keys of jobs',
      description:
        'Makes a secret that the SSH keys of jobs are made from, on stdout or in a file that only you can read. Keep a copy.',
      flags: [
        ['--file <file>', 'the file to make; an existing file is not touched'],
        ['--id <id>', 'its id, readable in the records of jobs (the day and some digits)'],
      ],
      notes: `
Each job has an SSH key of its own, made from this secret; without one all jobs have the installation's key. docs/operations.md ("A key
for each job") says how workers learn of it, and how it is replaced. The local stack makes its own.
`,
      examples: [
        'jobctl setup job-keys --file job-key-secret',
        'jobctl setup job-keys | gcloud secrets create my-job-keys --data-file=-',
      ],
      run: async () => (await import('./verbs/setup-keys.js')).setupJobKeys,
    }),
    defineVerb({
      name: 'api-keys',
      summary: 'make API keys for a Temporal server with its own authorizer',
      description:
        'Makes API keys for workers, servers and people, and the public key set by which a Temporal server verifies them.',
      flags: [
        new Option('--folder <folder>', 'where they are kept, a folder for each holder').makeOptionMandatory(),
        ['--namespace <name>', 'the namespace that they give rights in (TEMPORAL_NAMESPACE, else default)'],
        ['--valid-for <duration>', 'how long the API keys are good', durationOption, API_KEY_LIFE_MS, '90d'],
        [
          '--for-uid <uid>',
          "give the folders to this account, such as 1000 of docker compose's containers",
          wholeNumber(0, MOST_UID),
        ],
        ['--rotate', 'sign with another key; API keys of the one before stay good until the next rotation'],
        outputOption(),
      ],
      notes: `
A Temporal server with its own authorizer takes a call only with an API key that these keys have signed. Repeated, the command makes new
API keys, which workers and servers read by themselves. docs/security.md leads through it; docker-compose.verified.yml has the server's
part.
`,
      examples: [
        'jobctl setup api-keys --folder api-keys --namespace tpu',
        'jobctl setup api-keys --folder api-keys --namespace tpu --rotate',
        'sudo jobctl setup api-keys --folder api-keys --namespace default --for-uid 1000',
      ],
      run: async () => (await import('./verbs/setup-keys.js')).setupApiKeys,
    }),
  ],
});
