/** OpenSSH's own server on loopback, with a HOME and a host key of its own: what a TPU VM runs, unlike ssh-host.ts. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { SshTarget } from '../../cloud/hosts/port.js';
import { until } from '../until.js';
import type { KeyPair } from './ssh-host.js';
import { makeKeyPair } from './ssh-host.js';

export const SSHD = '/usr/sbin/sshd';
export const hasOpenSshd = existsSync(SSHD);

export interface OpenSshd {
  readonly address: string;
  readonly port: number;
  readonly user: string;
  readonly home: string;
  /** `ssh-ed25519 AAAA..` */
  readonly hostKey: string;
  readonly target: SshTarget;
  /** Ends the server and what runs under its HOME's connections. */
  stop(): Promise<void>;
}

export interface OpenSshdOptions {
  readonly authorized: KeyPair;
  /** 127.x.y.z */
  readonly address: string;
  readonly port: number;
  readonly uid?: string;
  readonly index?: number;
  /** Says that its system runs, as a host with systemd does: this computer may have none. It has no route to a store. */
  readonly hasSystem?: true;
  /** Further lines of sshd_config; the first of a setting counts. */
  readonly settings?: string;
}

export async function startOpenSshd(options: OpenSshdOptions): Promise<OpenSshd> {
  const { authorized, address, port } = options;
  if (!hasOpenSshd) throw new Error(`${SSHD} is missing: apt-get install openssh-server`);
  // Its unprivileged half lives there; a container without an init does not have it.
  if (userInfo().uid === 0) await mkdir('/run/sshd', { recursive: true });
  const folder = await mkdtemp(join(tmpdir(), 'open-sshd-'));
  const home = join(folder, 'home');
  const hostKey = makeKeyPair();
  await mkdir(home);
  if (options.hasSystem) await writeSystem(join(folder, 'bin'));
  await writeFile(join(folder, 'host_key'), hostKey.private, { mode: 0o600 });
  await writeFile(join(folder, 'authorized_keys'), `${authorized.public}\n`);
  await writeFile(join(folder, 'sshd_config'), sshdConfig(folder, home, options));
  const server = spawn(SSHD, ['-D', '-e', '-f', join(folder, 'sshd_config')], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  server.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await until(`sshd answers at ${address}:${port}`, () => {
    if (server.exitCode !== null) throw new Error(`sshd ended with code ${server.exitCode}: ${said}`);
    return isAnswering(address, port);
  });
  const user = userInfo().username;
  return {
    address,
    port,
    user,
    home,
    hostKey: hostKey.public.split(' ').slice(0, 2).join(' '),
    target: { reach: 'ssh', uid: options.uid ?? address, slice: 0, index: options.index ?? 0, address, user },
    stop: async () => {
      await end(server);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** @param folder with its `host_key` and `authorized_keys`, and `bin` if its system runs */
export const sshdConfig = (
  folder: string,
  home: string,
  { address, port, hasSystem, settings = '' }: Pick<OpenSshdOptions, 'address' | 'port' | 'hasSystem' | 'settings'>,
): string => `${settings}
ListenAddress ${address}
Port ${port}
HostKey ${folder}/host_key
AuthorizedKeysFile ${folder}/authorized_keys
SetEnv HOME=${home}${hasSystem ? ` PATH=${folder}/bin:/usr/local/bin:/usr/bin:/bin` : ''}
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
StrictModes no
PrintMotd no
LogLevel ERROR
`;

async function writeSystem(folder: string): Promise<void> {
  await mkdir(folder);
  await writeFile(join(folder, 'systemctl'), '#!/bin/sh\necho running\n', { mode: 0o755 });
  await writeFile(join(folder, 'curl'), '#!/bin/sh\necho "curl: (6) Could not resolve host" >&2\nexit 6\n', {
    mode: 0o755,
  });
}

export function isAnswering(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.once('data', () => (socket.destroy(), resolve(true)));
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
  });
}

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exit = once(server, 'exit');
  server.kill('SIGTERM');
  await exit;
}
