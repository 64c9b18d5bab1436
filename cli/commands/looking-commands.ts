import { Option } from 'commander';
import type { Command } from 'commander';
import { parseHostChoice } from '../jobs/hosts/host-options.js';
import { ofMany, SORTS, withFilters } from '../jobs/job-filter.js';
import { sinceOption } from '../jobs/log-window.js';
import { durationOption, type Invocation, outputOption, wholeNumber, withConnection } from '../terminal/options.js';
import type { CapacityFlags } from './verbs/capacity.js';
import type { ExportFlags } from './verbs/export.js';
import type { ListFlags } from './verbs/list.js';
import type { LogsFlags } from './verbs/logs.js';
import type { StatusFlags } from './verbs/status.js';
import type { TopFlags } from './verbs/top.js';
import type { WaitFlags } from './verbs/wait.js';
import type { WhyFlags } from './verbs/why.js';

/** Registers the verbs that only read jobs. Each loads its module when it is used. */
export function registerLookingVerbs(program: Command, invocation: Invocation): void {
  registerList(program, invocation);
  registerTop(program, invocation);
  registerCapacity(program, invocation);
  registerStatus(program, invocation);
  registerWhy(program, invocation);
  registerLogs(program, invocation);
  registerWait(program, invocation);
  registerExport(program, invocation);
}

const LIST_NOTES = `
Jobs that hold chips come first, then jobs in line by their place, then jobs that ended within a day, the latest first. --all also shows
jobs that ended before, as long as Temporal keeps them. --sort board is this order.

Examples:
  jobctl list --mine
  jobctl list --user alice --phase queued,running
  jobctl list --name 'lr-*' --since 7d
  jobctl list --watch
`;

function registerList(program: Command, invocation: Invocation): void {
  const command = program
    .command('list')
    .summary('show the jobs that run, wait, or have ended')
    .description('Lists jobs as a board, with the phase of each, the time in it, and the reason.');
  withFilters(command, 'also jobs that ended more than a day ago')
    .addOption(new Option('--sort <key>', 'the order').choices(SORTS).default('board'))
    .addOption(new Option('--limit <rows>', 'the most rows').argParser(wholeNumber(1, 100_000)).default(100))
    .option('--watch', 'draw the board again every 2 s, until Ctrl-C')
    .addOption(outputOption())
    .addHelpText('after', LIST_NOTES);
  withConnection(command).action(async (flags: ListFlags) => {
    const { list } = await import('./verbs/list.js');
    invocation.exitCode = await list(flags);
  });
}

const TOP_NOTES = `
It reads the state of the pool that a worker published last; the first line tells the age of that state. Borrowed chips are not part of
the project's nominal quota, and go back when the project that owns them asks for them.

Example:
  jobctl top
`;

function registerTop(program: Command, invocation: Invocation): void {
  const command = program
    .command('top')
    .summary('show who holds the chips')
    .description(
      'Shows who holds the chips of a pool: users with what they hold and wait for, then jobs, the largest first.',
    )
    .addOption(new Option('--pool <name>', 'the pool').default('default'))
    .addOption(new Option('--limit <rows>', 'the most jobs').argParser(wholeNumber(1, 100_000)).default(50))
    .addOption(outputOption())
    .addHelpText('after', TOP_NOTES);
  withConnection(command).action(async (flags: TopFlags) => {
    const { top } = await import('./verbs/top.js');
    invocation.exitCode = await top(flags);
  });
}

const CAPACITY_NOTES = `
ASKED and GOT are requests for whole gangs: the last 20 of the last 7 days. WAIT is the median time from a request to all slices ready.
PREEMPTED is per slice-hour; what is a day old counts half. It is what this pool's jobs have seen, and no promise. Zones of \`zones: any\`
are asked in an order that is made of it.

Example:
  jobctl capacity --pool research
`;

function registerCapacity(program: Command, invocation: Invocation): void {
  const command = program
    .command('capacity')
    .summary('show where the pool has got chips lately')
    .description(
      "Shows what a pool's jobs have seen lately, by zone, type and pricing: asked, got, waits, preemptions, the last refusal.",
    )
    .addOption(new Option('--pool <name>', 'the pool').default('default'))
    .addOption(outputOption())
    .addHelpText('after', CAPACITY_NOTES);
  withConnection(command).action(async (flags: CapacityFlags) => {
    const { capacity } = await import('./verbs/capacity.js');
    invocation.exitCode = await capacity(flags);
  });
}

const STATUS_NOTES = `
Examples:
  jobctl status train-7f3k
  jobctl status train-7f3k --timeline
  jobctl status --mine --phase running
`;

function registerStatus(program: Command, invocation: Invocation): void {
  const command = ofMany(program.command('status'), 'also jobs that ended more than a day ago')
    .summary('show everything about jobs')
    .description(
      'Shows a job: its phase, attempt, slices and hosts, what it waits for, what happened to it, and where its logs are.',
    )
    .option('--timeline', 'show who waited for what: each phase, and each module on each host')
    .addHelpText('after', STATUS_NOTES);
  withConnection(command).action(async (jobs: readonly string[], flags: StatusFlags) => {
    const { status } = await import('./verbs/status.js');
    invocation.exitCode = await status(jobs, flags);
  });
}

const WHY_NOTES = `
For a job that waits it reads the state of the pool that a worker published last; the last line tells the age of that state. Chips "come
free" when the jobs that hold them end, pause or give them back. A number behind the name of a job, such as (48), is its quota units.

Example:
  jobctl why sweep-0q1d
`;

