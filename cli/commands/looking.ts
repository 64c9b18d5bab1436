import { Option } from 'commander';
import { parseHostChoice, filterFlags, JOB, JOBS, manyFlags, SORTS, sinceOption } from '../jobs/job-filter.js';
import { GROUPINGS } from '../../domain/counted/report.js';
import { STORAGE_GROUPINGS } from '../../domain/counted/storage.js';
import { collect, durationOption, type Flag, outputOption, wholeNumber } from '../terminal/options.js';
import { defineVerb, type Verb } from './define-verb.js';

const MONTH_MS = 30 * 86_400_000;

const ownerFlags = (): readonly Flag[] => [
  ['--project <name>', 'jobs of this project only'],
  ['--user <name>', 'jobs of this user only'],
  ['--pool <name>', 'jobs of this pool only'],
];

const reportFlags = (): readonly Flag[] => [
  new Option('--by <what>', 'one line for each').choices([...GROUPINGS]).default('project'),
  [
    '--since <time>',
    'jobs that ended since 30d ago, or a day such as 2026-11-01',
    sinceOption,
    Date.now() - MONTH_MS,
    '30d',
  ],
  ...ownerFlags(),
  ['--ended', 'leave out jobs that have not ended, so that no server is asked'],
  new Option('-o, --output <format>', 'the form').choices(['table', 'csv', 'json', 'svg']).default('table'),
];

