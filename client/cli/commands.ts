import { Option } from 'commander';
import type { Command } from 'commander';
import { parseHostChoice } from './hosts/host-options.js';
import { changingMany, ofMany, SORTS, withFilters } from './job-filter.js';
import { registerLifeVerbs } from './life-commands.js';
import { sinceOption } from './log-window.js';
import { collect, durationOption, type Invocation, outputOption, wholeNumber, withConnection } from './options.js';
import type { ExportFlags } from './verbs/export.js';
import type { InitFlags } from './verbs/init.js';
import type { ManyFlags } from './many/act-on-jobs.js';
import type { ListFlags } from './verbs/list.js';
import type { LogsFlags } from './verbs/logs.js';
import type { StatusFlags } from './verbs/status.js';
import type { SubmitFlags } from './verbs/submit.js';
import type { TopFlags } from './verbs/top.js';
import type { ValidateFlags } from './verbs/validate.js';
import type { WaitFlags } from './verbs/wait.js';
import type { WhyFlags } from './verbs/why.js';

/** The verbs for people with jobs. Each loads its module when it is used: `--help` must not wait for a gRPC client. */
export function registerJobVerbs(program: Command, invocation: Invocation): void {
  registerInit(program, invocation);
  registerSubmit(program, invocation);
  registerValidate(program, invocation);
  registerList(program, invocation);
  registerTop(program, invocation);
  registerStatus(program, invocation);
  registerWhy(program, invocation);
  registerLogs(program, invocation);
  registerWait(program, invocation);
  registerExport(program, invocation);
  registerCancel(program, invocation);
  registerLifeVerbs(program, invocation);
}

const INIT_NOTES = `
It looks for train.py, or a program with \`if __name__ == '__main__'\`, and for requirements.txt, environment.yml and pyproject.toml.
On a terminal it asks for the command, the type of slice and the zone; flags answer these, and without a terminal defaults do.

Examples:
  jobctl init
  jobctl init --tpu v6e-8 --zone us-east5-b --run 'python3 train.py --lr 3'
`;

function registerInit(program: Command, invocation: Invocation): void {
  program
    .command('init')
    .summary('write a job file for a folder')
    .description('Looks at a folder with a program and writes a job file, job.yaml, for it.')
    .argument('[folder]', 'the folder; the current one without it')
    .option('--run <command>', 'the command, a shell line (command.run)')
    .option('--tpu <type>', 'the type of Cloud TPU slice (tpu.accelerator)')
    .option('--zone <zone>', 'its zone (tpu.zone)')
    .option('--yes', 'ask nothing, take the defaults')
    .option('--force', 'overwrite a job.yaml that is there')
    .addHelpText('after', INIT_NOTES)
    .action(async (folder: string | undefined, flags: InitFlags) => {
      const { init } = await import('./verbs/init.js');
      invocation.exitCode = await init(folder ?? '.', flags);
    });
}

const SUBMIT_NOTES = `
Output:
  On a terminal: a header, then the next commands; with --wait the phases, and the lines of host 0 as \`HOST | line\`: hosts of one command print
  much the same. --host all shows every host's. If the command fails on another host, the last lines of that one come at the end.
  In a pipe: the job's id alone on stdout. With --wait stdout is these lines; the header with the id, the phases and the
  summary go to stderr. With --output json stdout is {"id": .., "verdict": ..}; with --wait it is {"id": ..} and a second line
  with the outcome. Ctrl-C leaves the job running.
  Without --wait, submit waits for the first verdict (about a second, 8 s at most): its place in line and what it waits for,
  or why it is refused (exit code 4).

Examples:
  jobctl submit train.yaml
  jobctl submit --local --wait examples/quick-start.yaml
  jobctl submit train.yaml --name exp-7 --set tpu.accelerator=v6e-8 --priority 2
  jobctl submit train.yaml --bundle . -- python3 train.py --lr 0.1
  jobctl submit --tpu v5litepod-16 --zone us-central1-a --spot --bundle . -- python3 train.py --lr 0.1
`;

