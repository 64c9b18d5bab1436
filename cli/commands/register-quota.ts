import { Option } from 'commander';
import type { Command } from 'commander';
import { byOption } from '../jobs/job-filter.js';
import { durationOption, type Invocation, outputOption, wholeNumber, withConnection } from '../terminal/options.js';
import type { QuotaAdmissionFlags, QuotaPriorityFlags, QuotaReleaseFlags } from './verbs/quota-operations.js';
import type { QuotaApplyFlags } from './verbs/quota-apply.js';
import type { QuotaFmtFlags, QuotaValidateFlags } from './verbs/quota-files.js';
import type { QuotaHistoryFlags } from './verbs/quota-history.js';
import type { QuotaPlanFlags } from './verbs/quota-plan.js';
import type { QuotaShowFlags } from './verbs/quota-show.js';

const GROUP_NOTES = `
A pool is the chips that one quota file divides; docs/quota.md has the rules. \`jobctl doctor --gcp\` checks Google's own quota, zone by
zone.

Example:
  jobctl quota show
`;

/** Adds `quota show | apply | history | ..`. Each verb loads its modules when it is used. */
export function registerQuota(program: Command, invocation: Invocation): void {
  const group = program
    .command('quota')
    .description('show and change the quota of a pool')
    .addHelpText('after', GROUP_NOTES);
  registerShow(group, invocation);
  registerHistory(group, invocation);
  registerPlan(group, invocation);
  registerValidate(group, invocation);
  registerFmt(group, invocation);
  registerApply(group, invocation);
  registerAdmission(group, invocation);
  registerPriority(group, invocation);
  registerRelease(group, invocation);
}

const poolOption = (): Option => new Option('--pool <name>', 'the pool').default('default');

const SHOW_NOTES = `
It reads the state that a worker published in the bucket, and asks no server; the line "as of" tells the age of that state.
Borrowed are leases that are not part of their project's nominal quota. Lent is unused nominal quota that other projects have borrowed,
divided among the projects that leave some unused. A draining lease counts in its tier until its slices are seen gone.

Examples:
  jobctl quota show
  jobctl quota show --jobs
  jobctl quota show --pool research --output json
`;

function registerShow(group: Command, invocation: Invocation): void {
  const command = group
    .command('show')
    .summary('show who has how much')
    .description(
      'Shows a pool: its tiers, and the units of each project and type that are nominal, used, borrowed, lent and waited for.',
    )
    .addOption(poolOption())
    .option('--jobs', 'also show each job with a lease')
    .addOption(outputOption())
    .addHelpText('after', SHOW_NOTES);
  withConnection(command).action(async (flags: QuotaShowFlags) => {
    const { quotaShow } = await import('./verbs/quota-show.js');
    invocation.exitCode = await quotaShow(flags);
  });
}

const DAY_MS = 86_400_000;
const HISTORY_NOTES = `
Chip-hours count from the time when all slices were ready until they were lost or seen gone; open leases count until now. Lines are
written some 30 s late. The last lines say what is not known.

Examples:
  jobctl quota history --since 12h --user alice
  jobctl quota history --since 30d --project vision --output json
`;

function registerHistory(group: Command, invocation: Invocation): void {
  const command = group
    .command('history')
    .summary('show who got which chips when, and chip-hours')
    .description('Shows who got which chips when, chip-hours by project and user, and what operators changed.')
    .addOption(poolOption())
    .addOption(new Option('--since <duration>', 'how far back').argParser(durationOption).default(DAY_MS, '1d'))
    .option('--project <project>', 'jobs of this quota project only')
    .option('--user <user>', 'jobs of this user only')
    .addOption(new Option('--limit <rows>', 'the most leases').argParser(wholeNumber(1, 100_000)).default(50))
    .addOption(outputOption())
    .addHelpText('after', HISTORY_NOTES);
  withConnection(command).action(async (flags: QuotaHistoryFlags) => {
    const { quotaHistory } = await import('./verbs/quota-history.js');
    invocation.exitCode = await quotaHistory(flags);
  });
}

const PLAN_NOTES = `
Without --state it decides on the pool as published, under the files in force or those named. With --state it decides on a pool that
is written down, and needs no server. docs/quota.md, "What if", has both forms.

Examples:
  jobctl quota plan
  jobctl quota plan --quota quota.toml --pool-file pool.toml
  jobctl quota plan --quota quota.toml --state state.json --output json
`;

function registerPlan(group: Command, invocation: Invocation): void {
  const command = group
    .command('plan')
    .summary('show what a decision would do')
    .description(
      'Shows what one decision would do: who starts, who is preempted for whom, who continues to wait and why.',
    )
    .option('--quota <file>', "a quota file (Bastion's TOML) (default: the one in force)")
    .option('--pool-file <file>', 'the pool file beside it (TOML) (default: the rules in force)')
    .option('--state <file>', 'a pool that is written down (JSON; - is standard input)')
    .option('--pool <name>', 'the pool (default: "default"); with --state: the pool file')
    .addOption(outputOption())
    .addHelpText('after', PLAN_NOTES);
  withConnection(command).action(async (flags: QuotaPlanFlags) => {
    const { quotaPlan } = await import('./verbs/quota-plan.js');
    invocation.exitCode = await quotaPlan(flags);
  });
}

