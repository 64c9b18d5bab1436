import { Option } from 'commander';
import type { Command } from 'commander';
import { MOST_HOSTS } from '../../domain/slice.js';
import { type ForwardedPorts, parseForwardedPorts, parseHostChoice } from '../jobs/hosts/host-options.js';
import { type Invocation, outputOption, wholeNumber, withConnection } from '../terminal/options.js';
import type { CpFlags } from './verbs/cp.js';
import type { ExecFlags } from './verbs/exec.js';
import type { StacksFlags } from './verbs/stacks.js';
import type { PortForwardFlags, SshFlags } from './verbs/ssh.js';

/** Registers the verbs that log in to a job's hosts. */
export function registerHostVerbs(program: Command, invocation: Invocation): void {
  registerSsh(program, invocation);
  registerExec(program, invocation);
  registerStacks(program, invocation);
  registerCp(program, invocation);
  registerPortForward(program, invocation);
}

const SSH_NOTES = `
It runs the OpenSSH client of this computer with the key that the hosts accept, and trusts only the host key that a worker recorded. Words
after \`--\` go to that client: options, or a command. Its exit code is passed on; 255 means that the connection failed.
A host that is a pod is reached by exec, as your kubeconfig allows: a shell, or the command after \`--\`.

Examples:
  jobctl ssh train-7f3k
  jobctl ssh train-7f3k --host 2 -- -L 6006:localhost:6006
  jobctl ssh train-7f3k -- df -h
`;

function registerSsh(program: Command, invocation: Invocation): void {
  const command = program
    .command('ssh')
    .summary('log in to a host of a job')
    .description('Logs in to one host of an open job.')
    .usage('JOB [options] [-- SSH OPTIONS]')
    .argument('<job>', "the job's id")
    .addOption(oneHost())
    .addHelpText('after', SSH_NOTES);
  withRoute(command).action(async (job: string, flags: SshFlags) => {
    const { ssh } = await import('./verbs/ssh.js');
    invocation.exitCode = await ssh(job, flags, invocation.commandWords);
  });
}

const EXEC_NOTES = `
Several words are quoted one by one, a single word is a shell line. The command runs in a login shell beside the job's own command, and
ends when that one ends. Lines of several hosts are printed as \`HOST | line\`, lines of one host as they are. The exit code is the
greatest of the hosts' exit codes.

Examples:
  jobctl exec train-7f3k -- df -h /
  jobctl exec train-7f3k --host 0,2-3 -- 'pgrep -af python | head -3'
  jobctl exec train-7f3k --host 0 --stdin -- 'cat > note.txt' < note.txt
`;

function registerExec(program: Command, invocation: Invocation): void {
  const command = program
    .command('exec')
    .summary('run a command on hosts of a job')
    .description('Runs a command on hosts of an open job, on all at once.')
    .usage('JOB [options] -- CMD..')
    .argument('<job>', "the job's id")
    .addOption(new Option('--host <hosts>', 'these hosts: 2, 0,2-3 or all').argParser(parseHostChoice).default('all'))
    .option('-i, --stdin', 'pass standard input on, to one host only')
    .addOption(outputOption())
    .addHelpText('after', EXEC_NOTES);
  withRoute(command).action(async (job: string, flags: ExecFlags) => {
    const { exec } = await import('./verbs/exec.js');
    invocation.exitCode = await exec(job, flags, invocation.commandWords);
  });
}

const STACKS_NOTES = `
For a command that hangs. Processes whose main threads stand at the same calls are one group, the largest first; of the others the calls
are shown in which they differ. py-spy reads them without stopping a process. A host that has none gets it once, from PyPI, into
~/.jobctl. Of programs that are not Python, state and kernel function are shown. What a host says is shown as text.
When \`timeouts.no_output\` ends a command, its stacks are stored before: this shows them once the job has ended, or with --attempt.
The exit code is 1 if a host did not answer.

Examples:
  jobctl stacks train-7f3k
  jobctl stacks train-7f3k --host 7 --threads
  jobctl stacks train-7f3k --attempt 2
  jobctl stacks train-7f3k -o json | jq '.groups[1].frames[0]'
`;

