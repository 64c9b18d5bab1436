import { abortable } from '../abort.js';
import { RunnerHostConnection } from './host-connection.js';
import type { FollowOptions, LinkUsers } from './host-connection.js';
import type { HostLink } from './host-link.js';
import type { HostsPort, HostTarget, SshKey } from './port.js';
import { formatExitRecord, parseExitRecord } from './run-status.js';
import { RunnerClient } from './runner-client.js';
import { StoreFetch } from './store-fetch.js';

/** The operations by which a fleet reaches hosts of one kind. */
interface FleetWay<Target extends HostTarget> {
  readonly link: (target: Target, key: SshKey) => HostLink;
  /** Identifies the host without the login: a caller that releases a host need not know the key. */
  readonly hostName: (target: Target) => string;
  /** Identifies the login on the host: links of two logins are not shared. */
  readonly loginName: (target: Target, key: SshKey) => string;
  /** Time for which a link without holders is kept for the next step. */
  readonly idleMs: number;
  readonly follow: FollowOptions;
}

interface SharedLink extends LinkUsers {
  readonly host: string;
  holders: number;
  idle?: NodeJS.Timeout;
}

/** A fleet of hosts of one kind. The caller must pass only targets of that kind. */
export interface Fleet<Target extends HostTarget> extends Omit<HostsPort, 'connect' | 'release'> {
  connect(target: Target, key: SshKey, signal: AbortSignal): Promise<RunnerHostConnection>;
  release(targets?: readonly Target[]): void;
}

/** Keeps one link per host and login, shared by all callers. */
export function createFleet<Target extends HostTarget>(way: FleetWay<Target>): Fleet<Target> {
  const links = new Map<string, SharedLink>();

  function sharedLink(target: Target, key: SshKey, name: string): SharedLink {
    const known = links.get(name);
    if (known) return known;
    const link = way.link(target, key);
    const users = { link, runner: new RunnerClient(link), fetch: new StoreFetch(link) };
    const made: SharedLink = { ...users, host: way.hostName(target), holders: 0 };
    links.set(name, made);
    return made;
  }

  function letGo(name: string, shared: SharedLink): void {
    shared.holders -= 1;
    if (shared.holders > 0) return;
    const close = (): void => {
      if (links.get(name) === shared) links.delete(name);
      shared.link.close();
    };
    shared.idle = setTimeout(close, way.idleMs).unref();
  }

  async function connect(target: Target, key: SshKey, signal: AbortSignal): Promise<RunnerHostConnection> {
    signal.throwIfAborted();
    const name = `${way.hostName(target)} ${way.loginName(target, key)}`;
    const shared = sharedLink(target, key, name);
    shared.holders += 1;
    clearTimeout(shared.idle);
    let isHeld = true;
    const close = (): void => {
      if (isHeld) letGo(name, shared);
      isHeld = false;
    };
    try {
      await abortable(shared.link.open(), signal);
    } catch (error) {
      close();
      throw error;
    }
    return new RunnerHostConnection(shared, way.follow, close);
  }

  function release(targets?: readonly Target[]): void {
    const wanted = targets && new Set(targets.map(way.hostName));
    for (const [name, { link, host, idle }] of links) {
      if (wanted && !wanted.has(host)) continue;
      links.delete(name);
      clearTimeout(idle);
      link.close();
    }
  }

  return { connect, release, readExitRecord: parseExitRecord, exitRecord: formatExitRecord };
}
