import { wayOf } from '../../cloud/hosts/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { kindOfJob, machineKind } from '../../domain/machines.js';
import type { AttemptHost } from './attempt-hosts.js';

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

  /** Others on the route of a host that are not known to be silent, those of its own slice first. */
  beside(host: WatchedHost): readonly WatchedHost[] {
    const others = [...this.#hosts].filter(
      (other) => other !== host && other.route === host.route && !other.isSilent(),
    );
    return others.toSorted((one, other) => distance(host, one) - distance(host, other));
  }
}

const distance = ({ target }: WatchedHost, other: WatchedHost): number => (target.uid === other.target.uid ? 0 : 1);

/** The route by account, place, network, and the kind of address that is dialled. */
export function routeOf({ spec }: Pick<AttemptInput, 'spec'>, { target }: AttemptHost): string {
  const place = { ...target.ref, name: '' };
  const isInternal = wayOf(target).isInternal(target);
  return JSON.stringify([place, machineKind(kindOfJob(spec)).route(spec), isInternal]);
}
