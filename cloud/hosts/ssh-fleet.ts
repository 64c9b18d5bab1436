import { createFleet, type Fleet } from './host-fleet.js';
import type { SshTarget } from './port.js';
import { keyFingerprint } from './private-key.js';
import { Semaphore } from '../../domain/semaphore.js';
import type { HandshakeOptions } from './ssh-handshake.js';
import { SshLink } from './ssh-link.js';

export interface SshHostsOptions extends Omit<HandshakeOptions, 'connectTimeoutMs' | 'keepaliveMs'> {
  /** Which of a host's addresses; `external` = that one where there is one. */
  readonly address?: 'external' | 'internal';
  /** TCP, key exchange and login together. */
  readonly connectTimeoutMs?: number;
  /** Handshakes at one time. More is faster up to about 256 (docs/facts.md, "Hosts over SSH"); sshd's own limit is per host. */
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

/** The hosts of all slices, over SSH. One kept connection per host, user and key, shared by all who ask for it. */
export function createSshHosts(options: SshHostsOptions): Fleet<SshTarget> {
  const settings = { ...DEFAULTS, ...options };
  const connecting = new Semaphore(settings.maxConnecting);
  /** With the address that is dialled. */
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

/** A host is its node's id and its index; the address too, since a stopped node may come back at another. */
function hostName(target: SshTarget): string {
  return `${target.uid}/${target.index}@${target.address}`;
}
