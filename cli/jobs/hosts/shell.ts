import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SshTarget } from '../../../cloud/hosts/port.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { JobHost } from './job-hosts.js';
import { type SshReach, oneHost, type PodReach, onEachHost } from './reach.js';
import { hostKeyAlias, knownHostsText } from './keys.js';
import { connect, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { LOGIN_SHELL } from '../../../cloud/hosts/login-shell.js';
import { asTyped, printErr, printOut } from '../../terminal/print.js';
import { clustersOf } from '../../place/kubernetes-cluster.js';
import type { ForwardedPorts } from '../job-filter.js';
import { watchEnd } from '../../terminal/interruptions.js';

/** Interval of keep-alive messages on a silent connection. After three without an answer ssh ends. */
const ALIVE_SECONDS = 15;

interface SshProcess {
  /** Exit code of the OpenSSH client. 255 if the connection failed. */
  readonly exitCode: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

/**
 * Starts the OpenSSH client for one host. It offers only the right key and accepts only the host's recorded key. All other
 * settings come from the user's ~/.ssh/config.
 * @param words ssh options or a command, from the user
 * @param onStdout receives ssh's stdout. Absent: ssh shares ours.
 * @throws CliError
 */
export async function startOpenSsh(
  reach: SshReach,
  host: JobHost<SshTarget>,
  words: readonly string[],
  onStdout?: (text: string) => void,
): Promise<SshProcess> {
  const signals = holdSignals();
  // Only this user can read the folder. While ssh runs it may contain a key that is in no other file here.
  const folder = mkdtempSync(join(privateFolder(), 'jobctl-ssh-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  const finish = (): void => {
    remove();
    signals.release();
  };
  try {
    const child = spawn('ssh', await sshArguments(reach, host, folder, words), {
      stdio: ['inherit', onStdout ? 'pipe' : 'inherit', 'inherit'],
    });
    signals.passTo(child);
    child.stdout?.on('data', (chunk: Buffer) => onStdout?.(chunk.toString()));
    return { exitCode: exitCodeOf(child).finally(finish), kill: (signal) => void child.kill(signal) };
  } catch (error) {
    finish();
    throw error;
  }
}

const exitCodeOf = (child: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    child.once('error', (error) => reject(notStarted(error)));
    child.once('close', (code, signal) => resolve(code ?? (signal === null ? 1 : SIGNALLED)));
  });

/**
 * A private folder for a key. It is in memory and emptied at the end of the login, if the computer has such a folder
 * (XDG_RUNTIME_DIR), so that not even SIGKILL leaves a key on disk. An agent is not used: it would forward the key to hosts in
 * place of the user's own (`ForwardAgent yes`).
 */
function privateFolder(): string {
  const runtime = process.env['XDG_RUNTIME_DIR'];
  return runtime !== undefined && isOwnFolder(runtime) ? runtime : tmpdir();
}

function isOwnFolder(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}

/** Exit code if a signal ended ssh. ssh itself prints the signal. */
const SIGNALLED = 255;

function notStarted(error: Error): CliError {
  return new CliError(
    ExitCode.Failed,
    `the OpenSSH client cannot be started: ${error.message}`,
    'install it (Debian: apt-get install openssh-client), or use `jobctl exec`, which needs none',
  );
}

/** OpenSSH takes the first value of each option, and reads the command line first. So no configuration file can change these. */
async function sshArguments(
  { route, key, keys }: SshReach,
  host: JobHost<SshTarget>,
  folder: string,
  words: readonly string[],
): Promise<readonly string[]> {
  const knownHosts = privateFile(folder, 'known_hosts', knownHostsText(keys));
  const { target } = host;
  const { own } = target;
  const options: Readonly<Record<string, string>> = {
    HostKeyAlias: hostKeyAlias(host),
    UserKnownHostsFile: quoted(knownHosts),
    GlobalKnownHostsFile: '/dev/null',
    StrictHostKeyChecking: 'yes',
    CheckHostIP: 'no',
    UpdateHostKeys: 'no',
    IdentitiesOnly: 'yes',
    ServerAliveInterval: String(ALIVE_SECONDS),
    ...(route.proxyCommand === undefined || own !== undefined
      ? {}
      : { ProxyCommand: await proxyOption(route.proxyCommand, host, route.port) }),
  };
  return [
    ...Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
    ...['-i', key.file ?? privateFile(folder, 'identity', key.text)],
    ...['-p', String(own?.port ?? route.port), '-l', target.user],
    addressOf(host, route),
    ...words,
  ];
}

/**
 * Joins stdin and stdout with the SSH port of a host, as OpenSSH's ProxyCommand wants it.
 * @returns the exit code when the connection is over
 */
export async function relayToHost({ route }: SshReach, host: JobHost<SshTarget>): Promise<number> {
  const { target } = host;
  const port = target.own?.port ?? route.port;
  const address = addressOf(host, route);
  if (route.proxyCommand !== undefined && target.own === undefined) {
    const { startProxy } = await import('../../../cloud/hosts/ssh-proxy.js');
    const proxy = startProxy(route.proxyCommand, { target, port });
    const isOver = new Promise<void>((resolve) => proxy.socket.once('close', () => resolve()));
    joinWithStdio(proxy.socket);
    await isOver;
    return ExitCode.Done;
  }
  const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true });
  joinWithStdio(socket);
  await new Promise<void>((resolve, reject) => {
    socket.once('close', () => resolve());
    socket.once('error', (error) =>
      reject(new CliError(ExitCode.Unavailable, `host ${host.number}, ${address}:${port}: ${error.message}`)),
    );
  });
  return ExitCode.Done;
}

