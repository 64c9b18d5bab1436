import { createFleet, type Fleet } from './host-fleet.js';
import type { SshTarget } from './port.js';
import { keyFingerprint } from './private-key.js';
import { Semaphore } from '../../domain/semaphore.js';
import type { HandshakeOptions } from './ssh-handshake.js';
import { SshLink } from './ssh-link.js';

export interface SshHostsOptions extends Omit<HandshakeOptions, 'connectTimeoutMs' | 'keepaliveMs'> {
  /** Selects the dialled address of a host; `external` uses the external address if there is one. */
  readonly address?: 'external' | 'internal';
  /** Limit for TCP, key exchange and login together. */
  readonly connectTimeoutMs?: number;
  /** Concurrent handshakes. More is faster up to about 256 (docs/facts.md, "Hosts over SSH"); sshd's own limit is per host. */
  readonly maxConnecting?: number;
  /** Time between two keepalives on a silent connection; three without an answer mean that it is lost. */
  readonly keepaliveMs?: number;
  /** Time for which a connection without holders is kept for the next step. */
  readonly idleMs?: number;
  /** Seconds between two looks at a run's output. */
  readonly followPollSeconds?: number;
  /** Uses inotify instead of polling: lower delay at a higher cost. */
  readonly followWithInotify?: boolean;
}

const DEFAULTS = {
  connectTimeoutMs: 20_000,
  maxConnecting: 128,
  keepaliveMs: 15_000,
  idleMs: 60_000,
  followPollSeconds: 0.2,
} as const;

/** The hosts of all slices, over SSH. Keeps one connection per host, user and key, shared by all callers. */
export function createSshHosts(options: SshHostsOptions): Fleet<SshTarget> {
  const settings = { ...DEFAULTS, ...options };
  const connecting = new Semaphore(settings.maxConnecting);
  /** Selects the address that is dialled. */
  const routed = (target: SshTarget): SshTarget =>
    settings.address === 'internal' ? { ...target, address: target.internalAddress ?? target.address } : target;
  return createFleet<SshTarget>({
    link: (target, key) => new SshLink(routed(target), key, { ...settings, connecting }),
    hostName: (target) => hostName(routed(target)),
    loginName: ({ user }, key) => `${user} ${keyFingerprint(key)}`,
    idleMs: settings.idleMs,
    follow: { pollSeconds: settings.followPollSeconds, useInotify: settings.followWithInotify ?? false },
  });
}

/** A host is identified by its node's id and its index, and by its address, since a stopped node may return at another one. */
function hostName(target: SshTarget): string {
  return `${target.uid}/${target.index}@${target.address}`;
}