function registerStacks(program: Command, invocation: Invocation): void {
  const command = program
    .command('stacks')
    .summary('show where the processes of a job stand, equal ones grouped')
    .description('Shows where the Python processes of a job stand, on all hosts, equal stacks grouped.')
    .argument('<job>', "the job's id")
    .addOption(new Option('--host <hosts>', 'these hosts: 2, 0,2-3 or all').argParser(parseHostChoice).default('all'))
    .addOption(
      new Option('--attempt <number>', 'those that were stored when this attempt was ended for its silence').argParser(
        wholeNumber(1, 999_999_999),
      ),
    )
    .option('--threads', 'other threads than the main ones too')
    .option('--all', 'also processes that are not Python, beside those that are')
    .option('--no-install', 'put no py-spy on hosts that have none')
    .addOption(outputOption())
    .addHelpText('after', STACKS_NOTES);
  withRoute(command).action(async (job: string, flags: StacksFlags) => {
    const { stacks } = await import('./verbs/stacks.js');
    invocation.exitCode = await stacks(job, flags);
  });
}

const CP_NOTES = `
One side is JOB:PATH, or JOB:HOSTS:PATH with HOSTS such as 2, 0,2-3 or all. Without HOSTS, files go to all hosts, or come from host 0.
Files from several hosts go to FOLDER/host-N each. PATH is absolute, or relative to the login user's home. Folders are copied whole.
Every file is compared by its SHA-256: a file that is there already is not sent, and an interrupted copy continues.

Examples:
  jobctl cp train.py configs train-7f3k:work/
  jobctl cp train-7f3k:/tmp/trace.json .
  jobctl cp train-7f3k:all:logs ./logs
`;

function registerCp(program: Command, invocation: Invocation): void {
  const command = program
    .command('cp')
    .summary('copy files to hosts of a job, or from them')
    .description('Copies files and folders between this computer and hosts of an open job.')
    .usage('SOURCE.. TARGET [options]')
    .argument('<source>', 'a path on this computer, or JOB:[HOSTS:]PATH')
    .argument('<more...>', 'more sources, and last the target')
    .option('-r, --recursive', 'accepted as by scp; folders are copied whole in any case')
    .addOption(outputOption())
    .addHelpText('after', CP_NOTES);
  withRoute(command).action(async (source: string, more: readonly string[], flags: CpFlags) => {
    const { cp } = await import('./verbs/cp.js');
    invocation.exitCode = await cp([source, ...more], flags);
  });
}

const FORWARD_NOTES = `
Examples:
  jobctl port-forward train-7f3k 6006
  jobctl port-forward train-7f3k 8888:80 --host 1
`;

function registerPortForward(program: Command, invocation: Invocation): void {
  const command = program
    .command('port-forward')
    .summary('make a port of a host reachable from here')
    .description('Makes a port of a host reachable at a port of this computer (127.0.0.1), until Ctrl-C.')
    .argument('<job>', "the job's id")
    .argument('<ports>', 'PORT, or LOCAL:REMOTE', parseForwardedPorts)
    .addOption(oneHost())
    .addHelpText('after', FORWARD_NOTES);
  withRoute(command).action(async (job: string, ports: ForwardedPorts, flags: PortForwardFlags) => {
    const { portForward } = await import('./verbs/ssh.js');
    invocation.exitCode = await portForward(job, ports, flags);
  });
}

const oneHost = (): Option =>
  new Option('--host <number>', 'the host, counted from 0').argParser(wholeNumber(0, MOST_HOSTS)).default(0);

/** Adds the flags of `RouteFlags` and of the connection. */
function withRoute(command: Command): Command {
  command
    .optionsGroup('How hosts are reached:')
    .option(
      '--identity <file>',
      "the private key (default: the one that the job's file names, else the job's own, made from the installation's secret or given by the server)",
    )
    .option('--login <user>', "the user of that key on the hosts, if they let in a key of yours beside the job's")
    .addOption(
      new Option('--ssh-port <port>', 'JOBCTL_SSH_PORT: the SSH port (default: 22)').argParser(wholeNumber(1, 65_535)),
    )
    .option('--internal-ip', 'JOBCTL_SSH_ADDRESS=internal: use the address inside the network')
    .option('--proxy-command <line>', 'JOBCTL_SSH_PROXY_COMMAND: a command that connects; %h, %p and %r are replaced')
    .option('--secret-store <place>', "JOBCTL_SECRET_STORE: where the job's key is, if it is a secret");
  return withConnection(command);
}