function registerValidate(group: Command, invocation: Invocation): void {
  group
    .command('validate')
    .summary('check a quota file')
    .description('Checks a quota file, alone or together with its pool file, and prints a summary. It needs no server.')
    .argument('<file>', "the quota file (Bastion's TOML)")
    .option('--pool-file <file>', 'the pool file beside it (TOML)')
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  jobctl quota validate quota.toml --pool-file pool.toml\n')
    .action(async (file: string, flags: QuotaValidateFlags) => {
      const { quotaValidate } = await import('./verbs/quota-files.js');
      invocation.exitCode = await quotaValidate(file, flags);
    });
}

function registerFmt(group: Command, invocation: Invocation): void {
  group
    .command('fmt')
    .summary('give a quota or pool file its normal spacing')
    .description('Prints a quota or pool file in its normal spacing. Comments, order and values stay as they are.')
    .argument('<file>', 'a quota file or a pool file (TOML)')
    .option('-w, --write', 'write the result into the file')
    .addHelpText('after', '\nExample:\n  jobctl quota fmt quota.toml --write\n')
    .action(async (file: string, flags: QuotaFmtFlags) => {
      const { quotaFmt } = await import('./verbs/quota-files.js');
      invocation.exitCode = await quotaFmt(file, flags);
    });
}

const APPLY_NOTES = `
A file that is not given stays in force. A wrong file is refused with every problem and its place, and nothing changes. If the workers'
configuration names a path or a URL for a file of the pool, apply is refused: change the file there. A pool that never ran is started.

Examples:
  jobctl quota apply quota.toml
  jobctl quota apply quota.toml --pool-file pool.toml --pool research
  jobctl quota apply quota.toml --yes --output json
`;

function registerApply(group: Command, invocation: Invocation): void {
  const command = group
    .command('apply')
    .summary('put a quota file in force')
    .description('Checks a quota file, shows what it changes and who would be preempted, asks, and puts it in force.')
    .argument('[file]', "the quota file (Bastion's TOML)")
    .option('--pool-file <file>', 'the pool file beside it (TOML)')
    .addOption(poolOption())
    .addOption(byOption())
    .option('-y, --yes', 'do not ask; needed in a pipe')
    .addOption(outputOption())
    .addHelpText('after', APPLY_NOTES);
  withConnection(command).action(async (file: string | undefined, flags: QuotaApplyFlags) => {
    const { quotaApply } = await import('./verbs/quota-apply.js');
    invocation.exitCode = await quotaApply(file, flags);
  });
}

function registerAdmission(group: Command, invocation: Invocation): void {
  const verbs = [
    ['freeze', 'frozen', 'grant nothing new', 'Grants nothing new, and touches nothing that runs, until `quota thaw`.'],
    [
      'drain',
      'draining',
      'ask all chips back',
      'Grants nothing new and asks every lease back, with notice: its job saves its state and waits until `quota thaw`.',
    ],
    ['thaw', 'open', 'end a freeze or a drain', 'Ends a freeze or a drain: the pool grants chips again.'],
  ] as const;
  for (const [name, admission, summary, description] of verbs) {
    const command = group
      .command(name)
      .summary(summary)
      .description(description)
      .addOption(poolOption())
      .option('--reason <text>', 'shown by `quota show` and `why`')
      .addOption(byOption());
    if (name === 'drain') command.option('-y, --yes', 'do not ask; needed in a pipe');
    const reason = name === 'thaw' ? '' : " --reason 'maintenance until 14:00'";
    command.addOption(outputOption()).addHelpText('after', `\nExample:\n  jobctl quota ${name}${reason}\n`);
    withConnection(command).action(async (flags: QuotaAdmissionFlags) => {
      const { quotaAdmission } = await import('./verbs/quota-operations.js');
      invocation.exitCode = await quotaAdmission(admission, flags);
    });
  }
}

const RELEASE_NOTES = `
A lease counts until its slices were seen gone. If their deletion does not end (a project that was deleted, a right that was taken away),
\`quota show\` lists them under STUCK with what the provider answered last. Look yourself, in the console or on the machine, that nothing
of them runs. Then release the lease: you vouch for it, and the reason is kept in the pool's history. It is for admins of the pool, and
is refused while the deletion can still end by itself. For machines of your own see \`jobctl machines forget\`.

Example:
  jobctl quota release train-7f3k --because 'project p-old was deleted; looked at its billing'
`;

function registerRelease(group: Command, invocation: Invocation): void {
  const command = group
    .command('release')
    .summary('free chips whose slices cannot be deleted')
    .description("Stops waiting for a job's slices whose deletion does not end, so that their chips are free.")
    .argument('<job>', "the job's id")
    .requiredOption('--because <text>', 'how you know that nothing of them is left')
    .option('--pool <name>', "the pool; the job's without it")
    .addOption(byOption())
    .addOption(outputOption())
    .addHelpText('after', RELEASE_NOTES);
  withConnection(command).action(async (job: string, flags: QuotaReleaseFlags) => {
    const { quotaRelease } = await import('./verbs/quota-operations.js');
    invocation.exitCode = await quotaRelease(job, flags);
  });
}

function registerPriority(group: Command, invocation: Invocation): void {
  const command = group
    .command('set-priority')
    .summary("change an open job's priority")
    .description(
      "Gives an open job another priority, which decides its place among its project's jobs and who is preempted.",
    )
    .argument('<job>', "the job's id")
    .argument('<number>', '1 (high) to 5 (low)', wholeNumber(1, 5))
    .addOption(byOption())
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  jobctl quota set-priority train-7f3k 2\n');
  withConnection(command).action(async (job: string, priority: number, flags: QuotaPriorityFlags) => {
    const { quotaPriority } = await import('./verbs/quota-operations.js');
    invocation.exitCode = await quotaPriority(job, priority, flags);
  });
}
