import { Option } from 'commander';
import type { Command } from 'commander';
import { type ForwardedPorts, parseForwardedPorts, parseHostChoice } from './hosts/host-options.js';
import { type Invocation, outputOption, wholeNumber, withConnection } from './options.js';
import type { CpFlags } from './verbs/cp.js';
import type { ExecFlags } from './verbs/exec.js';
import type { PortForwardFlags, SshFlags } from './verbs/ssh.js';

/** The verbs that log in to a job's hosts. */
export function registerHostVerbs(program: Command, invocation: Invocation): void {
  registerSsh(program, invocation);
  registerExec(program, invocation);
  registerCp(program, invocation);
  registerPortForward(program, invocation);
}

const SSH_NOTES = `
It is the OpenSSH client of this computer, with the key that the hosts accept and held to the host key that a worker recorded. Words
after \`--\` are its own: options, or a command. Its exit code is passed on; 255 is a connection that failed.

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
Several words are quoted one by one, a single one is a shell line. It runs in a login shell beside the job's own command, and ends with
this one. Lines of several hosts come as \`HOST | line\`, those of one as they are. The exit code is the greatest of the hosts'.

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
    .addOption(new Option('--host <hosts>', '2, 0,2-3 or all').argParser(parseHostChoice).default('all'))
    .option('-i, --stdin', 'pass standard input on; for one host')
    .addOption(outputOption())
    .addHelpText('after', EXEC_NOTES);
  withRoute(command).action(async (job: string, flags: ExecFlags) => {
    const { exec } = await import('./verbs/exec.js');
    invocation.exitCode = await exec(job, flags, invocation.commandWords);
  });
}

const CP_NOTES = `
One side is JOB:PATH, or JOB:HOSTS:PATH with HOSTS as 2, 0,2-3 or all. To hosts: all of them without HOSTS. From hosts: host 0 without
HOSTS; of several, each host's files go to FOLDER/host-N. PATH is absolute, or below the login user's home. Folders are copied whole.
Every file is compared by its SHA-256; one that is there already is not sent, and one that was cut goes on where it was.

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
    .argument('<source>', 'a path here, or JOB:[HOSTS:]PATH')
    .argument('<more...>', 'more sources, and last the target')
    .option('-r, --recursive', 'as with scp; folders are copied whole without it too')
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
    .summary('reach a port of a host from here')
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

const MOST_HOSTS = 100_000;
const oneHost = (): Option =>
  new Option('--host <number>', 'which host, from 0').argParser(wholeNumber(0, MOST_HOSTS)).default(0);

/** The flags of `RouteFlags`, and where the job is. */
function withRoute(command: Command): Command {
  command
    .optionsGroup('How hosts are reached:')
    .option(
      '--identity <file>',
      "JOBCTL_SSH_PRIVATE_KEY_FILE: the private key; else the job's own, else the local stack's",
    )
    .addOption(new Option('--ssh-port <port>', 'JOBCTL_SSH_PORT: 22 without it').argParser(wholeNumber(1, 65_535)))
    .option('--internal-ip', 'JOBCTL_SSH_ADDRESS=internal: the address inside the network')
    .option('--proxy-command <line>', 'JOBCTL_SSH_PROXY_COMMAND: a command that connects; %h, %p and %r are put in')
    .option('--secret-store <place>', "JOBCTL_SECRET_STORE: where the job's key is, if it is a secret");
  return withConnection(command);
}