function registerWhy(program: Command, invocation: Invocation): void {
  const command = program
    .command('why')
    .summary('explain why a job waits, or is in its phase')
    .description(
      'Explains a job: its place in line, every reason why it waits, who has the chips, what would help, and when rules do.',
    )
    .argument('<job>', "the job's id")
    .addOption(outputOption())
    .addHelpText('after', WHY_NOTES);
  withConnection(command).action(async (job: string, flags: WhyFlags) => {
    const { why } = await import('./verbs/why.js');
    invocation.exitCode = await why(job, flags);
  });
}

const LOGS_NOTES = `
Lines of several hosts are printed as \`HOST | line\`, lines of one (--host) as they were written, byte for byte. If the command did not
start because its set-up failed, the lines of the module that failed are printed instead; if its image is not built yet, or could not
be, those of the build.
--tail counts the lines of each host, and with --grep those that match. It reads only the end of the log.
--timestamps and --since use the time at which a piece of the log was stored, because single lines have no time. A piece holds up to
10 s of output (0.3 s in a command's first minute).

Examples:
  jobctl logs train-7f3k --tail 20 --host 0,2
  jobctl logs -f train-7f3k --since 10m --grep 'loss|Error'
  jobctl logs train-7f3k -o json | jq -r 'select(.host == 2) | .text'
  jobctl logs train-7f3k
  jobctl logs -f train-7f3k --host 0
  jobctl logs train-7f3k --attempt 1 --module venv
  jobctl logs train-7f3k --job
`;

function registerLogs(program: Command, invocation: Invocation): void {
  const command = program
    .command('logs')
    .summary("print a job's logs")
    .description("Prints what a job's command wrote in its last attempt, on all hosts.")
    .argument('<job>', "the job's id")
    .option('-f, --follow', 'follow the log until the job has ended, over all later attempts')
    .addOption(new Option('--host <hosts>', 'lines of these hosts: 0, 0,2, 0-3 or all').argParser(parseHostChoice))
    .addOption(
      new Option('--tail <lines>', 'this many lines from the end, of each host').argParser(wholeNumber(0, 10_000_000)),
    )
    .addOption(
      new Option('--since <time>', 'from 10m ago, or a time such as 2026-11-23T10:00:00Z').argParser(sinceOption),
    )
    .option('--grep <regex>', 'lines that match this regular expression (RE2 syntax; (?i) at the front ignores case)')
    .option('--timestamps', 'put the time at which it was stored before each line')
    .addOption(
      new Option('--attempt <number>', 'lines of this attempt (default: the last)').argParser(wholeNumber(1, 100_000)),
    )
    .option(
      '--module <name>',
      'the log of a set-up module, of the build of its image (build) or of a hook, such as hook-finally, instead',
    )
    .addOption(
      new Option('--job', 'the log of what jobctl did for the job, instead').conflicts([
        ...['host', 'attempt', 'module', 'tail', 'since', 'grep', 'timestamps'],
      ]),
    )
    .addOption(new Option('-o, --output <format>', 'text, or json: one object per line').choices(['text', 'json']))
    .addHelpText('after', LOGS_NOTES);
  withConnection(command).action(async (job: string, flags: LogsFlags) => {
    const { logs } = await import('./verbs/logs.js');
    invocation.exitCode = await logs(job, flags);
  });
}

const EXPORT_NOTES = `
The file leaves out commands, variables and their names, secrets, scripts, logs of hosts, signatures, addresses, and every word that is
neither jobctl's nor Google's; equal words are replaced by equal words. If the installation encrypts payloads, --codec-key is needed, and
the file is in plain text. The file ("missing") and stderr name the parts that were not found. In test/incidents of jobctl's sources,
npm test plays the file (docs/operations.md, "An incident becomes a test").

Examples:
  jobctl export train-7f3k -o train.json.gz
  jobctl export train-7f3k | jq .expected
`;

function registerExport(program: Command, invocation: Invocation): void {
  const command = program
    .command('export')
    .summary('write what happened to a job as a file that replays as a test')
    .description(
      "Writes one job's histories, attempt records, outcome and job log as one JSON file, without secrets, for an issue or a test.",
    )
    .argument('<job>', "the job's id")
    .option('-o, --output <file>', 'the file to make, compressed if its name ends in .gz (default: standard output)')
    .addHelpText('after', EXPORT_NOTES);
  withConnection(command).action(async (job: string, flags: ExportFlags) => {
    const { exportIncident } = await import('./verbs/export.js');
    invocation.exitCode = await exportIncident(job, flags);
  });
}

const WAIT_NOTES = `
With several jobs it prints a line as each ends, and exits with 0 if all succeeded, else with 1.

Examples:
  jobctl wait train-7f3k --timeout 2h
  jobctl wait --name 'lr-*'
`;

function registerWait(program: Command, invocation: Invocation): void {
  const command = ofMany(program.command('wait'), 'all open jobs')
    .summary('wait until jobs have ended')
    .description("Waits until a job has ended, showing its phases, and exits with the job's own exit code.")
    .addOption(new Option('--timeout <duration>', 'give up after this time and exit 124').argParser(durationOption))
    .addHelpText('after', WAIT_NOTES);
  withConnection(command).action(async (jobs: readonly string[], flags: WaitFlags) => {
    const { wait } = await import('./verbs/wait.js');
    invocation.exitCode = await wait(jobs, flags);
  });
}
