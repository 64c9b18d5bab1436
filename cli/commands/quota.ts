import { Option } from 'commander';
import type { Admission } from '../../client/pool-client.js';
import { BY, JOB } from '../jobs/job-filter.js';
import { durationOption, type Flag, outputOption, wholeNumber } from '../terminal/options.js';
import { defineVerb, type Verb } from './define-verb.js';
import type { QuotaAdmissionFlags } from './verbs/quota-operations.js';

const DAY_MS = 86_400_000;
const POOL: Flag = ['--pool <name>', 'the pool', undefined, 'default'];

function admissionVerb(name: string, admission: Admission, summary: string, description: string): Verb {
  return defineVerb({
    name,
    summary,
    description,
    place: 'either',
    flags: [
      POOL,
      ['--reason <text>', 'shown by `quota show` and `why`'],
      BY,
      ...(name === 'drain' ? [['-y, --yes', 'do not ask; needed in a pipe'] as const] : []),
      outputOption(),
    ],
    examples: [`jobctl quota ${name}${name === 'thaw' ? '' : " --reason 'maintenance until 14:00'"}`],
    run: async () => {
      const { quotaAdmission } = await import('./verbs/quota-operations.js');
      return (flags: QuotaAdmissionFlags) => quotaAdmission(admission, flags);
    },
  });
}

