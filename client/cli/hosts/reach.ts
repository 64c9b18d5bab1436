import type { StoreReader } from '../../../cloud/store/port.js';
import { openReader, withClient } from '../connect.js';
import { type CliContext, type ContextFlags, resolveContext, storeOf } from '../context.js';
import type { HostChoice } from './host-options.js';
import { chooseHosts, type JobHost, hostsOfJob } from './job-hosts.js';
import { type LoginKey, loginKey } from './login-key.js';
import { recordedKeys, type RecordedKeys } from './recorded-keys.js';
import { type Route, type RouteFlags, routeOf } from './route.js';

export type ReachFlags = ContextFlags & RouteFlags;

/** Everything that a verb needs to log in to hosts of a job. */
export interface Reach {
  readonly job: string;
  readonly context: CliContext;
  readonly store: StoreReader;
  readonly route: Route;
  readonly key: LoginKey;
  /** The chosen ones, with the user that each lets in. */
  readonly hosts: readonly JobHost[];
  readonly keys: RecordedKeys;
}

/**
 * Looks a job's hosts up; Temporal is not needed after it.
 * @throws CliError, JobNotFound, TemporalUnreachable, StoreUnavailable ..: before anything is sent to a host
 */
export async function reachHosts(job: string, choice: HostChoice, flags: ReachFlags): Promise<Reach> {
  const context = resolveContext(flags);
  const route = routeOf(flags, context);
  const store = await openReader(storeOf(context, `the keys of ${job}'s hosts cannot be looked up`));
  const all = await withClient(context, (client) => hostsOfJob(client, job));
  const chosen = chooseHosts(all, choice);
  const key = await loginKey(all, route, context);
  const keys = await recordedKeys(store, chosen);
  return { job, context, store, route, key, hosts: [...keys.keys()], keys };
}
