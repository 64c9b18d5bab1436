import { Argument, Option } from 'commander';
import { DEFAULT_RETENTION_MS } from '../namespace.js';
import type { Command } from 'commander';
import { registerCodec } from './codec/register-codec.js';
import { COMPLETION_SCRIPTS, SHELLS, type Shell } from './completion/scripts.js';
import { registerDoctor } from './doctor/register-doctor.js';
import { byOption } from './job-filter.js';
import { collect, durationOption, type Invocation, outputOption, withConnection, withServer } from './options.js';
import type { AuditFlags } from './verbs/audit-leaks.js';
import type { SetupFlags } from './verbs/life.js';
import type { SetupServerFlags } from './verbs/setup-server.js';
import type { VersionFlags } from './verbs/version.js';
import type { WorkerFlags } from './verbs/worker.js';

/** The verbs for those who run jobctl. */
export function registerOperatorVerbs(program: Command, invocation: Invocation): void {
  registerSetup(program, invocation);
  registerDoctor(program, invocation);
  registerAudit(program, invocation);
  registerCodec(program, invocation);
  registerWorker(program, invocation);
  registerVersion(program, invocation);
  registerCompletion(program);
}

const SETUP_NOTES = `
Repeating is safe: what is there stays as it is, a longer retention too. Exit code 1: something is left to be done by hand, and
the commands were printed. docs/operations.md takes it from an empty computer to a first job.

A new version may change how workflows run while jobs are open. Its changes are listed last, and are active only once you say so,
when every worker is of that version; until then you can go back to the version before (docs/operations.md, "Upgrade").

Example:
  jobctl setup server --temporal-address 127.0.0.1:7233 --bucket my-jobs --google-project my-project
`;

const SETUP_JOB_NOTES = `
Of a job that is running, paused or kept. How it ends stands in the job's own log; each module's output in its attempt's.

Examples:
  jobctl setup train-7f3k --module venv --force
  jobctl logs train-7f3k --job -f
  jobctl setup server --bucket my-jobs
`;

function registerSetup(program: Command, invocation: Invocation): void {
  const setup = program
    .command('setup')
    .summary("set a job's hosts up again; `setup server` makes ready what workers need")
    .description(
      'Makes the modules of an open job ready once more on its hosts, beside its command: what is unchanged stays. Returns at once.',
    )
    .argument('[job]', "the job's id")
    .option('--module <name>', 'this one alone; may be repeated', collect)
    .option('--force', 'also what is found unchanged')
    .addOption(byOption())
    .addOption(outputOption())
    .addHelpText('after', SETUP_JOB_NOTES);
  withConnection(setup).action(async (job: string | undefined, flags: SetupFlags) => {
    const verb = await import('./verbs/life.js');
    invocation.exitCode = await verb.setup(job, flags);
  });
  const command = setup
    .command('server')
    .summary('namespace, search attributes, schedule and owner id')
    .description(
      'Makes a Temporal namespace ready for workers: the namespace and how long it keeps closed jobs, the search attributes, the ' +
        "janitor's schedule; and in the bucket the id of this installation.",
    )
    .addOption(
      new Option('--retention <duration>', 'how long closed jobs are kept at least')
        .argParser(durationOption)
        .default(DEFAULT_RETENTION_MS, '30d'),
    )
    .option('--temporal-cloud', "print what only Temporal Cloud's own tools may do (known by its addresses)")
    .option('--google-project <id>', 'the Google Cloud project of the bucket')
    .option('--activate <change>', 'switch a change of workflow code on; may be repeated', collect)
    .option('--deactivate <change>', 'switch it off for workflows that have not begun it; may be repeated', collect)
    .addOption(outputOption())
    .addHelpText('after', SETUP_NOTES);
  withConnection(command).action(async (flags: SetupServerFlags) => {
    const { setupServer } = await import('./verbs/setup-server.js');
    invocation.exitCode = await setupServer(flags);
  });
}

