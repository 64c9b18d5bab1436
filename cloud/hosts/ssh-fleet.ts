import { abortable } from '../abort.js';
import { RunnerHostConnection } from './host-connection.js';
import type { LinkUsers } from './host-connection.js';
import type { HostsPort, HostTarget, SshKey } from './port.js';
import { RunnerClient } from './runner-client.js';
import { Semaphore } from './semaphore.js';
import { keyFingerprint } from './private-key.js';
import type { HandshakeOptions } from './ssh-handshake.js';
import { parseExitRecord } from './run-status.js';
import { SshLink } from './ssh-link.js';
import { StoreFetch } from './store-fetch.js';

export interface SshHostsOptions extends Omit<HandshakeOptions, 'connectTimeoutMs' | 'keepaliveMs'> {
  /** Which of a host's addresses; `external` = that one where there is one. */
  readonly address?: 'external' | 'internal';
  /** TCP, key exchange and login together. */
  readonly connectTimeoutMs?: number;
  /** Handshakes at one time. More is faster up to about 256 (facts/ssh-fleet.md 1); sshd's own limit is per host. */
  readonly maxConnecting?: number;
  /** Between two signs of life on a silent connection; three without an answer are a loss. */
  readonly keepaliveMs?: number;
  /** How long a connection that nobody holds is kept for the next step. */
  readonly idleMs?: number;
  /** Seconds between two looks at a run's output. */
  readonly followPollSeconds?: number;
  /** inotify instead of looking: fresher and dearer. */
  readonly followWithInotify?: boolean;
}

const DEFAULTS = {
  connectTimeoutMs: 20_000,
  maxConnecting: 128,
  keepaliveMs: 15_000,
  idleMs: 60_000,
  followPollSeconds: 0.2,
} as const;

interface SharedLink extends LinkUsers {
  holders: number;
  idle?: NodeJS.Timeout;
}

/** The hosts of all slices, over SSH. One kept connection per host, user and key, shared by all who ask for it. */
export function createSshHosts(options: SshHostsOptions): HostsPort {
  const settings = { ...DEFAULTS, ...options };
  const connecting = new Semaphore(settings.maxConnecting);
  const follow = { pollSeconds: settings.followPollSeconds, useInotify: settings.followWithInotify ?? false };
  const links = new Map<string, SharedLink>();

  function sharedLink(target: HostTarget, key: SshKey, name: string): SharedLink {
    const known = links.get(name);
    if (known) return known;
    const link = new SshLink(target, key, { ...settings, connecting });
    const made: SharedLink = { link, runner: new RunnerClient(link), fetch: new StoreFetch(link), holders: 0 };
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
    shared.idle = setTimeout(close, settings.idleMs).unref();
  }

  /** With the address that is dialled. */
  const routed = (target: HostTarget): HostTarget =>
    settings.address === 'internal' ? { ...target, address: target.internalAddress ?? target.address } : target;

  async function connect(host: HostTarget, key: SshKey, signal: AbortSignal): Promise<RunnerHostConnection> {
    signal.throwIfAborted();
    const target = routed(host);
    const name = `${hostName(target)} ${target.user} ${keyFingerprint(key)}`;
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
    return new RunnerHostConnection(shared, follow, close);
  }

  function release(targets?: readonly HostTarget[]): void {
    const wanted = targets && new Set(targets.map((target) => hostName(routed(target))));
    for (const [name, { link, idle }] of links) {
      if (wanted && !wanted.has(hostName(link.target))) continue;
      links.delete(name);
      clearTimeout(idle);
      link.close();
    }
  }

  return { connect, release, readExitRecord: parseExitRecord };
}

/** A host is its node's id and its index; the address too, since a stopped node may come back at another. */
function hostName(target: HostTarget): string {
  return `${target.uid}/${target.index}@${target.address}`;
}
