import { Argument, Option } from 'commander';
import { DEFAULT_RETENTION_MS } from '../../client/namespace.js';
import type { Command } from 'commander';
import { registerCodec } from './register-codec.js';
import { COMPLETION_SCRIPTS, SHELLS, type Shell } from './completion/scripts.js';
import { registerContract } from './register-contract.js';
import { registerDoctor } from './register-doctor.js';
import { byOption } from '../jobs/job-filter.js';
import {
  collect,
  durationOption,
  type Invocation,
  outputOption,
  withConnection,
  withServer,
} from '../terminal/options.js';
import { registerApiKeys } from './register-api-keys.js';
import { registerAccess, registerAuditLog } from './register-access.js';
import { registerServe } from './register-serve.js';
import type { AuditFlags } from '../doctor/audit/audit-leaks.js';
import type { SetupFlags } from './verbs/life.js';
import type { SetupJobKeysFlags } from './verbs/setup-job-keys.js';
import type { SetupServerFlags } from './verbs/setup-server.js';
import type { VersionFlags } from '../terminal/version.js';
import type { WorkerFlags } from './verbs/worker.js';

/** Registers the verbs for operators of jobctl. */
export function registerOperatorVerbs(program: Command, invocation: Invocation): void {
  registerSetup(program, invocation);
  registerDoctor(program, invocation);
  registerContract(program, invocation);
  registerAudit(program, invocation);
  registerCodec(program, invocation);
  registerWorker(program, invocation);
  registerServe(program, invocation);
  registerAccess(program, invocation);
  registerVersion(program, invocation);
  registerCompletion(program);
}

const SETUP_NOTES = `
Repeating is safe: nothing that exists is changed, and no retention is shortened. Exit code 1: a part has to be done by hand, and its
commands were printed. docs/operations.md leads from an empty computer to a first job.

A new version may change how workflows run while jobs are open. Its changes are listed last. Activate them when every worker is of
that version; until then you can go back to the version before (docs/operations.md, "Upgrade").

Example:
  jobctl setup server --temporal-address 127.0.0.1:7233 --bucket my-jobs --google-project my-project
`;

const SETUP_JOB_NOTES = `
The job must be running, paused or kept. \`jobctl logs JOB --job\` says how the set-up ended, \`--module NAME\` what a module printed.

Examples:
  jobctl setup train-7f3k --module venv --force
  jobctl logs train-7f3k --job -f
  jobctl setup server --bucket my-jobs
`;

function registerSetup(program: Command, invocation: Invocation): void {
  const setup = program
    .command('setup')
    .summary("set a job's hosts up again; `setup server`, `setup job-keys` and `setup api-keys` prepare workers")
    .description(
      'Sets the modules of an open job up again on its hosts, beside its command. Unchanged modules are left alone. Returns at once.',
    )
    .argument('[job]', "the job's id")
    .option('--module <name>', 'only this module; may be repeated', collect)
    .option('--force', 'set unchanged modules up too')
    .addOption(byOption())
    .addOption(outputOption())
    .addHelpText('after', SETUP_JOB_NOTES);
  withConnection(setup).action(async (job: string | undefined, flags: SetupFlags) => {
    const verb = await import('./verbs/life.js');
    invocation.exitCode = await verb.setup(job, flags);
  });
  const command = setup
    .command('server')
    .summary('prepare a Temporal namespace and a bucket for workers')
    .description(
      "Prepares a Temporal namespace for workers (retention, search attributes, the janitor's schedule) and a bucket (the id of this installation).",
    )
    .addOption(
      new Option('--retention <duration>', 'the least time for which closed jobs are kept')
        .argParser(durationOption)
        .default(DEFAULT_RETENTION_MS, '30d'),
    )
    .option('--temporal-cloud', "print the commands for Temporal Cloud's own tools (default for its addresses)")
    .option('--google-project <id>', 'the Google Cloud project of the bucket')
    .option(
      '--take-over',
      'the task queue is claimed by another installation, which is gone for good: it is this one from now on',
    )
    .option('--activate <change>', 'activate a change of workflow code; may be repeated', collect)
    .option(
      '--deactivate <change>',
      'deactivate a change for workflows that have not begun it; may be repeated',
      collect,
    )
    .addOption(outputOption())
    .addHelpText('after', SETUP_NOTES);
  withConnection(command).action(async (flags: SetupServerFlags) => {
    const { setupServer } = await import('./verbs/setup-server.js');
    invocation.exitCode = await setupServer(flags);
  });
  registerSetupJobKeys(setup, invocation);
  registerApiKeys(setup, invocation);
}

const JOB_KEYS_NOTES = `
Each job has an SSH key of its own, made from this secret; without one all jobs have the installation's key. docs/operations.md ("A key
for each job") says how workers learn of it, and how it is replaced. The local stack makes its own.

Examples:
  jobctl setup job-keys --file job-key-secret
  jobctl setup job-keys | gcloud secrets create my-job-keys --data-file=-
`;