/** Verbs that only read jobs. */
export const LOOKING_VERBS: readonly Verb[] = [
  defineVerb({
    name: 'list',
    nearWords: ['ls', 'ps', 'queue'],
    summary: 'show the jobs that run, wait, or have ended',
    description: 'Lists jobs as a board, with the phase of each, the time in it, and the reason.',
    place: 'either',
    flags: [
      ...filterFlags('also jobs that ended more than a day ago'),
      new Option('--sort <key>', 'the order').choices(SORTS).default('board'),
      ['--group <group>', 'members of this group only'],
      ['--limit <rows>', 'the most rows', wholeNumber(1, 100_000), 100],
      ['--watch', 'draw the board again every 2 s, until Ctrl-C'],
      outputOption(),
    ],
    notes: `
Jobs that hold chips come first, then jobs in line by their place, then jobs that ended within a day, the latest first. --all also shows
jobs that ended before, as long as Temporal keeps them. --sort board is this order.
`,
    examples: [
      'jobctl list --mine',
      'jobctl list --user alice --phase queued,running',
      "jobctl list --name 'lr-*' --since 7d",
      'jobctl list --watch',
    ],
    run: async () => (await import('./verbs/list.js')).list,
  }),
  defineVerb({
    name: 'top',
    summary: 'show who holds the chips',
    description:
      'Shows who holds the chips of a pool: users with what they hold and wait for, then jobs, the largest first.',
    place: 'either',
    flags: [
      ['--pool <name>', 'the pool', undefined, 'default'],
      ['--limit <rows>', 'the most jobs', wholeNumber(1, 100_000), 50],
      outputOption(),
    ],
    notes: `
It reads the state of the pool that a worker published last; the first line tells the age of that state. Borrowed chips are not part of
the project's nominal quota, and go back when the project that owns them asks for them.
`,
    examples: ['jobctl top'],
    run: async () => (await import('./verbs/pool.js')).top,
  }),
  defineVerb({
    name: 'capacity',
    summary: 'show where the pool has got chips lately',
    description:
      "Shows what a pool's jobs have seen lately, by zone, type and pricing: asked, got, waits, preemptions, the last refusal.",
    place: 'either',
    flags: [['--pool <name>', 'the pool', undefined, 'default'], outputOption()],
    notes: `
ASKED and GOT are requests for whole gangs: the last 20 of the last 7 days. WAIT is the median time from a request to all slices ready.
PREEMPTED is per slice-hour; what is a day old counts half. It is what this pool's jobs have seen, and no promise. Zones of \`zones: any\`
are asked in an order that is made of it.
`,
    examples: ['jobctl capacity --pool research'],
    run: async () => (await import('./verbs/pool.js')).capacity,
  }),
  defineVerb({
    name: 'status',
    summary: 'show everything about jobs',
    description:
      'Shows a job: its phase, attempt, slices and hosts, what it waits for, what happened to it, and where its logs are.',
    place: 'either',
    arguments: [JOBS],
    flags: [
      ...manyFlags('also jobs that ended more than a day ago'),
      ['--timeline', 'show who waited for what: each phase, and each module on each host'],
      ['--metric <name>', 'of a group: the last value of this metric for each member'],
      new Option('--best <which>', 'with --metric: also the best value').choices(['min', 'max']),
    ],
    examples: [
      'jobctl status train-7f3k',
      'jobctl status train-7f3k --timeline',
      'jobctl status sweep-0q1d --metric loss --best min',
      'jobctl status --mine --phase running',
    ],
    run: async () => (await import('./verbs/status.js')).status,
  }),
  defineVerb({
    name: 'goodput',
    summary: "show where a job's chip-time went, and what it cost",
    description:
      'Shows where the chip-time of a job went: waiting, set-up, useful work, work lost, restarts, idle, draining; and its cost.',
    place: 'either',
    arguments: [JOB],
    flags: [outputOption()],
    notes: `
Each chip-second of the job's leases is in one part. Goodput is the useful share of what is charged. Work that was done again after a
preemption is known once the job has ended, if its command prints a counter of its steps.
`,
    examples: ['jobctl goodput train-7f3k', 'jobctl goodput train-7f3k -o json'],
    run: async () => (await import('./verbs/goodput.js')).goodput,
  }),
  defineVerb({
    name: 'report',
    description: 'sum up what jobs used, cost, got done, waited for and keep',
    examples: ['jobctl report cost --by user --since 30d'],
    verbs: [
      defineVerb({
        name: 'usage',
        description: 'Sums up the chip-hours of jobs, by project, user, pool, accelerator, zone or day.',
        place: 'either',
        flags: reportFlags(),
        examples: ['jobctl report usage --by project --since 7d'],
        run: async () => (await import('./verbs/report.js')).reportUsage,
      }),
      defineVerb({
        name: 'cost',
        description: 'Sums up what jobs cost, by the list of public prices or by the price file of the operator.',
        place: 'either',
        flags: reportFlags(),
        notes: `
A price that is not known is never taken for 0: its chip-hours are shown apart. Each job has the prices of the day on which it was
accepted; docs/counted.md says how an operator gives others.
`,
        examples: ['jobctl report cost --by user --since 30d', 'jobctl report cost --by day -o csv > cost.csv'],
        run: async () => (await import('./verbs/report.js')).reportCost,
      }),
      defineVerb({
        name: 'goodput',
        description: 'Sums up where chip-time went: waiting, set-up, useful work, work lost, restarts, idle, draining.',
        place: 'either',
        flags: reportFlags(),
        examples: ['jobctl report goodput --by pool -o svg > goodput.svg'],
        run: async () => (await import('./verbs/report.js')).reportGoodput,
      }),
      defineVerb({
        name: 'availability',
        description:
          'Sums up how long jobs waited for chips that their pool had granted, and how often they lost them.',
        place: 'either',
        flags: reportFlags(),
        notes: `
The mean wait is over chips, from the lease to the slice. \`jobctl capacity\` says where there were chips in the last hours.
`,
        examples: ['jobctl report availability --by zone --since 30d', 'jobctl report availability --by accelerator'],
        run: async () => (await import('./verbs/report.js')).reportAvailability,
      }),
      defineVerb({
        name: 'storage',
        description: 'Sums up what jobs keep in the bucket: logs, outputs, records, uploads.',
        place: { bucket: 'it lists every object, which a server does not do for its callers' },
        flags: [
          new Option('--by <what>', 'one line for each').choices([...STORAGE_GROUPINGS]).default('project'),
          ...ownerFlags(),
          ['--limit <rows>', 'the most rows of the table', wholeNumber(1, 100_000), 40],
          new Option('-o, --output <format>', 'the form').choices(['table', 'csv', 'json']).default('table'),
        ],
        notes: `
It asks the store for 1,000 objects at a time, and looks at jobctl's own objects alone. OLDEST and NEWEST say how long ago an object
was last written. \`jobctl delete JOB --purge\` removes what a job keeps.
`,
        examples: [
          'jobctl report storage --by user',
          'jobctl report storage --by job --project vision -o csv > jobs.csv',
        ],
        run: async () => (await import('./verbs/report-storage.js')).reportStorage,
      }),
      defineVerb({
        name: 'cloud-quota',
        description:
          "Shows Google's own quota for Cloud TPU by zone, and how much of it nodes take, whoever made them.",
        flags: [
          [
            '--google-project <id>',
            'JOBCTL_GOOGLE_PROJECT: the project (default: that of the credentials, or of gcloud)',
          ],
          ['--zone <zone>', 'also this zone, if it has no limit of its own; may be repeated', collect],
          ['--all', "also Compute Engine's quotas of which nothing is in use"],
          new Option('-o, --output <format>', 'the form').choices(['table', 'csv', 'json']).default('table'),
          new Option('--google-api-endpoint <url>', 'JOBCTL_GOOGLE_API_ENDPOINT').hideHelp(),
        ],
        notes: `
Quota is what Google allows a project to ask for. It is no promise of chips: \`jobctl capacity\` says where there were any, and
\`jobctl quota\` what a pool gives to whom. IN USE counts the unit of the type's name: 16 for a v5litepod-16, 8 for a v4-8.
`,
        examples: [
          'jobctl report cloud-quota',
          'jobctl report cloud-quota --google-project my-project --zone us-east5-b',
        ],
        run: async () => (await import('./verbs/report-cloud-quota.js')).reportCloudQuota,
      }),
    ],
  }),
  defineVerb({
    name: 'why',
    summary: 'explain why a job waits, or is in its phase',
    description:
      'Explains a job: its place in line, every reason why it waits, who has the chips, what would help, and when rules do.',
    place: 'either',
    arguments: [JOB],
    flags: [outputOption()],
    notes: `
For a job that waits it reads the state of the pool that a worker published last; the last line tells the age of that state. Chips "come
free" when the jobs that hold them end, pause or give them back. A number behind the name of a job, such as (48), is its quota units.
`,
    examples: ['jobctl why sweep-0q1d'],
    run: async () => (await import('./verbs/why.js')).why,
  }),
  defineVerb({
    name: 'logs',
    summary: "print a job's logs",
    description: "Prints what a job's command wrote in its last attempt, on all hosts.",
    place: 'either',
    arguments: [JOB],
    flags: [
      ['-f, --follow', 'follow the log until the job has ended, over all later attempts'],
      ['--host <hosts>', 'lines of these hosts: 0, 0,2, 0-3 or all', parseHostChoice],
      ['--member <index>', 'with the id of a group: lines of this member', wholeNumber(0, 9_999)],
      ['--tail <lines>', 'this many lines from the end, of each host', wholeNumber(0, 10_000_000)],
      ['--since <time>', 'from 10m ago, or a time such as 2026-11-23T10:00:00Z', sinceOption],
      ['--grep <regex>', 'lines that match this regular expression (RE2 syntax; (?i) at the front ignores case)'],
      ['--timestamps', 'put the time at which it was stored before each line'],
      ['--attempt <number>', 'lines of this attempt (default: the last)', wholeNumber(1, 100_000)],
      [
        '--module <name>',
        'the log of a set-up module, of the build of its image (build) or of a hook, such as hook-finally, instead',
      ],
      new Option('--job', 'the log of what jobctl did for the job, instead').conflicts([
        ...['host', 'attempt', 'module', 'tail', 'since', 'grep', 'timestamps'],
      ]),
      new Option('-o, --output <format>', 'text, or json: one object per line').choices(['text', 'json']),
    ],
    notes: `
Lines of several hosts are printed as \`HOST | line\`, lines of one (--host) as they were written, byte for byte. If the command did not
start because its set-up failed, the lines of the module that failed are printed instead; if its image is not built yet, or could not
be, those of the build.
--tail counts the lines of each host, and with --grep those that match. It reads only the end of the log.
--timestamps and --since use the time at which a piece of the log was stored, because single lines have no time. A piece holds up to
10 s of output (0.3 s in a command's first minute).
`,
    examples: [
      'jobctl logs train-7f3k --tail 20 --host 0,2',
      "jobctl logs -f train-7f3k --since 10m --grep 'loss|Error'",
      "jobctl logs train-7f3k -o json | jq -r 'select(.host == 2) | .text'",
      'jobctl logs train-7f3k',
      'jobctl logs -f train-7f3k --host 0',
      'jobctl logs train-7f3k --attempt 1 --module venv',
      'jobctl logs train-7f3k --job',
    ],
    run: async () => (await import('./verbs/logs.js')).logs,
  }),
  defineVerb({
    name: 'plot',
    nearWords: ['metrics'],
    summary: "draw what a job's program tells: loss, accuracy",
    description:
      "Draws metrics that the programs of jobs told, on the terminal or as SVG, or lists them. A group's id means its members.",
    place: 'either',
    arguments: [['<job...>', 'ids of jobs, or of groups']],
    flags: [
      ['--metric <name>', 'draw this metric; may be repeated (default: a table of all)', collect],
      new Option('--x <axis>', 'over steps, or over the time since the first value')
        .choices(['step', 'time'])
        .default('step'),
      new Option('--best <which>', 'the jobs with the best value first').choices(['min', 'max']),
      ['--svg <file>', 'write the drawing into this file'],
      ['--host <host>', 'what this host told', wholeNumber(0, 999_999), 0],
      ['--points <number>', 'the most points of a metric', wholeNumber(2, 5_000), 500],
      new Option('-o, --output <format>', 'text, or all values: json, csv')
        .choices(['text', 'json', 'csv'])
        .default('text'),
    ],
    notes: `
A program tells metrics by lines of its output such as \`JOBCTL_METRIC loss=0.31 acc=0.8 step=120\`, or by lines of JSON that it appends to
$JOBCTL_METRICS_FILE. A worker keeps them as it ships the log, up to 1,000 points of each of 100 metrics. After a restart, a step that is
told again takes the place of the earlier one and of all behind it.
`,
    examples: [
      'jobctl plot train-7f3k',
      'jobctl plot train-7f3k --metric loss',
      'jobctl plot sweep-0q1d --metric eval/acc --best max --svg acc.svg',
      'jobctl plot train-7f3k train-9b2c --metric loss --x time',
      'jobctl plot train-7f3k -o csv > metrics.csv',
    ],
    run: async () => (await import('./verbs/plot.js')).plot,
  }),
  defineVerb({
    name: 'wait',
    summary: 'wait until jobs have ended',
    description: "Waits until a job has ended, showing its phases, and exits with the job's own exit code.",
    place: 'either',
    arguments: [JOBS],
    flags: [
      ...manyFlags('all open jobs'),
      ['--timeout <duration>', 'give up after this time and exit 124', durationOption],
    ],
    notes: `
With several jobs it prints a line as each ends, and exits with 0 if all succeeded, else with 1.
`,
    examples: ['jobctl wait train-7f3k --timeout 2h', "jobctl wait --name 'lr-*'"],
    run: async () => (await import('./verbs/wait.js')).wait,
  }),
  defineVerb({
    name: 'export',
    summary: 'write what happened to a job as a file that replays as a test',
    description:
      "Writes one job's histories, attempt records, outcome and job log as one JSON file, without secrets, for an issue or a test.",
    place: { temporal: "it copies the whole histories of a job's workflows" },
    arguments: [JOB],
    flags: [['-o, --output <file>', 'the file to make, compressed if its name ends in .gz (default: standard output)']],
    notes: `
The file leaves out commands, variables and their names, secrets, scripts, logs of hosts, signatures, addresses, and every word that is
neither jobctl's nor Google's; equal words are replaced by equal words. If the installation encrypts payloads, --codec-key is needed, and
the file is in plain text. The file ("missing") and stderr name the parts that were not found. In test/incidents of jobctl's sources,
npm test plays the file (docs/operations.md, "An incident becomes a test").
`,
    examples: ['jobctl export train-7f3k -o train.json.gz', 'jobctl export train-7f3k | jq .expected'],
    run: async () => (await import('./verbs/export.js')).exportIncident,
  }),
];
