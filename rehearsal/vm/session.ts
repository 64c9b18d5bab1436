import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { PseudoTtyInfo, ServerChannel, Session } from 'ssh2';
import { loginEnvironment } from './environment.js';
import type { Machine } from './machine.js';
import type { SessionLedger } from './sessions.js';

/** A machine that is up, with everything that a user needs to log in. */
export interface LoginPlace {
  readonly machine: Machine;
  readonly home: string;
  readonly commands: readonly string[];
}

/** The parts of a VM that a login uses. */
export interface LoginHost {
  /** Boots the VM if it sleeps, and adds the user there. Rejects if either fails. */
  readonly enter: (user: string) => Promise<LoginPlace>;
  readonly ledger: SessionLedger;
  readonly hostname: string;
  /** Further variables of every session, such as TPU_WORKER_ID. */
  readonly environment: Readonly<Record<string, string>>;
  /** Called when a session's process has ended. */
  readonly left?: () => void;
  /** Delay before a session begins, ms. */
  readonly delayMs?: () => number;
}

const SFTP_SERVERS = ['/usr/lib/openssh/sftp-server', '/usr/libexec/openssh/sftp-server', '/usr/libexec/sftp-server'];

const LAST_WORDS_MS = 500;

// sshd starts commands in the user's home. `cd` runs inside, because the path means something else outside the VM's mounts.
const IN_HOME = 'cd "$HOME" && exec "$@"';

/** One session channel, until it has a process. */
interface OpenSession {
  readonly user: string;
  readonly environment: Readonly<Record<string, string>>;
  child: ChildProcess | undefined;
  machine: Machine | undefined;
}

/** Serves one session channel of `user`: exec, shell (with a terminal if asked), and sftp if a server is installed. */
export function serveSession(host: LoginHost, user: string, peer: string, session: Session): void {
  let terminal: PseudoTtyInfo | undefined;
  const [address, port, , ownPort] = peer.split(' ');
  const offered: Record<string, string> = { SSH_CONNECTION: peer, SSH_CLIENT: `${address} ${port} ${ownPort}` };
  const open: OpenSession = { user, environment: offered, child: undefined, machine: undefined };
  const begin = (channel: ServerChannel, command: readonly string[]): void => {
    void beginSession(host, open, channel, command);
  };
  session.on('env', (accept, reject, info) => {
    // sshd's default AcceptEnv. No other variable of the client gets in.
    if (!/^(LANG|LC_[A-Z]+)$/.test(info.key)) return reject?.();
    offered[info.key] = info.val;
    accept?.();
  });
  session.on('pty', (accept, _reject, info) => {
    terminal = info;
    accept?.();
  });
  session.on('window-change', (accept) => accept?.());
  // A VM has no use for the user's own keys. After a refusal `ssh -A` goes on without them.
  session.on('auth-agent', (_accept, reject) => reject?.());
  session.on('signal', (accept, _reject, info) => {
    const { child, machine } = open;
    if (child?.pid !== undefined) machine?.signalGroup(child.pid, `SIG${info.name}` as NodeJS.Signals);
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

async function beginSession(
  host: LoginHost,
  open: OpenSession,
  channel: ServerChannel,
  command: readonly string[],
): Promise<void> {
  channel.on('error', () => undefined);
  try {
    const delayMs = host.delayMs?.() ?? 0;
    if (delayMs > 0) await delay(delayMs, undefined, { ref: false });
    const { machine, home, commands } = await host.enter(open.user);
    const environment = {
      ...loginEnvironment({ user: open.user, home, hostname: host.hostname, commands }),
      ...host.environment,
      ...open.environment,
    };
    open.machine = machine;
    open.child = machine.start(['sh', '-c', IN_HOME, 'sh', ...command], environment);
    connect(host, machine, channel, open.child);
  } catch (error) {
    // Like sshd, which has let the user in already: the error can only go to the session's stderr.
    channel.stderr.write(`rehearsal: ${error instanceof Error ? error.message : String(error)}\n`);
    channel.exit(255);
    channel.end();
  }
}

/** util-linux's `script` gives the command a terminal; ssh2 has none to give. The size is set once. */
function withTerminal(terminal: PseudoTtyInfo | undefined, command: readonly string[]): readonly string[] {
  if (terminal === undefined || !existsSync('/usr/bin/script')) return command;
  const size = `stty rows ${terminal.rows} cols ${terminal.cols} 2>/dev/null; `;
  const line = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  return ['env', `TERM=${terminal.term ?? 'xterm'}`, 'script', '-qefc', `${size}exec ${line}`, '/dev/null'];
}

/**
 * Connects a channel to a process as sshd does. The exit status is sent when the process ends, and the channel ends only when no
 * process holds its output any more. If the client goes first, the process gets SIGHUP.
 */
function connect(host: LoginHost, machine: Machine, channel: ServerChannel, child: ChildProcess): void {
  const { stdin, stdout, stderr, pid } = child;
  if (stdin === null || stdout === null || stderr === null) throw new TypeError('session: its process needs pipes');
  let isRunning = true;
  host.ledger.open(child);
  // A reader that goes away is not an error here: the process sees EPIPE, the client a closed channel.
  for (const stream of [stdin, stdout, stderr]) stream.on('error', () => undefined);
  channel.pipe(stdin);
  stdout.pipe(channel, { end: false });
  stderr.pipe(channel.stderr, { end: false });
  child.once('exit', (code, signal) => {
    isRunning = false;
    host.ledger.close(child);
    host.left?.();
    if (signal === null) channel.exit(code ?? 255);
    else channel.exit(signal.replace(/^SIG/, ''), false, '');
  });
  child.once('error', () => channel.exit(255));
  child.once('close', () => channel.end());
  const hangUp = (): void => {
    if (isRunning && pid !== undefined) machine.signalGroup(pid, 'SIGHUP');
    // Gives the SIGHUP handler time for its output. A process that writes later gets SIGPIPE, as under sshd.
    for (const output of [stdout, stderr]) output.unpipe().resume();
    setTimeout(() => [stdin, stdout, stderr].forEach((pipe) => pipe.destroy()), LAST_WORDS_MS).unref();
  };
  // The client may have gone while the VM booted.
  if (channel.destroyed) hangUp();
  else channel.once('close', hangUp);
}