const DEFAULT_GRACE_MS = 60_000;

function registerAudit(program: Command, invocation: Invocation): void {
  const audit = program.command('audit').description('independent checks of what the cloud holds');
  audit.addHelpText('after', '\nExample:\n  jobctl audit leaks\n');
  const command = audit
    .command('leaks')
    .summary('find slices that no open job owns')
    .description(
      'Lists by itself, over REST, all that the cloud holds of this installation, and exits 1 when some of it has no open job.',
    )
    .addOption(
      new Option('--grace <duration>', 'a job closed for less than this may still be cleaning up')
        .argParser(durationOption)
        .default(DEFAULT_GRACE_MS, '60s'),
    )
    .option('--google-project <id>', 'the Google Cloud project that is read')
    .option('--tpu-rest-endpoint <url>', "another Cloud TPU API than Google's")
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  jobctl audit leaks --grace 5m --output json\n');
  withConnection(command).action(async (flags: AuditFlags) => {
    const { auditLeaks } = await import('./verbs/audit-leaks.js');
    invocation.exitCode = await auditLeaks(flags);
  });
}

const WORKER_NOTES = `
A flag beats the environment (JOBCTL_*, TEMPORAL_*), which beats the file. SIGTERM or SIGINT: it hands its jobs over and ends;
a second one ends it at once. docs/worker.md lists every field.

Example:
  jobctl worker --config worker.json --health-port 9090
`;

function registerWorker(program: Command, invocation: Invocation): void {
  const command = program
    .command('worker')
    .summary('run a worker')
    .description('Runs a worker: takes jobs from Temporal and works on Cloud TPUs for them, until it is stopped.')
    .option('--config <file>', 'its configuration (JSON)')
    .option('--google-project <id>', 'the Google Cloud project of the slices')
    .option('--tpu-endpoint <host:port>', "another Cloud TPU API than Google's")
    .option('--quota-file <file>', "the quota file (Bastion's TOML)")
    .option('--pool-file <file>', "the pool's Google project, zones and defaults (TOML)")
    .option('--ssh-private-key-file <file>', 'the key that logs in to TPU VMs')
    .option('--ssh-public-key-file <file>', 'its public half')
    .option('--ssh-user <name>', 'login name on TPU VMs')
    .option('--ssh-port <port>', 'SSH port of TPU VMs')
    .option('--secret-store <place>', 'where secrets of jobs are: file:///FOLDER or projects/P')
    .option('--health-port <port>', 'where /ready answers')
    .option('--metrics-port <port>', 'where Prometheus reads /metrics')
    .option('--listen-host <address>', 'where both listen (127.0.0.1)')
    .option('--log-level <level>', 'debug, info, warn or error')
    .addHelpText('after', WORKER_NOTES);
  withServer(command).action(async (flags: WorkerFlags) => {
    const { worker } = await import('./verbs/worker.js');
    invocation.exitCode = await worker(flags);
  });
}

function registerVersion(program: Command, invocation: Invocation): void {
  program
    .command('version')
    .description('versions of jobctl, Node.js and the Temporal SDK')
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  jobctl version --output json\n')
    .action(async (flags: VersionFlags) => {
      const { version } = await import('./verbs/version.js');
      invocation.exitCode = version(flags);
    });
}

const COMPLETION_NOTES = `
It completes verbs, flags, their values and, where a server answers within two seconds, ids of jobs.

Examples:
  jobctl completion bash >> ~/.bashrc
  jobctl completion zsh >> ~/.zshrc         behind compinit
  jobctl completion fish > ~/.config/fish/completions/jobctl.fish
`;

function registerCompletion(program: Command): void {
  program
    .command('completion')
    .description('Prints the script that completes jobctl on the command line of a shell.')
    .addArgument(new Argument('<shell>', 'whose script').choices(SHELLS))
    .addHelpText('after', COMPLETION_NOTES)
    .action((shell: Shell) => void process.stdout.write(COMPLETION_SCRIPTS[shell]));
}
