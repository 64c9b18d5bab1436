import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SshHostsOptions } from '../../cloud/hosts/ssh-fleet.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-record.js';
import type { HostConnection, HostsPort } from '../../cloud/hosts/port.js';
import { until } from '../until.js';
import type { TestHost, TestHostOptions } from './ssh-host.js';
import { makeKeyPair, startTestHost } from './ssh-host.js';

export const never = new AbortController().signal;
export const ourKey = makeKeyPair();
const sshKey = { privateKey: ourKey.private };

/** One host and one connection to it; `another()` is another worker's, with a connection of its own. */
export interface HostSession {
  readonly host: TestHost;
  readonly connection: HostConnection;
  another(options?: Partial<SshHostsOptions>): Promise<HostConnection>;
  /** The text of a file under the host's home. */
  read(path: string): string;
  /** Run ids of the host's own record of starts. */
  starts(): string[];
}

export async function withHost(
  work: (session: HostSession) => Promise<void>,
  options: Partial<TestHostOptions> = {},
): Promise<void> {
  const host = await startTestHost({ authorized: ourKey, ...options });
  const fleets: HostsPort[] = [];
  const another: HostSession['another'] = async (fleetOptions) => {
    const fleet = createSshHosts({ port: host.port, hostKeys: memoryHostKeyPins(), ...fleetOptions });
    fleets.push(fleet);
    return fleet.connect(host.target, sshKey, never);
  };
  const read = (path: string): string => readFileSync(join(host.home, path), 'utf8');
  const starts = (): string[] =>
    read('.jobctl/starts.log')
      .trim()
      .split('\n')
      .map((line) => line.split(' ')[0] ?? '');
  try {
    await work({ host, connection: begins(await another()), another, read, starts });
  } finally {
    for (const fleet of fleets) fleet.release();
    await host.stop();
  }
}

/** Answers a start once its command has begun or will not begin. A busy host answers `starting` first. */
function begins(connection: HostConnection): HostConnection {
  const start = connection.startRun.bind(connection);
  connection.startRun = async (request) => {
    const answer = await start(request);
    if (answer.kind !== 'starting') return answer;
    return until(`${request.runId} begins`, async () => {
      const status = await connection.runStatus(request.runId);
      return status.kind === 'starting' ? undefined : status;
    });
  };
  return connection;
}

export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
