import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the reader of a page has before he types its commands, how long they take, and how they end. */

interface Typed {
  readonly begins: RegExp;
  readonly page?: RegExp;
}
export const sceneOf = <T extends Typed>(list: readonly T[], page: string, command: string): T | undefined =>
  list.find((one) => one.begins.test(command) && (one.page?.test(page) ?? true));

export const COMMAND_MS = 240_000;
/** Commands that take longer. */
export const SLOW: readonly (Typed & { readonly ms: number })[] = [
  { begins: /^(npx )?jobctl (rehearse|submit .*train-jax)/u, ms: 1_500_000 },
];

/** Commands that end by Ctrl-C alone, and what they print before it. */
export const ENDLESS: readonly (Typed & { readonly prints: RegExp })[] = [
  { begins: /^jobctl port-forward/u, prints: /127\.0\.0\.1:\d+/u },
  { begins: /^jobctl codec serve/u, prints: /http/u },
  { begins: /^(npx )?jobctl worker /u, prints: /polls|ready/iu },
  { begins: /^jobctl logs \S+ --job -f/u, prints: /running/u },
  { begins: /^jobctl logs -f/u, prints: /loss/u },
  { begins: /^jobctl ui$/u, prints: /http:/u },
  { begins: /^jobctl rehearsal journal -f/u, prints: /./u },
];

/** Commands that go on in a terminal of their own while the next one of their page is typed, and what they print before that. */
export const BESIDE: readonly (Typed & { readonly prints: RegExp })[] = [
  { begins: /^npx jobctl submit .*--name fit/u, prints: /step 12 /u },
  { begins: /^npx jobctl submit .*--name try1/u, prints: /stored gs:/u },
];

/** Commands that ask, and what is answered on their terminal. */
export const ASKING: readonly (Typed & { readonly answer: string })[] = [
  { begins: /^jobctl cancel --name/u, answer: 'y' },
];

/** Commands that speak to Google; a rehearsal with TLS, tokens and permissions stands in for it. */
export const AT_GOOGLE: readonly Typed[] = [
  { page: /doctor|google-cloud/u, begins: /./u },
  { begins: /^(jobctl doctor --gcp|gcloud storage buckets create gs:\/\/my-)/u },
];

/** Exit codes that are what the reader wants: \`wait\` tells that the job was cancelled, a refusal shows its text. */
export const EXIT_CODES: readonly (Typed & { readonly codes: readonly number[] })[] = [
  { begins: /^jobctl list; jobctl cancel JOB; jobctl wait JOB/u, codes: [130] },
  { begins: /^jobctl wait --name 'lr-\*'/u, codes: [0, 1] },
  { begins: /^jobctl restart train-7f3k --set tpu.accelerator/u, codes: [4] },
  { begins: /^jobctl (run exp-1 --force|validate task)/u, codes: [2] },
];

export const JOB = `name: train-7f3k
tpu: { accelerator: v5litepod-16, pricing: spot, zone: us-east5-a }
bundle: bundled
venv: { name: train, requirements_file: requirements.txt }
outputs: { every: 10s }
command: { run: "echo begun: loss 0.5; echo JOBCTL_METRIC loss=0.5 step=1; mkdir -p ~/logs; touch /tmp/trace.json $JOBCTL_OUTPUT_DIR/model; exec sleep 3600" }
`;

/** The page before may have stopped the stack, let its API fail, given it other files, named another server, or ended the job. */
export const BEGUN = [
  'rm -rf ~/.config/jobctl',
  'jobctl dev up --no-quota --no-pool-file --no-codec-key',
  'jobctl rehearsal fail --stop',
  'jobctl submit --local 7f3k.yaml --name train-7f3k',
  'jobctl quota thaw',
  'timeout 500 bash -c "until jobctl logs train-7f3k | grep begun; do sleep 1; done"',
  'cp ../state/worker.json .',
  'timeout 500 bash -c "until jobctl outputs train-7f3k; do sleep 1; done"',
].join(' && ');

const stackValue = (path: string): string => `$(node -p "require('../state/context.json').${path}")`;

