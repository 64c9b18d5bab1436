import {
  type Condition,
  isOf,
  type Owner,
  type Ownership,
  type PodHost,
  type RefusalScope,
} from '../../../domain/slice.js';
import type { EpochMs } from '../../../domain/units.js';
import { smallest } from '../../../domain/extremes.js';
import type { Observation, SeenJob, SeenPod, Said } from './observation.js';
import { scopeOfText } from './api-failure.js';

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

/** A job of jobctl with all its slices in one namespace. */
interface Gang {
  readonly key: string;
  /** For messages. */
  readonly name: string;
  readonly since: EpochMs;
  readonly isWhole: boolean;
  /** Whether one of its incomplete slices has waited for half of its timeout. */
  readonly isLate: boolean;
}

/**
 * Tells why a slice must give back its running pods while others wait, so that two gangs that each hold a part of what both need
 * do not block each other. The timeout alone is not enough: two gangs that began together would give back together, again and
 * again. So among the incomplete gangs of a namespace that need the same device, the oldest has the second half of its timeout
 * for itself: younger gangs give back as soon as its first half is over (docs/adr/0065).
 */
function whyGivenBack(job: SeenJob, { at, neighbours }: Pick<Observation, 'at' | 'neighbours'>): string | undefined {
  if (isOver(job, at, 1)) return `not all pods run after ${job.gangSeconds} s (gang_timeout)`;
  const own = keyOf(job);
  const rivals = gangsIn(
    [...neighbours, job].filter(({ device }) => device === job.device),
    at,
  ).filter(({ isWhole }) => !isWhole);
  const self = rivals.find(({ key }) => key === own);
  const first = rivals.find((gang) => self !== undefined && isOlder(gang, self) && gang.isLate);
  return first && `${first.name} has waited in this namespace for longer, and half of its gang_timeout is over`;
}

const isOver = ({ createdAt, gangSeconds }: SeenJob, at: EpochMs, share: number): boolean =>
  at - createdAt >= gangSeconds * 1000 * share;

/** Creation times are whole seconds, so the key decides ties. */
const isOlder = (a: Gang, b: Gang): boolean => a.since < b.since || (a.since === b.since && a.key < b.key);

const keyOf = ({ uid, ownership }: SeenJob): string =>
  ownership === undefined ? uid : `${ownership.owner}/${ownership.job}/${ownership.run}`;

function gangsIn(jobs: readonly SeenJob[], at: EpochMs): readonly Gang[] {
  const byKey = new Map<string, SeenJob[]>();
  for (const job of new Map(jobs.map((each) => [each.uid, each])).values())
    if (!job.isDeleting && !job.failure && !job.isComplete)
      byKey.set(keyOf(job), [...(byKey.get(keyOf(job)) ?? []), job]);
  return [...byKey].map(([key, slices]) => ({
    key,
    name: `job ${slices[0]?.ownership?.job ?? 'of an unknown name'}`,
    since: smallest(slices.map(({ createdAt }) => createdAt)),
    isWhole: slices.every(({ isWhole }) => isWhole),
    isLate: slices.some((slice) => !slice.isWhole && isOver(slice, at, 1 / 2)),
  }));
}

/** The reasons why requested pods do not run. */

interface StartRefusal {
  readonly scope: RefusalScope;
  /** Contains Kubernetes' own words. */
  readonly message: string;
}

/** The refusal that no waiting ends: an image that does not exist, a missing object, an exhausted quota. */
export function startRefusal({ pods, events }: Observation, { workers }: SeenJob): StartRefusal | undefined {
  for (const pod of pods) {
    const scope = pod.waiting && imageScope(pod.waiting);
    if (scope) return { scope, message: said(pod, pod.waiting) };
    const missing = pod.unscheduled && scopeOfText(pod.unscheduled.message);
    if (missing) return { scope: missing, message: said(pod, pod.unscheduled) };
  }
  for (const event of events) {
    // An event outlives its cause: one about pods that could not be created counts only while pods are missing.
    if (event.of === 'job' && pods.length >= workers) continue;
    const pod = pods.find(({ uid }) => uid === event.uid);
    if (event.of === 'pod' && pod?.phase !== 'Pending') continue;
    const scope = scopeOfText(event.message);
    if (scope) return { scope, message: `${pod ? `pod ${pod.name}: ` : ''}${event.reason}: ${event.message}` };
  }
  return undefined;
}

/**
 * The scope of a registry's answer if it is final. The kubelet repeats a pull after other failures (a timeout, a registry that is
 * down), and the gang timeout limits them. Texts: containerd 1.6 to 2.1, Docker Hub, GHCR, Artifact Registry.
 */
function imageScope({ reason, message }: Said): RefusalScope | undefined {
  if (reason === 'InvalidImageName' || reason === 'ErrImageNeverPull') return 'request';
  if (reason === 'CreateContainerConfigError') return scopeOfText(message);
  if (reason !== 'ErrImagePull' && reason !== 'ImagePullBackOff') return undefined;
  return FINAL_PULL.test(message) ? 'request' : undefined;
}

const FINAL_PULL =
  /: not found|manifest unknown|name unknown|does not exist|access denied|authorization failed|unauthorized|forbidden|no match for platform|invalid reference/i;

const said = ({ name }: SeenPod, { reason, message }: Said): string => `pod ${name}: ${reason}: ${message}`;

/** `2 of 4 pods run; 2 wait: Unschedulable: 0/3 nodes are available: ..` */
export function waitingWords({ pods, events }: Observation, { workers }: SeenJob): string {
  const running = pods.filter(({ phase, ip }) => phase === 'Running' && ip !== undefined).length;
  const counted = `${running} of ${workers} pods run`;
  const pending = new Set(pods.filter(({ phase }) => phase === 'Pending').map(({ uid }) => uid));
  const event = events.findLast(
    ({ of, uid, reason }) => (of === 'job' || pending.has(uid)) && !IDLE_WARNINGS.has(reason),
  );
  const why = reasonOf(pods, event, workers);
  return why === undefined ? counted : `${counted}; ${why}`;
}

function reasonOf(pods: readonly SeenPod[], event: Said | undefined, workers: number): string | undefined {
  const unscheduled = pods.filter((pod) => pod.unscheduled);
  const [first] = unscheduled;
  if (first?.unscheduled)
    return `${unscheduled.length} cannot be scheduled: ${first.unscheduled.reason}: ${first.unscheduled.message}`;
  const waiting = pods.find((pod) => pod.waiting && !ORDINARY.has(pod.waiting.reason));
  if (waiting?.waiting) return said(waiting, waiting.waiting);
  if (event !== undefined) return `${event.reason}: ${event.message}`;
  if (pods.length < workers) return `${workers - pods.length} are not made yet`;
  return pods.find((pod) => pod.waiting)?.waiting?.reason;
}

/** A cluster without DNS for pods warns about each pod, which does not matter: jobctl uses addresses. */
const IDLE_WARNINGS: ReadonlySet<string> = new Set(['MissingClusterDNS']);

/** Reasons that every container passes through. */
const ORDINARY: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing']);