export const QUOTA = defineVerb({
  name: 'quota',
  description: 'show and change the quota of a pool',
  notes: `
A pool is the chips that one quota file divides; docs/quota.md has the rules. \`jobctl doctor --gcp\` checks Google's own quota, zone by
zone.
`,
  examples: ['jobctl quota show'],
  verbs: [
    defineVerb({
      name: 'show',
      summary: 'show who has how much',
      description:
        'Shows a pool: its tiers, and the units of each project and type that are nominal, used, borrowed, lent and waited for.',
      place: 'either',
      flags: [POOL, ['--jobs', 'also show each job with a lease'], outputOption()],
      notes: `
It reads the state that a worker published in the bucket, and asks no server; the line "as of" tells the age of that state.
Borrowed are leases that are not part of their project's nominal quota. Lent is unused nominal quota that other projects have borrowed,
divided among the projects that leave some unused. A draining lease counts in its tier until its slices are seen gone.
`,
      examples: ['jobctl quota show', 'jobctl quota show --jobs', 'jobctl quota show --pool research --output json'],
      run: async () => (await import('./verbs/quota-show.js')).quotaShow,
    }),
    defineVerb({
      name: 'history',
      summary: 'show who got which chips when, and chip-hours',
      description: 'Shows who got which chips when, chip-hours by project and user, and what operators changed.',
      place: 'either',
      flags: [
        POOL,
        ['--since <duration>', 'how far back', durationOption, DAY_MS, '1d'],
        ['--project <project>', 'jobs of this quota project only'],
        ['--user <user>', 'jobs of this user only'],
        ['--limit <rows>', 'the most leases', wholeNumber(1, 100_000), 50],
        outputOption(),
      ],
      notes: `
Chip-hours count from the time when all slices were ready until they were lost or seen gone; open leases count until now. Lines are
written some 30 s late. The last lines say what is not known.
`,
      examples: [
        'jobctl quota history --since 12h --user alice',
        'jobctl quota history --since 30d --project vision --output json',
      ],
      run: async () => (await import('./verbs/quota-history.js')).quotaHistory,
    }),
    defineVerb({
      name: 'plan',
      summary: 'show what a decision would do',
      description:
        'Shows what one decision would do: who starts, who is preempted for whom, who continues to wait and why.',
      place: 'either',
      flags: [
        ['--quota <file>', "a quota file (Bastion's TOML) (default: the one in force)"],
        ['--pool-file <file>', 'the pool file beside it (TOML) (default: the rules in force)'],
        ['--state <file>', 'a pool that is written down (JSON; - is standard input)'],
        ['--pool <name>', 'the pool (default: "default"); with --state: the pool file'],
        outputOption(),
      ],
      notes: `
Without --state it decides on the pool as published, under the files in force or those named. With --state it decides on a pool that
is written down, and needs no server. docs/quota.md, "What if", has both forms.
`,
      examples: [
        'jobctl quota plan',
        'jobctl quota plan --quota quota.toml --pool-file pool.toml',
        'jobctl quota plan --quota quota.toml --state state.json --output json',
      ],
      run: async () => (await import('./verbs/quota-plan.js')).quotaPlan,
    }),
    defineVerb({
      name: 'validate',
      summary: 'check a quota file',
      description:
        'Checks a quota file, alone or together with its pool file, and prints a summary. It needs no server.',
      arguments: [['<file>', "the quota file (Bastion's TOML)"]],
      flags: [['--pool-file <file>', 'the pool file beside it (TOML)'], outputOption()],
      examples: ['jobctl quota validate quota.toml --pool-file pool.toml'],
      run: async () => (await import('./verbs/quota-files.js')).quotaValidate,
    }),
    defineVerb({
      name: 'fmt',
      summary: 'give a quota or pool file its normal spacing',
      description: 'Prints a quota or pool file in its normal spacing. Comments, order and values stay as they are.',
      arguments: [['<file>', 'a quota file or a pool file (TOML)']],
      flags: [['-w, --write', 'write the result into the file']],
      examples: ['jobctl quota fmt quota.toml --write'],
      run: async () => (await import('./verbs/quota-files.js')).quotaFmt,
    }),
    defineVerb({
      name: 'apply',
      summary: 'put a quota file in force',
      description: 'Checks a quota file, shows what it changes and who would be preempted, asks, and puts it in force.',
      place: 'either',
      arguments: [['[file]', "the quota file (Bastion's TOML)"]],
      flags: [
        ['--pool-file <file>', 'the pool file beside it (TOML)'],
        POOL,
        BY,
        ['-y, --yes', 'do not ask; needed in a pipe'],
        outputOption(),
      ],
      notes: `
A file that is not given stays in force. A wrong file is refused with every problem and its place, and nothing changes. If the workers'
configuration names a path or a URL for a file of the pool, apply is refused: change the file there. A pool that never ran is started.
`,
      examples: [
        'jobctl quota apply quota.toml',
        'jobctl quota apply quota.toml --pool-file pool.toml --pool research',
        'jobctl quota apply quota.toml --yes --output json',
      ],
      run: async () => (await import('./verbs/quota-apply.js')).quotaApply,
    }),
    ...[
      admissionVerb(
        'freeze',
        'frozen',
        'grant nothing new',
        'Grants nothing new, and touches nothing that runs, until `quota thaw`.',
      ),
      admissionVerb(
        'drain',
        'draining',
        'ask all chips back',
        'Grants nothing new and asks every lease back, with notice: its job saves its state and waits until `quota thaw`.',
      ),
      admissionVerb(
        'thaw',
        'open',
        'end a freeze or a drain',
        'Ends a freeze or a drain: the pool grants chips again.',
      ),
    ],
    defineVerb({
      name: 'set-priority',
      summary: "change an open job's priority",
      description:
        "Gives an open job, or the members of a group, another priority, which decides its place among its project's jobs and who is preempted.",
      place: 'either',
      arguments: [JOB, ['<number>', '1 (high) to 5 (low)', wholeNumber(1, 5)]],
      flags: [BY, outputOption()],
      examples: ['jobctl quota set-priority train-7f3k 2'],
      run: async () => (await import('./verbs/quota-operations.js')).quotaPriority,
    }),
    defineVerb({
      name: 'release',
      summary: 'free chips whose slices cannot be deleted',
      description: "Stops waiting for a job's slices whose deletion does not end, so that their chips are free.",
      place: 'either',
      arguments: [JOB],
      flags: [
        new Option('--because <text>', 'how you know that nothing of them is left').makeOptionMandatory(),
        ['--pool <name>', "the pool; the job's without it"],
        BY,
        outputOption(),
      ],
      notes: `
A lease counts until its slices were seen gone. If their deletion does not end (a project that was deleted, a right that was taken away),
\`quota show\` lists them under STUCK with what the provider answered last. Look yourself, in the console or on the machine, that nothing
of them runs. Then release the lease: you vouch for it, and the reason is kept in the pool's history. It is for admins of the pool, and
is refused while the deletion can still end by itself. For machines of your own see \`jobctl machines forget\`.
`,
      examples: ["jobctl quota release train-7f3k --because 'project p-old was deleted; looked at its billing'"],
      run: async () => (await import('./verbs/quota-operations.js')).quotaRelease,
    }),
  ],
});
