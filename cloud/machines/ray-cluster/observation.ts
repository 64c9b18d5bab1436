import type { V1Pod } from '@kubernetes/client-node';
import { ownershipFrom } from '../../../domain/identity.js';
import { CONTAINER } from '../../../domain/machine-kinds/kubernetes/words.js';
import type { EpochMs } from '../../../domain/units.js';
import { deviceOf, kueueKeys, saidBy, type SeenJob, seenPod, type SeenPod, timeOf } from '../kubernetes/observation.js';
import { GANG_ANNOTATION } from '../kubernetes/pod-template.js';
import { LEASE_GATE } from './lease-gate.js';
import { MAX_ANNOTATION, NODE_TYPE_LABEL, type RayCluster } from './manifest.js';

/** A RayCluster as the owner of its pods. The gang is the head and `min` workers. */
export function seenCluster({ metadata = {}, spec, status }: RayCluster): SeenJob {
  const ownership = ownershipFrom(metadata.labels);
  const group = spec?.workerGroupSpecs?.[0];
  const provisionedAt = provisionTime(status);
  const leased = Number(metadata.annotations?.[MAX_ANNOTATION]);
  const excess = excessOf(spec, leased);
  return {
    uid: metadata.uid ?? '',
    ...(ownership && { ownership }),
    createdAt: timeOf(metadata.creationTimestamp),
    workers: 1 + (group?.minReplicas ?? 0),
    gangSeconds: Number(metadata.annotations?.[GANG_ANNOTATION]) || Infinity,
    ...deviceOf(group?.template.spec),
    isDeleting: metadata.deletionTimestamp !== undefined,
    isSuspended: spec?.suspend === true,
    kueue: [...kueueKeys(metadata), ...(spec?.managedBy?.startsWith('kueue.') ? [spec.managedBy] : [])],
    isWhole: provisionedAt !== undefined,
    ...(provisionedAt !== undefined && { provisionedAt }),
    mostWorkers: leased || 0,
    ...(excess !== undefined && { excess }),
    isComplete: false,
    succeeded: 0,
  };
}

/** KubeRay's condition becomes true when all initial pods were ready, and stays true. */
function provisionTime(status: RayCluster['status']): EpochMs | undefined {
  const found = status?.conditions?.find(({ type }) => type === 'RayClusterProvisioned');
  return found?.status === 'True' ? timeOf(found.lastTransitionTime) : undefined;
}

function excessOf(spec: RayCluster['spec'], leased: number): string | undefined {
  const groups = spec?.workerGroupSpecs ?? [];
  const most = groups.reduce((sum, { maxReplicas = Infinity }) => sum + maxReplicas, 0);
  if (!(most > leased)) return undefined;
  return `its worker groups may have ${most} workers, and the lease counts ${leased}: somebody has changed the RayCluster`;
}

/** The head is the only host of the slice. */
export function seenRayPod(pod: V1Pod): SeenPod {
  const { index: _, unscheduled, ...seen } = seenPod(pod);
  const { metadata, spec, status } = pod;
  const gate = spec?.schedulingGates?.findIndex(({ name }) => name === LEASE_GATE) ?? -1;
  const others = status?.containerStatuses?.filter(({ name }) => name !== CONTAINER) ?? [];
  const ended = others.find(({ state }) => state?.terminated)?.state?.terminated;
  return {
    ...seen,
    ...(metadata?.labels?.[NODE_TYPE_LABEL] === 'head' && { index: 0 }),
    createdAt: timeOf(metadata?.creationTimestamp),
    ...(gate < 0 ? unscheduled && { unscheduled } : { gate }),
    ...(ended && { sidecarEnded: saidBy(ended) }),
  };
}
