import type { HostKeyPins } from '../../../cloud/hosts/host-key-pins.js';
import {
  type HostConnection,
  HostKeyMismatch,
  type HostsPort,
  HostUnfit,
  HostUnreachable,
} from '../../../cloud/hosts/port.js';
import { Semaphore } from '../../../domain/semaphore.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { clustersOf } from '../../place/kubernetes-cluster.js';
import type { JobHost } from './job-hosts.js';
import type { Reach } from './reach.js';
import { pinnedTo } from './keys.js';
import type { Route } from './route.js';

/** Hosts that are asked at the same time: each answer of a pod's hundreds of hosts is held in memory until it is written. */
const HOSTS_AT_ONCE = 64;

/** The result for one host. */
export type HostResult<T> =
  | { readonly kind: 'done'; readonly host: JobHost; readonly value: T }
  /** The host could not be reached: the result of the request is unknown. */
  | { readonly kind: 'unreachable'; readonly host: JobHost; readonly message: string };

/**
 * Does `work` on every host over connections of this process, and closes them.
 * @returns results in the order of the hosts
 * @throws errors of `work` that are not the connection's fault
 */
export async function onEachHost<T>(
  reach: Reach,
  signal: AbortSignal,
  work: (connection: HostConnection, host: JobHost) => Promise<T>,
): Promise<readonly HostResult<T>[]> {
  const fleet = await fleetOf(reach);
  const key = { privateKey: reach.by === 'ssh' ? reach.key.text : '' };
  const permits = new Semaphore(HOSTS_AT_ONCE);
  const onOne = async (host: JobHost): Promise<HostResult<T>> => {
    try {
      const connection = await fleet.connect(host.target, key, signal);
      try {
        return { kind: 'done', host, value: await work(connection, host) };
      } finally {
        connection.close();
      }
    } catch (error) {
      if (![HostUnreachable, HostKeyMismatch, HostUnfit].some((kind) => error instanceof kind)) throw error;
      return { kind: 'unreachable', host, message: (error as Error).message };
    }
  };
  try {
    return await Promise.all(reach.hosts.map((host) => permits.run(() => onOne(host))));
  } finally {
    fleet.release();
  }
}

async function fleetOf(reach: Reach): Promise<HostsPort> {
  if (reach.by === 'ssh') return fleetBy(reach.route, pinnedTo(reach.keys, reach.store));
  const { createPodHosts } = await import('../../../cloud/hosts/pod-fleet.js');
  return createPodHosts(clustersOf(reach.context));
}

/** @throws CliError if the proxy command has invalid words */
async function fleetBy({ port, address, proxyCommand }: Route, hostKeys: HostKeyPins): Promise<HostsPort> {
  const { createSshHosts } = await import('../../../cloud/hosts/ssh-fleet.js');
  try {
    return createSshHosts({ port, address, hostKeys, ...(proxyCommand === undefined ? {} : { proxyCommand }) });
  } catch (error) {
    throw new CliError(ExitCode.Usage, `--proxy-command: ${(error as Error).message}`);
  }
}
