import { type Condition, isOf, type Owner, type Ownership, type PodHost } from '../../../domain/slice.js';
import { whyGivenBack } from './gang.js';
import type { Observation, SeenJob, SeenPod } from './observation.js';
import { startRefusal, waitingWords } from './pod-start.js';

/**
 * Reads the observed objects of a slice as evidence (docs/design.md, "Unknown is not dead"). A pod on a node that does not answer
 * is `ready` with a warning: only its end, its disruption or its deletion is a loss.
 * @param ownership the owner that the objects must have. A Job whose labels differ in one of its fields is `foreign`.
 * @param namespace the slice's, for its hosts
 */
export function conditionOf(seen: Observation, ownership: Owner | Ownership, namespace: string): Condition {
  const { job, pods } = seen;
  const foreign = foreignPart(seen, ownership, 'Job');
  if (foreign !== undefined) return foreign;
  if (job === 'not-found') return withoutOwner(seen);
  if (job.isDeleting) return { kind: 'deleting' };
  const own = pods.filter(({ jobUid }) => jobUid === undefined || jobUid === job.uid);
  return lossOf(job, own) ?? readyOf(job, own, namespace) ?? pendingOf({ ...seen, pods: own }, job);
}

/** The condition of a slice whose Job, or other owner of its pods, does not exist. */
export function withoutOwner({ pods, parts }: Observation): Condition {
  if (pods.some(({ isDeleting }) => !isDeleting)) return { kind: 'missing', isRequestLeft: true };
  if (pods.length > 0) return { kind: 'deleting' };
  return parts.length > 0 ? { kind: 'missing', isRequestLeft: true } : { kind: 'missing' };
}

/** @param owner the kind of the observation's `job` */
export function foreignPart(
  { job, parts }: Observation,
  wanted: Owner | Ownership,
  owner: 'Job' | 'RayCluster',
): Condition | undefined {
  const all = [...(job === 'not-found' ? [] : [{ what: owner, ...job }]), ...parts];
  const foreign = all.find(({ ownership }) => !ownership || !isOf(ownership, wanted));
  if (foreign === undefined) return undefined;
  const { what, ownership } = foreign;
  const whose = ownership ? `job ${ownership.job}, run ${ownership.run}` : 'somebody else';
  return { kind: 'foreign', message: `the ${what} of this name belongs to ${whose}` };
}

// Lost -----------------------------------------------------------------------------------------------------------------

function lossOf(job: SeenJob, pods: readonly SeenPod[]): Condition | undefined {
  if (job.isSuspended || job.kueue.length > 0) return { kind: 'lost', ...held(job, 'Job') };
  const disrupted = pods.find(({ disruption }) => disruption);
  if (disrupted?.disruption) return lost('preempted', wordsOf(disrupted, disrupted.disruption));
  // This rule names the pod and its condition, even if the pod is gone.
  if (job.failure?.reason === 'PodFailurePolicy') return lost('preempted', job.failure.message);
  const ended = pods.find((pod) => pod.ended);
  if (ended?.ended) return endOf(ended, ended.ended);
  const deleted = pods.find(({ isDeleting }) => isDeleting);
  if (deleted) return lost('failed', `pod ${deleted.name} is being deleted`);
  if (job.failure) return lost('failed', `the Job is Failed: ${job.failure.reason}: ${job.failure.message}`);
  if (job.succeeded > 0 && !job.isComplete)
    return lost(
      'failed',
      `the first process of ${job.succeeded} pods has ended with code 0: something told them to end`,
    );
  if (job.isComplete) return lost('failed', 'the Job is Complete: PID 1 has ended in every pod');
  return undefined;
}

export const lost = (cause: 'preempted' | 'failed', message: string): Condition => ({ kind: 'lost', cause, message });
export const refused = (message: string): Condition => ({ kind: 'lost', cause: 'refused', scope: 'request', message });

/** Only jobctl's quota may hold back pods that jobctl starts. */
export const held = ({ kueue }: SeenJob, owner: 'Job' | 'RayCluster') => {
  const by =
    kueue.length > 0 ? `Kueue manages the ${owner} (${kueue.join(', ')})` : `something has suspended the ${owner}`;
  const message = `${by}: jobctl's quota decides when its pods run. Use a namespace that Kueue does not manage`;
  return { cause: 'refused', scope: 'request', message } as const;
};

export const wordsOf = (
  { name }: SeenPod,
  { reason, message }: { readonly reason: string; readonly message: string },
) => `pod ${name}: ${[reason, message].filter((text) => text !== '').join(': ')}`;

/** The agent's exit code for an image that lacks a tool (EX_CONFIG of sysexits.h); its message names the tool. */
const NO_TOOL = 78;
/** Reasons of a container runtime that could not start PID 1: no /bin/sh. */
const NOT_STARTED: ReadonlySet<string> = new Set(['StartError', 'ContainerCannotRun']);

/** @param memoryKey the job file's key for memory, for the message about a pod that was killed for it */
export function endOf(
  pod: SeenPod,
  { reason, message, exitCode }: NonNullable<SeenPod['ended']>,
  memoryKey = 'kubernetes.memory',
): Condition {
  if (NOT_STARTED.has(reason) || exitCode === NO_TOOL) return refused(wordsOf(pod, { reason, message }));
  if (reason === 'OOMKilled')
    return lost('failed', `pod ${pod.name}: OOMKilled: its first process was killed for memory; raise ${memoryKey}`);
  const how = [exitCode === undefined ? '' : `exit code ${exitCode}`, reason, message].filter((text) => text !== '');
  return lost('failed', `pod ${pod.name}: its first process has ended by itself: ${how.join(', ')}`);
}

// There ----------------------------------------------------------------------------------------------------------------

/** Ready if every index has a pod that has started and has an address. */
function readyOf({ uid, workers }: SeenJob, pods: readonly SeenPod[], namespace: string): Condition | undefined {
  const hosts = pods.flatMap((pod) => hostOf(pod, namespace)).toSorted((a, b) => a.index - b.index);
  if (hosts.length !== workers || hosts.some(({ index }, place) => index !== place)) return undefined;
  const silent = pods.find(({ isReady }) => !isReady);
  const warning = silent && `pod ${silent.name} is not Ready: its node ${silent.node ?? ''} may not answer`;
  return { kind: 'ready', uid, hosts, ...(warning !== undefined && { warning }) };
}

/** `Unknown` is an old phase of pods whose node did not answer. */
const STARTED: ReadonlySet<string> = new Set(['Running', 'Unknown']);

export function hostOf({ name, uid, index, phase, ip }: SeenPod, namespace: string): readonly PodHost[] {
  if (index === undefined || ip === undefined || !STARTED.has(phase)) return [];
  return [{ reach: 'pod', index, internalIp: ip, namespace, pod: name, uid }];
}

export function pendingOf(seen: Observation, job: SeenJob): Condition {
  const refusal = startRefusal(seen, job);
  if (refusal !== undefined) return { kind: 'lost', cause: 'refused', ...refusal };
  const detail = waitingWords(seen, job);
  const why = whyGivenBack(job, seen);
  if (why === undefined) return { kind: 'waiting', detail, tellAfterMs: 1_000 };
  const message = `${why}, so the slice gives back the pods that do run: ${detail}`;
  return { kind: 'lost', cause: 'refused', scope: 'zone', message };
}
