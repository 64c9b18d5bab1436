import type { Cluster } from '../machines/kubernetes/cluster.js';
import { createFleet, type Fleet } from './host-fleet.js';
import { PodLink } from './pod-link.js';
import type { PodTarget } from './port.js';
import { Semaphore } from '../../domain/semaphore.js';

interface PodHostsOptions {
  /** How long what is known of a pod that nobody holds is kept. */
  readonly idleMs?: number;
  /** Seconds between two looks at a run's output. */
  readonly followPollSeconds?: number;
  /** Pods that are looked at for the first time, at one time. */
  readonly maxConnecting?: number;
}

const DEFAULTS = { idleMs: 60_000, followPollSeconds: 0.2, maxConnecting: 64 } as const;

/** Opens the cluster of a kubeconfig's context; undefined: the default one. */
type OpenCluster = (context: string | undefined) => Promise<Cluster>;

/** The pods of clusters, each opened when its first pod is asked for. */
export function createPodHosts(openCluster: OpenCluster, options: PodHostsOptions = {}): Fleet<PodTarget> {
  const { idleMs, followPollSeconds, maxConnecting } = { ...DEFAULTS, ...options };
  const connecting = new Semaphore(maxConnecting);
  const opened = new Map<string | undefined, Promise<Cluster>>();
  function open(context: string | undefined): Promise<Cluster> {
    const known = opened.get(context);
    if (known) return known;
    const opening = openCluster(context).catch((error: unknown) => {
      // A kubeconfig may be written later.
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

/** Of the kubeconfig, as the job's file names it. */
export const contextOf = ({ ref }: PodTarget): string | undefined =>
  ref?.kind === 'kubernetes' || ref?.kind === 'ray-cluster' ? ref.context : undefined;
