import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';
import type { JobHost } from './job-hosts.js';
import type { Reach } from './reach.js';
import { hostKeyAlias, knownHostsText } from './recorded-keys.js';

/** Signs of life on a silent connection; three without an answer end it. */
const ALIVE_SECONDS = 15;

export interface SshProcess {
  /** Of the OpenSSH client; 255: the connection failed. */
  readonly exitCode: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

/**
 * Starts the real OpenSSH client towards one host: with the right key alone, and held to the host's recorded key. The user's own
 * ~/.ssh/config applies to all that is not said here.
 * @param words the user's: options, or a command
 * @param onStdout gets stdout; absent: it is ours
 */
export async function startOpenSsh(
  reach: Reach,
  host: JobHost,
  words: readonly string[],
  onStdout?: (text: string) => void,
): Promise<SshProcess> {
  // Of its own and readable by us alone: the key of a secret is in it while ssh runs.
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-ssh-'));
  const child = spawn('ssh', await sshArguments(reach, host, folder, words), {
    stdio: ['inherit', onStdout ? 'pipe' : 'inherit', 'inherit'],
  });
  child.stdout?.on('data', (chunk: Buffer) => onStdout?.(chunk.toString()));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  const exitCode = new Promise<number>((resolve, reject) => {
    child.once('error', (error) => reject(notStarted(error)));
    child.once('close', (code, signal) => resolve(code ?? (signal === null ? 1 : SIGNALLED)));
  }).finally(remove);
  return { exitCode, kill: (signal) => void child.kill(signal) };
}

/** As shells say it of a process that a signal ended; which one says ssh itself. */
const SIGNALLED = 255;

function notStarted(error: Error): CliError {
  return new CliError(
    ExitCode.Failed,
    `the OpenSSH client cannot be started: ${error.message}`,
    'install it (Debian: apt-get install openssh-client), or use `jobctl exec`, which needs none',
  );
}

/** First values win in OpenSSH, and the command line's before any file's: nothing here can be undone by a configuration. */
async function sshArguments(
  { route, key, keys }: Reach,
  host: JobHost,
  folder: string,
  words: readonly string[],
): Promise<readonly string[]> {
  const knownHosts = privateFile(folder, 'known_hosts', knownHostsText(keys));
  const options: Readonly<Record<string, string>> = {
    HostKeyAlias: hostKeyAlias(host),
    UserKnownHostsFile: quoted(knownHosts),
    GlobalKnownHostsFile: '/dev/null',
    StrictHostKeyChecking: 'yes',
    CheckHostIP: 'no',
    UpdateHostKeys: 'no',
    IdentitiesOnly: 'yes',
    ServerAliveInterval: String(ALIVE_SECONDS),
    ...(route.proxyCommand === undefined
      ? {}
      : { ProxyCommand: await proxyOption(route.proxyCommand, host, route.port) }),
  };
  const { target } = host;
  return [
    ...Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
    ...['-i', key.file ?? privateFile(folder, 'identity', key.text)],
    ...['-p', String(route.port), '-l', target.user],
    addressOf(host, route),
    ...words,
  ];
}

export const addressOf = ({ target }: JobHost, { address }: Reach['route']): string =>
  address === 'internal' ? (target.internalAddress ?? target.address) : target.address;

/** With our words put in; what OpenSSH would put in itself is behind `%%`. */
async function proxyOption(template: string, { target }: JobHost, port: number): Promise<string> {
  const { proxyCommandLine } = await import('../../../cloud/hosts/ssh-proxy.js');
  try {
    return proxyCommandLine(template, { target, port }).replaceAll('%', '%%');
  } catch (error) {
    throw new CliError(ExitCode.Usage, `--proxy-command: ${(error as Error).message}`);
  }
}

/** A file name may hold blanks, which divide the values of this option. */
const quoted = (path: string): string => `"${path}"`;

function privateFile(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text.endsWith('\n') ? text : `${text}\n`, { mode: 0o600 });
  return path;
}
