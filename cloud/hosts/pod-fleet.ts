import type { Cluster } from '../machines/kubernetes/cluster.js';
import { createFleet, type Fleet } from './host-fleet.js';
import { PodLink } from './pod-link.js';
import type { PodTarget } from './port.js';
import { Semaphore } from '../../domain/semaphore.js';

interface PodHostsOptions {
  /** Time for which the link to a pod without holders is kept. */
  readonly idleMs?: number;
  /** Seconds between two looks at a run's output. */
  readonly followPollSeconds?: number;
  /** Most pods that are looked at for the first time at once. */
  readonly maxConnecting?: number;
}

const DEFAULTS = { idleMs: 60_000, followPollSeconds: 0.2, maxConnecting: 64 } as const;

/** Opens the cluster of a kubeconfig's context; undefined: the default context. */
type OpenCluster = (context: string | undefined) => Promise<Cluster>;

/** The pods of clusters. Each cluster is opened when its first pod is needed. */
export function createPodHosts(openCluster: OpenCluster, options: PodHostsOptions = {}): Fleet<PodTarget> {
  const { idleMs, followPollSeconds, maxConnecting } = { ...DEFAULTS, ...options };
  const connecting = new Semaphore(maxConnecting);
  const opened = new Map<string | undefined, Promise<Cluster>>();
  function open(context: string | undefined): Promise<Cluster> {
    const known = opened.get(context);
    if (known) return known;
    const opening = openCluster(context).catch((error: unknown) => {
      // The kubeconfig may be written later.
      opened.delete(context);
      throw error;
    });
    opened.set(context, opening);
    return opening;
  }
  return createFleet<PodTarget>({
    link: (target) => new PodLink(target, () => open(contextOf(target)), connecting),
    hostName: ({ podUid }) => podUid,
    loginName: () => 'exec',
    idleMs,
    follow: { pollSeconds: followPollSeconds, useInotify: false },
  });
}

/** The kubeconfig's context that the job file names. */
export const contextOf = ({ ref }: PodTarget): string | undefined =>
  ref !== undefined && 'context' in ref ? ref.context : undefined;
