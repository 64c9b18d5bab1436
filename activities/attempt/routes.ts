import { wayOf, type HostConnection, type HostTarget, type HostUpload } from '../../cloud/hosts/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { kindOfJob, machineKind } from '../../domain/machines.js';
import type { StorePort } from '../../cloud/store/port.js';
import { signObject } from '../../domain/store-layout.js';
import { type AttemptHost, commandHostsOf, runIdOf } from './attempt-hosts.js';
import type { UnreachableHosts } from './unreachable-hosts.js';

/** A host that this worker watches, of any job. */
export interface WatchedHost extends AttemptHost {
  /** Hosts of one route are reached in the same way. If one answers, the way to the others is open. */
  readonly route: string;
  /** Its sign of life in the store. */
  readonly sign: string;
  isSilent(): boolean;
  /** Rejects if it does not answer. */
  ask(): Promise<unknown>;
}

/** The hosts of all attempts that this worker watches, to find others that could answer over the same route. */
export class Routes {
  readonly #hosts = new Set<WatchedHost>();

  /** @returns a function that ends the watch */
  watch(hosts: readonly WatchedHost[]): () => void {
    for (const host of hosts) this.#hosts.add(host);
    return () => {
      for (const host of hosts) this.#hosts.delete(host);
    };
  }

  /** Other hosts on the same route that are not known to be silent, those of the host's own slice first. */
  beside(host: WatchedHost): readonly WatchedHost[] {
    const others = [...this.#hosts].filter(
      (other) => other !== host && other.route === host.route && !other.isSilent(),
    );
    return others.toSorted((one, other) => distance(host, one) - distance(host, other));
  }
}

const distance = ({ target }: WatchedHost, other: WatchedHost): number => (target.uid === other.target.uid ? 0 : 1);

/** The route by account, place, network, and the kind of address that is dialled. */
function routeOf({ spec }: Pick<AttemptInput, 'spec'>, { target }: AttemptHost): string {
  const place = { ...target.ref, name: '' };
  const isInternal = wayOf(target).isInternal(target);
  return JSON.stringify([place, machineKind(kindOfJob(spec)).route(spec), isInternal]);
}

/** The object of a host's sign of life. @param number position of the host among all of the attempt */
export const signOf = ({ job, attempt }: Pick<AttemptInput, 'job' | 'attempt'>, number: number): string =>
  signObject(job.id, attempt, number);

/**
 * Undefined: this host could never upload. A host without an account of a provider may have an account from its owner.
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