function registerSubmit(program: Command, invocation: Invocation): void {
  const command = program
    .command('submit')
    .summary('submit a job file, or a command')
    .description(
      'Submits a job file. Words after `--` replace its command.run: several are quoted one by one, a single one is a shell line. Without a file, --tpu and the words after `--` are the job.',
    )
    .usage('[FILE] [options] [-- CMD..]')
    .argument('[file]', 'the job file (YAML)')
    .option('--tpu <type>', 'the type of Cloud TPU slice, such as v5litepod-16 (tpu.accelerator)')
    .option('--zone <zone>', 'its zone (tpu.zone)')
    .addOption(new Option('--slices <number>', 'slices of the gang (slices)').argParser(wholeNumber(1, 256)))
    .option('--pricing <pricing>', 'spot, ondemand, preemptible, reserved or any (tpu.pricing)')
    .addOption(new Option('--spot', 'the same as --pricing spot').conflicts('pricing'))
    .option('--dry-run', 'print the job file that would be submitted, and submit nothing')
    .option('--local', 'on the local stack; starts it if it is not up')
    .option('--wait', "follow the job; exits with the job's own exit code")
    .addOption(
      new Option('--host <hosts>', 'whose lines --wait shows: 0, 0,2, 0-3 or all; the first without it').argParser(
        parseHostChoice,
      ),
    )
    .option('--no-verdict', 'return as soon as the job is submitted, whatever its pool says of it')
    .option('--name <name>', "exactly the job's id; the same content again is the same job")
    .option('--set <key=value>', 'set a value of the file; may be repeated', collect)
    .option('--bundle <folder>', 'bring this folder to every host, and start the command in it')
    .option('--project <project>', 'the quota project')
    .option('--user <user>', 'who submits; your login name without it')
    .option('--literal-quotes', "pass words of the command that stand in '..' with their quotes")
    .addOption(new Option('--priority <number>', '1 (high) to 5 (low); 3 without it').argParser(wholeNumber(1, 5)))
    .addOption(outputOption())
    .addHelpText('after', SUBMIT_NOTES);
  withConnection(command).action(async (file: string | undefined, flags: SubmitFlags) => {
    const { submit } = await import('./verbs/submit.js');
    invocation.exitCode = await submit(file, flags, invocation.commandWords);
  });
}

const KINDS = ['job', 'pool', 'quota'] as const;
const VALIDATE_NOTES = `
Examples:
  jobctl validate train.yaml --set slices=2
  jobctl validate train.yaml --pool-file pool.toml
  jobctl validate pool.toml
`;

function registerValidate(program: Command, invocation: Invocation): void {
  program
    .command('validate')
    .summary('check a job file, or a pool or quota file')
    .description(
      'Checks a job file as submit does, or a pool or quota file, and says what it comes to. Needs no server.',
    )
    .argument('<file>', 'a job file (YAML), a pool file or a quota file (TOML)')
    .option('--set <key=value>', 'set a value of a job file; may be repeated', collect)
    .option('--pool-file <file>', "check a job file together with its pool's defaults")
    .addOption(new Option('--kind <kind>', 'what the file is, where its name and content do not tell').choices(KINDS))
    .addOption(outputOption())
    .addHelpText('after', VALIDATE_NOTES)
    .action(async (file: string, flags: ValidateFlags) => {
      const { validate } = await import('./verbs/validate.js');
      invocation.exitCode = await validate(file, flags);
    });
}

const LIST_NOTES = `
First the jobs that run or are on their way, then those in line by their place, then those that ended within a day, the last first.
--all also shows those that ended before, as long as Temporal keeps them. --sort takes board (this order), submitted, ended, name, user,
project and chips.

Examples:
  jobctl list --mine
  jobctl list --user alice --phase queued,running
  jobctl list --name 'lr-*' --since 7d
  jobctl list --watch
`;

function registerList(program: Command, invocation: Invocation): void {
  const command = program
    .command('list')
    .summary('who runs, who waits, what has ended')
    .description('Lists jobs as a board: phase, for how long, starts of the command, and why.');
  withFilters(command, 'also those that ended more than a day ago')
    .addOption(new Option('--sort <key>', 'the order').choices(SORTS).default('board'))
    .addOption(new Option('--limit <rows>', 'rows at most').argParser(wholeNumber(1, 100_000)).default(100))
    .option('--watch', 'draw it again every 2 s, until Ctrl-C')
    .addOption(outputOption())
    .addHelpText('after', LIST_NOTES);
  withConnection(command).action(async (flags: ListFlags) => {
    const { list } = await import('./verbs/list.js');
    invocation.exitCode = await list(flags);
  });
}

const TOP_NOTES = `
It reads what a worker published of the pool, and asks no server; the first line tells how old that is. Borrowed chips do not lie on the
project's nominal quota, and go back when its owner asks for them.

Example:
  jobctl top
`;

function registerTop(program: Command, invocation: Invocation): void {
  const command = program
    .command('top')
    .summary('who holds the chips')
    .description(
      'Shows who holds the chips of a pool: users with what they have and wait for, then jobs, the largest first.',
    )
    .addOption(new Option('--pool <name>', 'which pool').default('default'))
    .addOption(new Option('--limit <rows>', 'jobs at most').argParser(wholeNumber(1, 100_000)).default(50))
    .addOption(outputOption())
    .addHelpText('after', TOP_NOTES);
  withConnection(command).action(async (flags: TopFlags) => {
    const { top } = await import('./verbs/top.js');
    invocation.exitCode = await top(flags);
  });
}

const STATUS_NOTES = `
Examples:
  jobctl status train-7f3k
  jobctl status train-7f3k --timeline
  jobctl status --mine --phase running
`;

function registerStatus(program: Command, invocation: Invocation): void {
  const command = ofMany(program.command('status'), 'also those that ended more than a day ago')
    .summary('everything about one job, or several')
    .description('Shows a job: phase, attempt, slices and hosts, what it waits for, what happened, where its logs are.')
    .option('--timeline', 'who waited for what: phases, and each module on each host')
    .addHelpText('after', STATUS_NOTES);
  withConnection(command).action(async (jobs: readonly string[], flags: StatusFlags) => {
    const { status } = await import('./verbs/status.js');
    invocation.exitCode = await status(jobs, flags);
  });
}

