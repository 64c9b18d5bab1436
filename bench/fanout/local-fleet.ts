import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OpenSshd, startOpenSshd } from '../../test/hosts/open-sshd.js';
import { makeKeyPair } from '../../test/hosts/ssh-host.js';
import type { FanoutHost } from './inventory.js';

export interface LocalFleet {
  readonly hosts: readonly FanoutHost[];
  stop(): Promise<void>;
}

const PORT = 24_222;
const STARTED_AT_ONCE = 8;

/** Starts `count` real sshd on loopback, each with its own address, host key and HOME. */
export async function startLocalFleet(count: number): Promise<LocalFleet> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-fanout-'));
  const authorized = makeKeyPair();
  const keyFile = join(folder, 'id_ed25519');
  const knownHostsFile = join(folder, 'known_hosts');
  writeFileSync(keyFile, authorized.private, { mode: 0o600 });
  const servers: OpenSshd[] = [];
  while (servers.length < count) {
    const from = servers.length;
    const more = Array.from({ length: Math.min(STARTED_AT_ONCE, count - from) }, (_, step) => addressOf(from + step));
    servers.push(...(await Promise.all(more.map((address) => startOpenSshd({ authorized, address, port: PORT })))));
  }
  const lines = servers.map(({ address, hostKey }) => `[${address}]:${PORT} ${hostKey}\n`);
  writeFileSync(knownHostsFile, lines.join(''));
  return {
    hosts: servers.map(({ address, port, user }) => ({ host: address, port, user, keyFile, knownHostsFile })),
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const addressOf = (index: number): string => `127.211.${Math.floor(index / 250)}.${(index % 250) + 1}`;
