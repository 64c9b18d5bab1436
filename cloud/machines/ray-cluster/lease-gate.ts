import { apiFailureOf, isNotFound } from '../kubernetes/api-failure.js';
import type { Cluster } from '../kubernetes/cluster.js';
import type { Observation, SeenPod } from '../kubernetes/observation.js';

/**
 * Every worker is made with a scheduling gate, and holds nothing before jobctl takes it off ("Pod Scheduling Readiness", on since Kubernetes 1.27).
 * KubeRay counts a worker that it deletes as gone at once, and would make the next one beside it: above the lease (docs/adr/0069).
 */
export const LEASE_GATE = 'jobctl/lease';

/**
 * Workers for which the lease has a place, the oldest first. A worker has its place until it is seen gone, or its containers have ended.
 * The order is always the same, so a look that is late opens no gate that the one before has not opened.
 */
export function workersWithPlace({ job, pods }: Observation): readonly SeenPod[] {
  if (job === 'not-found' || job.isDeleting || job.mostWorkers === undefined) return [];
  const workers = pods.filter(({ jobUid, index }) => jobUid === job.uid && index === undefined);
  const placed = workers.filter(({ gate, phase }) => gate === undefined && phase !== 'Succeeded' && phase !== 'Failed');
  const waiting = workers
    .filter(({ gate, isDeleting }) => gate !== undefined && !isDeleting)
    .toSorted((a, b) => (a.createdAt ?? 0) - (b.createdAt ?? 0) || (a.name < b.name ? -1 : 1));
  return waiting.slice(0, Math.max(0, job.mostWorkers - placed.length));
}

/** Lets these pods be scheduled. @returns why one of them could not be let in; it is tried again at the next look */
export async function openGates(
  { core }: Cluster,
  namespace: string,
  pods: readonly SeenPod[],
): Promise<string | undefined> {
  const failures = await Promise.all(
    pods.map(async ({ name, gate = 0 }) => {
      const path = `/spec/schedulingGates/${gate}`;
      const body = [
        { op: 'test', path: `${path}/name`, value: LEASE_GATE },
        { op: 'remove', path },
      ];
      try {
        await core.patchNamespacedPod({ name, namespace, body });
        return undefined;
      } catch (error) {
        const failure = apiFailureOf(error);
        return isNotFound(failure) || failure.status === GATE_IS_OPEN
          ? undefined
          : `worker ${name} waits: ${failure.message}`;
      }
    }),
  );
  return failures.find((failure) => failure !== undefined);
}

/** Unprocessable: the test of the patch failed. */
const GATE_IS_OPEN = 422;
