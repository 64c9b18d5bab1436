import {
  type HostTarget,
  type PodTarget,
  type SshTarget,
  type HostConnection,
  HostKeyMismatch,
  type HostsPort,
  HostUnfit,
  HostUnreachable,
} from '../../../cloud/hosts/port.js';
import type { StoreReader } from '../../../cloud/store/port.js';
import type { JobView } from '../../../contract/job.js';
import { openReader, withClient } from '../../place/connect.js';
import { type CliContext, type ContextFlags, resolveContext, storeOf } from '../../place/context.js';
import type { HostChoice } from '../job-filter.js';
import {
  chooseHosts,
  type JobHost,
  type JobHosts,
  hostsOfJob,
  type Route,
  type RouteFlags,
  routeOf,
} from './job-hosts.js';
import {
  type LoginKey,
  loginKey,
  areUnderOsLogin,
  loggedInAs,
  recordedKeys,
  type RecordedKeys,
  pinnedTo,
} from './keys.js';
import type { HostKeyPins } from '../../../cloud/hosts/host-key-record.js';
import { Semaphore } from '../../../domain/semaphore.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { clustersOf } from '../../place/kubernetes-cluster.js';

export type ReachFlags = ContextFlags & RouteFlags;

/** Everything that a verb needs to reach hosts of a job. All hosts are of one kind of machines. */
export type Reach = SshReach | PodReach;

/** `Reach` with the job, as its workflow described it when its hosts were looked up. */
type ReachOfJob = Reach & { readonly view: JobView };

interface AnyReach<Target extends HostTarget> {
  readonly job: string;
  readonly context: CliContext;
  /** The chosen hosts. VMs have the user that each of them accepts. */
  readonly hosts: readonly JobHost<Target>[];
}
export interface SshReach extends AnyReach<SshTarget> {
  readonly by: 'ssh';
  readonly store: StoreReader;
  readonly route: Route;
  readonly key: LoginKey;
  readonly keys: RecordedKeys;
}
/** Access with the kubeconfig of the user who types: no key and no login. */
export interface PodReach extends AnyReach<PodTarget> {
  readonly by: 'exec';
}

/**
 * Looks up a job's hosts; Temporal is not needed afterwards.
 * @throws CliError, JobNotFound, TemporalUnreachable, StoreUnavailable ..: before anything is sent to a host
 */
export async function reachHosts(job: string, choice: HostChoice, flags: ReachFlags): Promise<ReachOfJob> {
  const context = resolveContext(flags);
  const route = routeOf(flags, context);
  const all = await withClient(context, (client) => hostsOfJob(client, job));
  const chosen = chooseHosts(all, choice);
  const way = chosen[0]?.target.reach ?? 'ssh';
  const open = OPENERS[way] as Opener;
  return open(
    chosen.filter(({ target }) => target.reach === way),
    { all, job, context, route },
  );
}

interface Asked {
  readonly all: JobHosts;
  readonly job: string;
  readonly context: CliContext;
  readonly route: Route;
}
type Opener<Target extends HostTarget = HostTarget> = (
  hosts: readonly JobHost<Target>[],
  asked: Asked,
) => Promise<ReachOfJob>;

/** For each way to reach hosts, how this computer does it. A new way is a row here and in `WAYS` of cloud/hosts/reaches.ts. */
const OPENERS: { readonly [R in HostTarget['reach']]: Opener<Extract<HostTarget, { readonly reach: R }>> } = {
  pod: async (hosts, { all: { view }, job, context }) => ({ by: 'exec', view, job, context, hosts }),
  ssh: async (hosts, { all, job, context, route }) => {
    const store = await openReader(storeOf(context, `the keys of ${job}'s hosts cannot be looked up`));
    const found = await recordedKeys(store, hosts);
    const key = await loginKey(all, { route, context, isUnderOsLogin: areUnderOsLogin(found, all.login) });
    const keys = route.login === undefined ? found : loggedInAs(found, route.login);
    return { by: 'ssh', view: all.view, job, context, store, route, key, hosts: [...keys.keys()], keys };
  },
};

/** The single host of a verb. @throws RangeError if there are others */
export function oneHost<Host extends JobHost>({
  job,
  hosts,
}: {
  readonly job: string;
  readonly hosts: readonly Host[];
}): Host {
  const [host, ...others] = hosts;
  if (host === undefined || others.length > 0)
    throw new RangeError(`${job}: ${hosts.length} hosts were chosen, not one`);
  return host;
}

/** Hosts that are asked at the same time. A job may have hundreds of pods, whose answers are held in memory until written. */
export const HOSTS_AT_ONCE = 64;

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
