import { apiFailureOf, isNotFound } from '../kubernetes/api-failure.js';
import type { Cluster } from '../kubernetes/cluster.js';
import type { Observation, SeenPod } from '../kubernetes/observation.js';

/**
 * The scheduling gate with which every worker is made. A worker holds no resources until jobctl removes the gate ("Pod Scheduling
 * Readiness", on since Kubernetes 1.27). KubeRay counts a worker that it deletes as gone at once, and would make the next one
 * beside it, which would exceed the lease (docs/adr/0069).
 */
export const LEASE_GATE = 'jobctl/lease';

/**
 * Workers for which the lease has a place, the oldest first. A worker keeps its place until it is seen gone or its containers
 * have ended. The order is always the same, so a late look opens no gate that an earlier one left closed.
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

/** Lets these pods be scheduled. @returns the reason why one could not be let in; the next look tries again */
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

/** Unprocessable: the patch's test failed. */
const GATE_IS_OPEN = 422;
