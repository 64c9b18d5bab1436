import type { Condition, Owner, Ownership } from '../../../domain/slice.js';
import {
  endOf,
  foreignPart,
  held,
  hostOf,
  lost,
  pendingOf,
  refused,
  withoutOwner,
  wordsOf,
} from '../kubernetes/condition.js';
import type { Observation, Said, SeenJob, SeenPod } from '../kubernetes/observation.js';
import { RAY_ENDED } from './head-scripts.js';

/**
 * Reads the observed objects of a RayCluster as evidence. The slice is its first head: if that is lost, KubeRay makes another
 * one, which has nothing of the job. Ray itself replaces a worker that ended, so that is no loss.
 */
export function rayClusterCondition(seen: Observation, ownership: Owner | Ownership, namespace: string): Condition {
  const { job, pods } = seen;
  const foreign = foreignPart(seen, ownership, 'RayCluster');
  if (foreign !== undefined) return foreign;
  if (job === 'not-found') return withoutOwner(seen);
  if (job.isDeleting) return { kind: 'deleting' };
  const own = pods.filter(({ jobUid }) => jobUid === undefined || jobUid === job.uid);
  const heads = own.filter(({ index }) => index !== undefined);
  return (
    lossOf(job, heads) ??
    readyOf(job, { ...seen, pods: own }, namespace) ??
    startLoss({ ...seen, pods: heads }) ??
    pending({ ...seen, pods: own }, job)
  );
}

function pending(seen: Observation, job: SeenJob): Condition {
  const condition = pendingOf(seen, job);
  const isTold = condition.kind === 'waiting' && seen.notLetIn !== undefined;
  return isTold ? { ...condition, detail: [condition.detail, seen.notLetIn].join('; ') } : condition;
}

function lossOf(job: SeenJob, heads: readonly SeenPod[]): Condition | undefined {
  if (job.isSuspended || job.kueue.length > 0) return { kind: 'lost', ...held(job, 'RayCluster') };
  if (job.excess !== undefined) return refused(job.excess);
  const disrupted = heads.find(({ disruption }) => disruption);
  if (disrupted?.disruption) return lost('preempted', wordsOf(disrupted, disrupted.disruption));
  const ended = heads.find((pod) => pod.ended);
  if (ended?.ended) return endOf(ended, ended.ended, 'ray_cluster.head.memory');
  const { provisionedAt } = job;
  if (provisionedAt === undefined) return undefined;
  const deleted = heads.find(({ isDeleting }) => isDeleting);
  if (deleted) return lost('failed', `the head, pod ${deleted.name}, is being deleted`);
  if (heads.length === 0) return lost('failed', 'the head is gone, and why is not known');
  const anew = heads.find(({ createdAt = 0 }) => createdAt > provisionedAt);
  return anew && lost('failed', `the head is gone, and KubeRay has made another one, pod ${anew.name}`);
}

/**
 * A loss if Ray, or its autoscaler, has ended on a head that was never ready: nothing restarts it. Both give up after half a
 * minute on a node that is too slow (Ray 2.60), so the next slice may succeed.
 */
function startLoss({ pods, events }: Observation): Condition | undefined {
  const ray = events.find(({ message }) => message.includes(RAY_ENDED));
  const text = `${ray?.reason}: ${ray?.message}`;
  if (ray?.message.includes(`${RAY_ENDED} with code ${NO_COMMAND}`)) return refused(`${text}: is ray in the image?`);
  if (ray !== undefined) return lost('failed', text);
  const head = pods.find(({ sidecarEnded }) => sidecarEnded);
  return (
    head?.sidecarEnded &&
    lost('failed', wordsOf(head, { ...head.sidecarEnded, reason: autoscalerEnded(head.sidecarEnded) }))
  );
}

/** Exit code of a shell that does not find the command. */
const NO_COMMAND = 127;

const autoscalerEnded = ({ reason }: Said): string => `Ray's autoscaler has ended (${reason})`;

function readyOf(
  { provisionedAt, workers }: SeenJob,
  { pods, notLetIn }: Observation,
  namespace: string,
): Condition | undefined {
  const head = pods.find(({ index }) => index !== undefined);
  const hosts = head === undefined ? [] : hostOf(head, namespace);
  if (provisionedAt === undefined || head === undefined || hosts.length === 0) return undefined;
  const running = pods.filter(({ phase, isDeleting }) => phase === 'Running' && !isDeleting).length;
  // All were ready when KubeRay said so: these were read before, since pods are read before their owner.
  const areOlder = pods.some(({ isReady, readySince = Infinity }) => !isReady && readySince <= provisionedAt);
  const shortage = !head.isReady
    ? `the head, pod ${head.name}, is not Ready: Ray has ended on it, or its node ${head.node ?? ''} may not answer`
    : running < workers && `${running - 1} of at least ${workers - 1} workers run`;
  const warning = head.sidecarEnded
    ? `${autoscalerEnded(head.sidecarEnded)}: no workers are added or ended any more`
    : (head.isReady && notLetIn) || (!areOlder && shortage);
  return { kind: 'ready', uid: head.uid, hosts, ...(warning && { warning }) };
}