const bucket = (name: string): string =>
  `gcloud storage buckets create gs://${name} --project=my-project --location=us-central1 --uniform-bucket-level-access`;

/** What has to happen before one command. */
export const JUST_BEFORE: readonly (Typed & { readonly runs: string })[] = [
  {
    page: /google-cloud/u,
    begins: /^jobctl list; jobctl cancel JOB/u,
    runs: 'jobctl submit 7f3k.yaml --name spare-docs-google-cloud-md',
  },
];

const OTHER_PORTS = `node -e "const c = require('./worker.json'); c.healthPort = 9091; c.metricsPort = 9465; fs.writeFileSync('worker.json', JSON.stringify(c))"`;

/** What else is there for a page. */
export const BEFORE: Readonly<Record<string, readonly string[]>> = {
  'README.md': ['jobctl submit 7f3k.yaml --name vit-b'],
  'docs/cli.md': [
    'rm -f job.yaml',
    'jobctl submit --wait train.yaml --name mods1',
    // A group of which one member fails.
    "jobctl submit train.yaml --name exp-7f3k --sweep env.CODE=0,1 --set 'command.run=exit $CODE'",
    'jobctl wait exp-7f3k || true',
    // So that they are queued.
    "jobctl quota freeze --reason 'new racks'",
    ...['lr-1', 'lr-2', 'lr-3'].map((name) => `jobctl submit train.yaml --name ${name}`),
  ],
  'docs/job-metrics.md': ['timeout 200 bash -c "until jobctl plot train-7f3k --metric loss; do sleep 1; done"'],
  'docs/doctor.md': [`${bucket('my-jobs')} || true`],
  'docs/google-cloud.md': [`${bucket('my-jobs')} || true`],
  'docs/quota.md': ['jobctl quota apply quota.toml --pool-file pool.toml --yes --pool verbs'],
  'docs/share-a-pool.md': ['jobctl dev up --quota quota.toml'],
  // The stack's own worker has its ports.
  'worker/README.md': [OTHER_PORTS],
  'docs/worker.md': [OTHER_PORTS],
  'docs/operations.md': [
    'jobctl dev up --pool-file pool.toml',
    bucket('my-project-jobctl'),
    `export JOBCTL_STORE_ENDPOINT=${stackValue('store.endpoint')}`,
  ],
};

/** Names that the pages use, and what they are here. */
export const HERE: Readonly<Record<string, string>> = {
  '127.0.0.1:7233': stackValue('temporal.address'),
  'JOBCTL_BUCKET=my-project-jobctl': `JOBCTL_BUCKET=${stackValue('store.bucket')}`,
  'JOBCTL_GOOGLE_PROJECT=my-project': `JOBCTL_GOOGLE_PROJECT=${stackValue('googleProject')}`,
};

/** The first block of a page in this language. */
function blockOf(root: string, page: string, language: string): string {
  const [, text] =
    new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'mu').exec(readFileSync(join(root, page), 'utf8')) ?? [];
  if (text === undefined) throw new Error(`${page} has no block of ${language}`);
  return text;
}

/** Files that a page shows, or speaks of; under its folder. */
export const filesFor = (root: string, page: string): Readonly<Record<string, string>> => {
  switch (page) {
    case 'docs/quota.md':
      return {
        'state.json': blockOf(root, page, 'json'),
        'quota.toml': QUOTA.replace('ann", "bob', 'alice'),
        'pool.toml': '[quota]\nadmins = ["root"]\n',
      };
    case 'docs/rehearsal.md':
      return { 'storm.yaml': blockOf(root, page, 'yaml') };
    case 'docs/share-a-pool.md':
      return { 'quota.toml': blockOf(root, page, 'toml') };
    case 'docs/operations.md':
      return { 'quota.toml': QUOTA, 'pool.toml': blockOf(root, page, 'toml') };
    default:
      return {};
  }
};
const QUOTA = `[toml-schema]
version = "1"
[[total_resources]]
v5litepod = 8
[project_membership]
vision = ["ann", "bob"]
[project_resources.vision]
v5litepod = 1
`;