function joinWithStdio(socket: Duplex): void {
  process.stdin.pipe(socket);
  socket.pipe(process.stdout);
  socket.once('close', () => process.stdin.destroy());
  // ssh is gone.
  process.stdout.once('error', () => socket.destroy());
}

const addressOf = ({ target }: JobHost<SshTarget>, { address }: SshReach['route']): string =>
  address === 'internal' ? (target.internalAddress ?? target.address) : target.address;

/** The proxy command with our placeholders filled in. Each remaining `%` is doubled, because OpenSSH expands it too. */
async function proxyOption(template: string, { target }: JobHost<SshTarget>, port: number): Promise<string> {
  const { proxyCommandLine } = await import('../../../cloud/hosts/ssh-proxy.js');
  try {
    return proxyCommandLine(template, { target, port }).replaceAll('%', '%%');
  } catch (error) {
    throw new CliError(ExitCode.Usage, `--proxy-command: ${(error as Error).message}`);
  }
}

/** Quotes a path, because blanks separate the values of this option. */
const quoted = (path: string): string => `"${path}"`;

function privateFile(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text.endsWith('\n') ? text : `${text}\n`, { mode: 0o600 });
  return path;
}

/** Signals that are passed on. A closed terminal sends SIGHUP. */
const PASSED_ON = ['SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/**
 * From here on, no signal ends this process before the key is removed. Ctrl-C is ignored, because the terminal sends it to ssh
 * directly. Other signals are passed on to ssh, including those that came before it started.
 */
function holdSignals(): { passTo(ssh: ChildProcess): void; release(): void } {
  let child: ChildProcess | undefined;
  let early: NodeJS.Signals | undefined;
  const ignore = (): void => undefined;
  const passOn = (signal: NodeJS.Signals): void => {
    early ??= signal;
    child?.kill(signal);
  };
  process.on('SIGINT', ignore);
  for (const signal of PASSED_ON) process.on(signal, passOn);
  return {
    passTo: (ssh) => {
      child = ssh;
      if (early !== undefined) ssh.kill(early);
    },
    release: () => {
      process.off('SIGINT', ignore);
      for (const signal of PASSED_ON) process.off(signal, passOn);
    },
  };
}

/** Does for pods what the OpenSSH client does for VMs: a shell, and a forwarded port through the API server. */

/** ssh's exit code for a failed connection. */
const UNREACHABLE = 255;

/** Runs a login shell at the terminal, or a command with this process's stdin. @returns its exit code, or 255 */
export async function podShell(reach: PodReach, words: readonly string[]): Promise<number> {
  const { job } = reach;
  const [first = ''] = words;
  if (first.startsWith('-')) {
    throw new CliError(
      ExitCode.Usage,
      `jobctl ssh: '${first}' is an option of ssh, and the hosts of ${job} are pods, which exec reaches`,
      asTyped(`for a port: jobctl port-forward ${job} PORT; for a command: jobctl exec ${job} -- CMD`),
    );
  }
  const isTerminal = words.length === 0 && process.stdin.isTTY && process.stdout.isTTY;
  const [result] = await onEachHost(reach, new AbortController().signal, async (connection) => {
    if (isTerminal) {
      const { target } = oneHost(reach);
      const [{ podTerminal }, { contextOf }] = await Promise.all([
        import('../../../cloud/hosts/pod-terminal.js'),
        import('../../../cloud/hosts/pod-fleet.js'),
      ]);
      return (await podTerminal(await clustersOf(reach.context)(contextOf(target)), target)) ?? UNREACHABLE;
    }
    const { code } = await connection.exec(words.length === 0 ? LOGIN_SHELL : words.join(' '), {
      stdin: process.stdin,
      onStdout: (chunk) => written(process.stdout, chunk),
      onStderr: (chunk) => written(process.stderr, chunk),
      signal: new AbortController().signal,
    });
    return code ?? UNREACHABLE;
  });
  if (result?.kind === 'done') return result.value;
  printErr(`${result?.message}\n`);
  return UNREACHABLE;
}

const written = (stream: NodeJS.WriteStream, chunk: Buffer): Promise<void> =>
  new Promise((resolve) => void stream.write(chunk, () => resolve()));

const ended = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

/** Forwards a loopback port of this computer to a port of a pod until Ctrl-C. */
export async function forwardToPod(
  reach: PodReach,
  { local, remote }: ForwardedPorts,
  end = watchEnd(),
): Promise<number> {
  const { job, context } = reach;
  const { target, number } = oneHost(reach);
  const { joinWithPort } = await import('../../../cloud/hosts/pod-terminal.js');
  const { contextOf } = await import('../../../cloud/hosts/pod-fleet.js');
  const cluster = await clustersOf(context)(contextOf(target));
  const connect = async (socket: Socket): Promise<void> => {
    socket.on('error', () => undefined);
    try {
      await joinWithPort(cluster, target, remote, socket);
    } catch (error) {
      printErr(`port ${remote} of host ${number}: ${(error as Error).message}\n`);
      socket.destroy();
    }
  };
  const server = createServer({ allowHalfOpen: true }, (socket) => void connect(socket));
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(local, '127.0.0.1', resolve));
  printOut(`http://127.0.0.1:${local} is port ${remote} of host ${number} of ${job}; Ctrl-C ends it\n`);
  await ended(end);
  server.close();
  return ExitCode.Done;
}
