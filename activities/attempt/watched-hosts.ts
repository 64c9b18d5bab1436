import { type HostConnection, type HostTarget, type HostUpload, wayOf } from '../../cloud/hosts/port.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { signObject } from '../../domain/store-layout.js';
import { type AttemptHost, commandHostsOf, runIdOf } from './attempt-hosts.js';
import { routeOf, type WatchedHost } from './routes.js';
import type { UnreachableHosts } from './unreachable-hosts.js';

/** The object of a host's sign of life. @param number position of the host among all of the attempt */
export const signOf = ({ job, attempt }: Pick<AttemptInput, 'job' | 'attempt'>, number: number): string =>
  signObject(job.id, attempt, number);

/**
 * Undefined: this host could never upload. A host without an account of a provider may have one that its owner gave it.
 * @param expected as `StorePort.uploadUrl` takes it
 */
export function hostUpload(
  store: Pick<StorePort, 'uploadUrl'>,
  { target }: AttemptHost,
  object: string,
  expected?: 'absent',
): HostUpload | undefined {
  const url = store.uploadUrl(object, expected);
  if (url === undefined) return undefined;
  if (!url.startsWith('http:')) return { url, as: 'service-account' };
  return wayOf(target).hasAccount(target) ? { url, as: 'nobody' } : undefined;
}

/** The hosts of an attempt's command, as evidence about other hosts needs them. */
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
