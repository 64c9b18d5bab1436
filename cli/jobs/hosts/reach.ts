import type { HostTarget, PodTarget, SshTarget } from '../../../cloud/hosts/port.js';
import type { StoreReader } from '../../../cloud/store/port.js';
import type { JobView } from '../../../contract/job.js';
import { openReader, withClient } from '../../place/connect.js';
import { type CliContext, type ContextFlags, resolveContext, storeOf } from '../../place/context.js';
import type { HostChoice } from './host-options.js';
import { chooseHosts, type JobHost, hostsOfJob } from './job-hosts.js';
import { type LoginKey, loginKey, areUnderOsLogin, loggedInAs, recordedKeys, type RecordedKeys } from './keys.js';
import { type Route, type RouteFlags, routeOf } from './route.js';

export type ReachFlags = ContextFlags & RouteFlags;

/** Everything that a verb needs to reach hosts of a job. All hosts are of one kind of machines. */
export type Reach = SshReach | PodReach;

/** `Reach` with the job, as its workflow described it when its hosts were looked up. */
export type ReachOfJob = Reach & { readonly view: JobView };

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
  const pods = chosen.filter(isPod);
  if (pods.length > 0) return { by: 'exec', view: all.view, job, context, hosts: pods };
  const store = await openReader(storeOf(context, `the keys of ${job}'s hosts cannot be looked up`));
  const found = await recordedKeys(store, chosen.filter(isVm));
  const key = await loginKey(all, { route, context, isUnderOsLogin: areUnderOsLogin(found, all.login) });
  const keys = route.login === undefined ? found : loggedInAs(found, route.login);
  return { by: 'ssh', view: all.view, job, context, store, route, key, hosts: [...keys.keys()], keys };
}

const isPod = (host: JobHost): host is JobHost<PodTarget> => host.target.reach === 'pod';
export const isVm = (host: JobHost): host is JobHost<SshTarget> => host.target.reach === 'ssh';

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
