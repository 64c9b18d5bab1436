import { objectName } from '../../../domain/machine-kinds/kubernetes/names.js';
import type { KubernetesRef } from '../../../domain/machine-kinds/kubernetes/words.js';
import type { Cluster } from './cluster.js';
import { JOB_NAME_LABEL, OURS } from './manifest.js';
import { allOf } from './namespace-api.js';
import { type Observation, type SeenEvent, seenJob, type SeenJob, seenPod, type SeenPod } from './observation.js';

/** The Jobs and pods of jobctl in one namespace, for all who watch slices there. */
export interface NamespaceListing {
  /** When the listing began. */
  readonly at: number;
  /** By name. */
  readonly byName: ReadonlyMap<string, SeenJob>;
  /** By the name of their Job. */
  readonly pods: ReadonlyMap<string, readonly SeenPod[]>;
  /** Asked once for a listing, by the first slice that does not start. */
  readonly warnings: () => Promise<readonly SeenEvent[]>;
  readonly jobs: () => Promise<readonly SeenJob[]>;
}

export async function listNamespace(
  { core, batch }: Cluster,
  namespace: string,
  { warnings }: Pick<NamespaceListing, 'warnings'>,
): Promise<NamespaceListing> {
  const at = Date.now();
  const ours = { namespace, labelSelector: OURS };
  // Pods first: a Job without its pods is one that waits, and pods without their Job would look left behind.
  const pods = await allOf((page) => core.listNamespacedPod({ ...ours, ...page }));
  const jobs = await allOf((page) => batch.listNamespacedJob({ ...ours, ...page }));
  const byName = new Map(jobs.map((job) => [job.metadata?.name ?? '', seenJob(job)]));
  const podsOf = new Map<string, SeenPod[]>();
  for (const pod of pods) {
    const name = pod.metadata?.labels?.[JOB_NAME_LABEL] ?? '';
    podsOf.set(name, [...(podsOf.get(name) ?? []), seenPod(pod)]);
  }
  let asked: Promise<readonly SeenEvent[]> | undefined;
  return {
    at,
    byName,
    pods: podsOf,
    warnings: () => (asked ??= warnings()),
    jobs: async () => [...byName.values()],
  };
}

/** One slice of a listing. Its ConfigMap and Service are not listed: who acts on `missing` looks directly before. */
export function sliceIn({ at, byName, pods }: NamespaceListing, ref: KubernetesRef): Observation {
  const name = objectName(ref.name);
  return {
    at,
    job: byName.get(name) ?? 'not-found',
    parts: [],
    pods: pods.get(name) ?? [],
    events: [],
    neighbours: [],
  };
}