const WHY_NOTES = `
Of a job that waits it reads what a worker published of its pool, and asks no workflow; the last line tells how old that is. Chips
"come free" when the jobs that have them end, pause or give them back; (48) behind a job's name are its quota units.

Example:
  jobctl why sweep-0q1d
`;

function registerWhy(program: Command, invocation: Invocation): void {
  const command = program
    .command('why')
    .summary('why a job waits, or is where it is')
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
The lines of several hosts come as \`HOST | line\`; those of one (--host) as they were written, byte for byte. If the command did not
start because its set-up failed, the lines of the module that failed come instead.
--tail counts the lines of each host, with --grep those that match. Only the end of the log is read for it.
--timestamps and --since go by the time at which a piece of the log was stored: no time is kept of single lines. A piece holds up to
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
    .option('-f, --follow', 'go on until the job has ended, over all attempts from here')
    .addOption(new Option('--host <hosts>', 'of these hosts: 0, 0,2, 0-3 or all').argParser(parseHostChoice))
    .addOption(new Option('--tail <lines>', 'the last lines of each host').argParser(wholeNumber(0, 10_000_000)))
    .addOption(
      new Option('--since <time>', 'from 10m ago, or a time such as 2026-11-23T10:00:00Z').argParser(sinceOption),
    )
    .option('--grep <regex>', 'lines that match (RE2 syntax; (?i) at the front ignores case)')
    .option('--timestamps', 'put before each line when it was stored')
    .addOption(new Option('--attempt <number>', 'of this attempt').argParser(wholeNumber(1, 100_000)))
    .option('--module <name>', "a set-up module's log instead, or a hook's, such as hook-finally")
    .addOption(
      new Option('--job', 'what jobctl did for the job instead').conflicts([
        ...['host', 'attempt', 'module', 'tail', 'since', 'grep', 'timestamps', 'output'],
      ]),
    )
    .addOption(new Option('-o, --output <format>', 'text, or json: an object a line').choices(['text', 'json']))
    .addHelpText('after', LOGS_NOTES);
  withConnection(command).action(async (job: string, flags: LogsFlags) => {
    const { logs } = await import('./verbs/logs.js');
    invocation.exitCode = await logs(job, flags);
  });
}

const EXPORT_NOTES = `
Left out: commands, variables and their names, secrets, scripts, logs of hosts, signatures, addresses, and every word that is neither
jobctl's nor Google's; equal words are replaced by equal ones. Of an installation that encrypts payloads: with --codec-key, and plain then.
What is not in the file is said in it ("missing") and here. Put it into test/incidents of jobctl's sources: npm test plays it
(docs/operations.md, "An incident becomes a test").

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
    .option('-o, --output <file>', 'the file to make, compressed if it ends in .gz; standard output without it')
    .addHelpText('after', EXPORT_NOTES);
  withConnection(command).action(async (job: string, flags: ExportFlags) => {
    const { exportIncident } = await import('./verbs/export.js');
    invocation.exitCode = await exportIncident(job, flags);
  });
}

const WAIT_NOTES = `
Of several jobs it prints a line as each ends, and exits 0 if all succeeded, else 1.

Examples:
  jobctl wait train-7f3k --timeout 2h
  jobctl wait --name 'lr-*'
`;

function registerWait(program: Command, invocation: Invocation): void {
  const command = ofMany(program.command('wait'), 'all that are open')
    .summary('wait until jobs have ended')
    .description("Waits until a job has ended, showing its phases, and exits with the job's own exit code.")
    .addOption(new Option('--timeout <duration>', 'give up after this time and exit 124').argParser(durationOption))
    .addHelpText('after', WAIT_NOTES);
  withConnection(command).action(async (jobs: readonly string[], flags: WaitFlags) => {
    const { wait } = await import('./verbs/wait.js');
    invocation.exitCode = await wait(jobs, flags);
  });
}

const CANCEL_NOTES = `
It asks before it cancels jobs that a filter finds, after it has shown them, and other people's jobs; --yes cancels them unasked. Who
cancelled a job, and on which computer, stays with its outcome.

Examples:
  jobctl cancel train-7f3k && jobctl wait train-7f3k
  jobctl cancel train-7f3k lr-0q1d
  jobctl cancel --name 'lr-*' --phase queued
`;

function registerCancel(program: Command, invocation: Invocation): void {
  const command = changingMany(program.command('cancel'))
    .summary('stop jobs and give their slices back')
    .description('Stops the command on all hosts, deletes the slices and ends the job as cancelled. Returns at once.')
    .addHelpText('after', CANCEL_NOTES);
  withConnection(command).action(async (jobs: readonly string[], flags: ManyFlags) => {
    const { cancel } = await import('./verbs/life.js');
    invocation.exitCode = await cancel(jobs, flags);
  });
}
