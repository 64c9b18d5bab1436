import type { HostConnection, HostTarget, HostUpload } from '../../cloud/hosts/port.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { signObject } from '../../domain/store-layout.js';
import { commandHostsOf, runIdOf } from './attempt-hosts.js';
import { routeOf, type WatchedHost } from './routes.js';
import type { UnreachableHosts } from './unreachable-hosts.js';

/** The object of a host's sign of life. @param number the host's, among all of the attempt */
export const signOf = ({ job, attempt }: Pick<AttemptInput, 'job' | 'attempt'>, number: number): string =>
  signObject(job.id, attempt, number);

/** @param expected as `StorePort.uploadUrl` takes it */
export function hostUpload(store: Pick<StorePort, 'uploadUrl'>, object: string, expected?: 'absent'): HostUpload {
  const url = store.uploadUrl(object, expected);
  return { url, as: url.startsWith('http:') ? 'nobody' : 'service-account' };
}

/** The hosts of an attempt's command, as others' evidence needs them. */
export function watchedHosts(
  input: AttemptInput,
  connect: (target: HostTarget) => Promise<HostConnection>,
  unreachable: UnreachableHosts,
): readonly WatchedHost[] {
  return commandHostsOf(input).map((host) => ({
    ...host,
    route: routeOf(input, host),
    sign: signOf(input, host.number),
    isSilent: () => unreachable.isSilent(host.target),
    ask: async () => {
      const connection = await connect(host.target);
      try {
        return await connection.runStatus(runIdOf(input));
      } finally {
        connection.close();
      }
    },
  }));
}
