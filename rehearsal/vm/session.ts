import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { PseudoTtyInfo, ServerChannel, Session } from 'ssh2';
import { loginEnvironment, makeHome } from './environment.js';
import type { Machine } from './machine.js';
import type { SessionLedger } from './sessions.js';

/** What a login needs to know of its VM. */
export interface LoginHost {
  readonly machine: Machine;
  readonly ledger: SessionLedger;
  readonly disk: string;
  readonly hostname: string;
  /** More of every session's environment, such as TPU_WORKER_ID. */
  readonly environment: Readonly<Record<string, string>>;
}

const SFTP_SERVERS = ['/usr/lib/openssh/sftp-server', '/usr/libexec/openssh/sftp-server', '/usr/libexec/sftp-server'];

const LAST_WORDS_MS = 500;

// sshd starts commands in the user's home. `cd` inside: the path means something else outside of the VM's mounts.
const IN_HOME = 'cd "$HOME" && exec "$@"';

/** Serves one session channel of `user`: exec, shell (with a terminal if asked) and sftp where a server is installed. */
export function serveSession(host: LoginHost, user: string, peer: string, session: Session): void {
  let terminal: PseudoTtyInfo | undefined;
  let child: ChildProcess | undefined;
  const offered: Record<string, string> = {};
  const begin = (channel: ServerChannel, command: readonly string[]): void => {
    child = startLogin(host, user, { ...offered, SSH_CONNECTION: peer, SSH_CLIENT: peer }, command);
    connect(host, channel, child);
  };
  session.on('env', (accept, reject, info) => {
    // sshd's default AcceptEnv. Nothing else of the client's environment gets in.
    if (!/^(LANG|LC_[A-Z]+)$/.test(info.key)) return reject?.();
    offered[info.key] = info.val;
    accept?.();
  });
  session.on('pty', (accept, _reject, info) => {
    terminal = info;
    accept?.();
  });
  session.on('window-change', (accept) => accept?.());
  session.on('signal', (accept, _reject, info) => {
    if (child?.pid !== undefined) host.machine.signalGroup(child.pid, `SIG${info.name}` as NodeJS.Signals);
    accept?.();
  });
  session.on('exec', (accept, _reject, info) => begin(accept(), withTerminal(terminal, ['bash', '-c', info.command])));
  session.on('shell', (accept) => begin(accept(), withTerminal(terminal, ['bash', '-l'])));
  session.on('subsystem', (accept, reject, info) => {
    const server = info.name === 'sftp' ? SFTP_SERVERS.find((path) => existsSync(path)) : undefined;
    if (server === undefined) reject?.();
    else begin(accept(), [server]);
  });
}

function startLogin(
  host: LoginHost,
  user: string,
  offered: Readonly<Record<string, string>>,
  command: readonly string[],
): ChildProcess {
  const home = makeHome(join(host.disk, 'home'), user);
  const environment = { ...loginEnvironment(user, home, host.hostname), ...host.environment, ...offered };
  return host.machine.start(['sh', '-c', IN_HOME, 'sh', ...command], environment);
}

/** util-linux's `script` gives the command a terminal; ssh2 has none to give. The size is set once. */
function withTerminal(terminal: PseudoTtyInfo | undefined, command: readonly string[]): readonly string[] {
  if (terminal === undefined || !existsSync('/usr/bin/script')) return command;
  const size = `stty rows ${terminal.rows} cols ${terminal.cols} 2>/dev/null; `;
  const line = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  return ['env', `TERM=${terminal.term ?? 'xterm'}`, 'script', '-qefc', `${size}exec ${line}`, '/dev/null'];
}

/**
 * Joins a channel to a process as sshd does: the exit status when the process ends, the channel's end only when nobody
 * holds its output any more, SIGHUP if the client goes first.
 */
function connect(host: LoginHost, channel: ServerChannel, child: ChildProcess): void {
  const { stdin, stdout, stderr, pid } = child;
  if (stdin === null || stdout === null || stderr === null) throw new TypeError('session: its process needs pipes');
  let isRunning = true;
  host.ledger.open(child);
  // A reader that goes away is no error of ours: the process sees EPIPE, the client a closed channel.
  for (const stream of [channel, stdin, stdout, stderr]) stream.on('error', () => undefined);
  channel.pipe(stdin);
  stdout.pipe(channel, { end: false });
  stderr.pipe(channel.stderr, { end: false });
  child.once('exit', (code, signal) => {
    isRunning = false;
    host.ledger.close(child);
    if (signal === null) channel.exit(code ?? 255);
    else channel.exit(signal.replace(/^SIG/, ''), false, '');
  });
  child.once('error', () => channel.exit(255));
  child.once('close', () => channel.end());
  channel.once('close', () => {
    if (isRunning && pid !== undefined) host.machine.signalGroup(pid, 'SIGHUP');
    // Time to say what its SIGHUP handler has to say; whoever writes later gets SIGPIPE, as under sshd.
    for (const output of [stdout, stderr]) output.unpipe().resume();
    setTimeout(() => [stdin, stdout, stderr].forEach((pipe) => pipe.destroy()), LAST_WORDS_MS).unref();
  });
}
