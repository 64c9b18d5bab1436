import type { CoreV1Event, V1Job, V1ObjectMeta, V1Pod, V1PodSpec } from '@kubernetes/client-node';
import { ownershipFrom } from '../../../domain/identity.js';
import { CONTAINER } from '../../../domain/machine-kinds/kubernetes/words.js';
import type { Ownership } from '../../../domain/slice.js';
import type { EpochMs } from '../../../domain/units.js';
import { INDEX_LABEL } from './manifest.js';
import { GANG_ANNOTATION } from './pod-template.js';

/** A word of Kubernetes' and its own sentence. */
export interface Said {
  readonly reason: string;
  readonly message: string;
}

/** What owns the pods of a slice: an Indexed Job, or another object (pod-owner.ts) as far as it has the same. */
export interface SeenJob {
  readonly uid: string;
  readonly ownership?: Ownership;
  readonly createdAt: EpochMs;
  readonly workers: number;
  readonly gangSeconds: number;
  /** What its pods take beside CPU and memory, such as `nvidia.com/gpu`. */
  readonly device?: string;
  readonly isDeleting: boolean;
  /** Somebody else than jobctl holds its pods back. */
  readonly isSuspended: boolean;
  /** Labels and annotations of Kueue, by their keys. */
  readonly kueue: readonly string[];
  /** All of its pods have been ready. */
  readonly isWhole: boolean;
  /** The condition Failed, or FailureTarget, which comes before its pods are gone. */
  readonly failure?: Said;
  readonly isComplete: boolean;
  /** Of an owner that makes its pods anew: when all that it began with were ready for the first time. */
  readonly provisionedAt?: EpochMs;
  /** How many pods the lease counts, where its owner makes them with a gate. */
  readonly mostWorkers?: number;
  /** Why it could make more pods than the lease counts. */
  readonly excess?: string;
  /** Pods whose first process has ended with code 0. They are not made again, and may be gone. */
  readonly succeeded: number;
}

export interface SeenPod {
  readonly name: string;
  readonly uid: string;
  readonly jobUid?: string;
  /** Absent: no host of the slice. */
  readonly index?: number;
  readonly createdAt?: EpochMs;
  readonly phase: string;
  readonly ip?: string;
  readonly node?: string;
  readonly isDeleting: boolean;
  /** Which of its scheduling gates is jobctl's: no node is looked for until it is taken off. */
  readonly gate?: number;
  /** Running, and its node still says so. */
  readonly isReady: boolean;
  /** The condition DisruptionTarget: an eviction, a preemption, or the end of its node takes it. */
  readonly disruption?: Said;
  /** The scheduler's words. */
  readonly unscheduled?: Said;
  /** Why the container has not started. */
  readonly waiting?: Said;
  /** How PID 1, or the pod as a whole, has ended. */
  readonly ended?: Said & { readonly exitCode?: number };
  /** How another container has ended. */
  readonly sidecarEnded?: Said;
}

export interface SeenEvent extends Said {
  readonly of: 'job' | 'pod';
  readonly uid: string;
}

/** A ConfigMap or a Service of the slice's name. */
export interface SeenPart {
  readonly what: 'ConfigMap' | 'Service';
  readonly uid: string;
  readonly ownership?: Ownership;
  readonly isDeleting: boolean;
}

/** What a cluster held of one slice. A failed call is no observation: the adapter throws instead. */
export interface Observation {
  readonly at: EpochMs;
  readonly job: 'not-found' | SeenJob;
  /** Those that exist. */
  readonly parts: readonly SeenPart[];
  /** Those that carry its labels. */
  readonly pods: readonly SeenPod[];
  /** Warnings about the Job and its pods; asked for only while something does not start. */
  readonly events: readonly SeenEvent[];
  /** All Jobs of jobctl in the namespace; asked for only while something does not start. */
  readonly neighbours: readonly SeenJob[];
  /** Why a pod that has a place in the lease could not be let in. */
  readonly notLetIn?: string;
}

export const timeOf = (date: Date | string | undefined): EpochMs => (date === undefined ? 0 : new Date(date).getTime());

const KUEUE = 'kueue.x-k8s.io/';

export const kueueKeys = ({ labels = {}, annotations = {} }: V1ObjectMeta): readonly string[] =>
  [...Object.keys(labels), ...Object.keys(annotations)].filter((key) => key.startsWith(KUEUE));