function registerSetupJobKeys(setup: Command, invocation: Invocation): void {
  setup
    .command('job-keys')
    .summary('make a secret for SSH keys of jobs')
    .description(
      'Makes a secret that the SSH keys of jobs are made from, on stdout or in a file that only you can read. Keep a copy.',
    )
    .option('--file <file>', 'the file to make; an existing file is not touched')
    .option('--id <id>', 'its id, readable in the records of jobs (the day and some digits)')
    .addHelpText('after', JOB_KEYS_NOTES)
    .action(async (flags: SetupJobKeysFlags) => {
      const { setupJobKeys } = await import('./verbs/setup-job-keys.js');
      invocation.exitCode = setupJobKeys(flags);
    });
}

const DEFAULT_GRACE_MS = 60_000;

function registerAudit(program: Command, invocation: Invocation): void {
  const audit = program.command('audit').description('check independently what the cloud holds, and see who did what');
  audit.addHelpText('after', '\nExamples:\n  jobctl audit leaks\n  jobctl audit log --job train-7f3k\n');
  registerAuditLog(audit, invocation);
  const command = audit
    .command('leaks')
    .summary('find slices that no open job owns')
    .description(
      'Lists the resources of this installation in the cloud, without the workers, and exits with 1 if one of them has no open job.',
    )
    .addOption(
      new Option('--grace <duration>', 'ignore jobs that closed less than this ago: they may still be cleaning up')
        .argParser(durationOption)
        .default(DEFAULT_GRACE_MS, '60s'),
    )
    .option('--google-project <id>', 'the Google Cloud project to list')
    .option('--tpu-rest-endpoint <url>', "another Cloud TPU API than Google's")
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  jobctl audit leaks --grace 5m --output json\n');
  withConnection(command).action(async (flags: AuditFlags) => {
    const { auditLeaks } = await import('../doctor/audit/audit-leaks.js');
    invocation.exitCode = await auditLeaks(flags);
  });
}

const WORKER_NOTES = `
A flag wins over the environment (JOBCTL_*, TEMPORAL_*), which wins over the file. At SIGTERM or SIGINT the worker hands its jobs over
and ends; a second signal ends it at once. docs/worker.md lists every field.

Example:
  jobctl worker --config worker.json --health-port 9090
`;

function registerWorker(program: Command, invocation: Invocation): void {
  const command = program
    .command('worker')
    .summary('run a worker')
    .description('Runs a worker, which takes jobs from Temporal and runs them on Cloud TPUs, until it is stopped.')
    .option('--config <file>', 'the configuration file (JSON)')
    .option('--google-project <id>', 'the Google Cloud project of the slices')
    .option('--tpu-endpoint <host:port>', "another Cloud TPU API than Google's")
    .option('--kubeconfig <file>', 'KUBECONFIG: the clusters of jobs on Kubernetes')
    .option('--kube-context <name>', 'the cluster of jobs that name no context')
    .option('--quota-file <file>', "the quota file (Bastion's TOML)")
    .option('--pool-file <file>', "the pool's Google project, zones and defaults (TOML)")
    .option('--ssh-private-key-file <file>', 'the key that logs in to TPU VMs')
    .option('--ssh-public-key-file <file>', 'its public half')
    .option('--ssh-user <name>', 'login name on TPU VMs')
    .option('--ssh-port <port>', 'SSH port of TPU VMs')
    .option('--secret-store <place>', 'the store of secrets: file:///FOLDER or projects/P')
    .option('--health-port <port>', 'the port of /ready')
    .option('--metrics-port <port>', 'the port of /metrics, for Prometheus')
    .option('--listen-host <address>', 'the address of both ports (default: 127.0.0.1)')
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
    .description('print the versions of jobctl, Node.js and the Temporal SDK')
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  jobctl version --output json\n')
    .action(async (flags: VersionFlags) => {
      const { version } = await import('../terminal/version.js');
      invocation.exitCode = version(flags);
    });
}

const COMPLETION_NOTES = `
It completes verbs, flags, their values and, if a server answers within two seconds, ids of jobs.

Examples:
  jobctl completion bash >> ~/.bashrc
  jobctl completion zsh >> ~/.zshrc         behind compinit
  jobctl completion fish > ~/.config/fish/completions/jobctl.fish
`;

function registerCompletion(program: Command): void {
  program
    .command('completion')
    .summary('print the completion script of a shell')
    .description('Prints the script that completes jobctl on the command line of a shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .addHelpText('after', COMPLETION_NOTES)
    .action((shell: Shell) => void process.stdout.write(COMPLETION_SCRIPTS[shell]));
}
