import type { Cluster } from '../machines/kubernetes/cluster.js';
import { createFleet, type Fleet } from './host-fleet.js';
import { PodLink } from './pod-link.js';
import type { PodTarget } from './port.js';
import { Semaphore } from './semaphore.js';

interface PodHostsOptions {
  /** How long what is known of a pod that nobody holds is kept. */
  readonly idleMs?: number;
  /** Seconds between two looks at a run's output. */
  readonly followPollSeconds?: number;
  /** Pods that are looked at for the first time, at one time. */
  readonly maxConnecting?: number;
}

const DEFAULTS = { idleMs: 60_000, followPollSeconds: 0.2, maxConnecting: 64 } as const;

/** The pods of a cluster. @param cluster opened when the first pod is asked for */
export function createPodHosts(cluster: () => Promise<Cluster>, options: PodHostsOptions = {}): Fleet<PodTarget> {
  const { idleMs, followPollSeconds, maxConnecting } = { ...DEFAULTS, ...options };
  const connecting = new Semaphore(maxConnecting);
  let opened: Promise<Cluster> | undefined;
  const open = (): Promise<Cluster> =>
    (opened ??= cluster().catch((error: unknown) => {
      // A kubeconfig may be written later.
      opened = undefined;
      throw error;
    }));
  return createFleet<PodTarget>({
    link: (target) => new PodLink(target, open, connecting),
    hostName: ({ podUid }) => podUid,
    loginName: () => 'exec',
    idleMs,
    follow: { pollSeconds: followPollSeconds, useInotify: false },
  });
}