export function seenJob({ metadata = {}, spec, status }: V1Job): SeenJob {
  const ownership = ownershipFrom(metadata.labels);
  const workers = spec?.completions ?? 1;
  const failed = status?.conditions?.find(({ type, status }) => FAILED.has(type) && status === 'True');
  return {
    uid: metadata.uid ?? '',
    ...(ownership && { ownership }),
    createdAt: timeOf(metadata.creationTimestamp),
    workers,
    gangSeconds: Number(metadata.annotations?.[GANG_ANNOTATION]) || Infinity,
    ...deviceOf(spec?.template.spec),
    isDeleting: metadata.deletionTimestamp !== undefined,
    isSuspended: spec?.suspend === true,
    kueue: [...kueueKeys(metadata), ...(spec?.managedBy?.startsWith(KUEUE) ? [spec.managedBy] : [])],
    isWhole: (status?.ready ?? 0) >= workers,
    ...(failed && { failure: { reason: failed.reason ?? failed.type, message: failed.message ?? '' } }),
    isComplete: status?.conditions?.some(({ type, status }) => COMPLETE.has(type) && status === 'True') ?? false,
    succeeded: status?.succeeded ?? 0,
  };
}

/** @param spec of the pods */
export function deviceOf(spec: V1PodSpec | undefined): Pick<SeenJob, 'device'> {
  const limits = spec?.containers[0]?.resources?.limits ?? {};
  const device = Object.keys(limits).find((resource) => resource !== 'cpu' && resource !== 'memory');
  return device === undefined ? {} : { device };
}

const FAILED: ReadonlySet<string> = new Set(['Failed', 'FailureTarget']);
const COMPLETE: ReadonlySet<string> = new Set(['Complete', 'SuccessCriteriaMet']);

const OWNERS: ReadonlySet<string> = new Set(['Job', 'RayCluster']);

export function seenPod({ metadata = {}, spec, status }: V1Pod): SeenPod {
  const condition = (wanted: string) => status?.conditions?.find(({ type }) => type === wanted);
  const disruption = condition('DisruptionTarget');
  const scheduled = condition('PodScheduled');
  const index = metadata.labels?.[INDEX_LABEL] ?? metadata.annotations?.[INDEX_LABEL];
  const jobUid = metadata.ownerReferences?.find(({ kind }) => OWNERS.has(kind))?.uid;
  const main = status?.containerStatuses?.find(({ name }) => name === CONTAINER)?.state;
  const ended = endOf(status, main);
  return {
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    ...(jobUid && { jobUid }),
    ...(index !== undefined && { index: Number(index) }),
    phase: status?.phase ?? 'Unknown',
    ...(status?.podIP && { ip: status.podIP }),
    ...(spec?.nodeName && { node: spec.nodeName }),
    isDeleting: metadata.deletionTimestamp !== undefined,
    isReady: condition('Ready')?.status === 'True',
    ...(disruption?.status === 'True' && { disruption: saidBy(disruption) }),
    ...(scheduled?.status === 'False' && { unscheduled: saidBy(scheduled) }),
    ...(main?.waiting && { waiting: saidBy(main.waiting) }),
    ...(ended && { ended }),
  };
}

interface Sayer {
  readonly reason?: string;
  readonly message?: string;
}
export const saidBy = ({ reason = '', message = '' }: Sayer): Said => ({ reason, message: message.trim() });

type State = NonNullable<NonNullable<NonNullable<V1Pod['status']>['containerStatuses']>[number]['state']>;

function endOf(status: V1Pod['status'], main: State | undefined): SeenPod['ended'] {
  if (main?.terminated) return { ...saidBy(main.terminated), exitCode: main.terminated.exitCode };
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded')
    return saidBy({ reason: status.reason ?? status.phase, message: status.message ?? '' });
  return undefined;
}

export function seenEvent({ involvedObject, reason, message }: CoreV1Event): SeenEvent {
  return {
    of: OWNERS.has(involvedObject.kind ?? '') ? 'job' : 'pod',
    uid: involvedObject.uid ?? '',
    ...saidBy({ ...(reason && { reason }), ...(message && { message }) }),
  };
}

export function seenPart(what: SeenPart['what'], metadata: V1ObjectMeta = {}): SeenPart {
  const ownership = ownershipFrom(metadata.labels);
  return {
    what,
    uid: metadata.uid ?? '',
    ...(ownership && { ownership }),
    isDeleting: metadata.deletionTimestamp !== undefined,
  };
}
