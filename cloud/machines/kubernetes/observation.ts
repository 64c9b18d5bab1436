import type { CoreV1Event, V1Job, V1ObjectMeta, V1Pod, V1PodSpec } from '@kubernetes/client-node';
import { ownershipFrom } from '../../../domain/identity.js';
import { CONTAINER } from '../../../domain/machine-kinds/kubernetes/words.js';
import type { Ownership } from '../../../domain/slice.js';
import type { EpochMs } from '../../../domain/units.js';
import { INDEX_LABEL } from './manifest.js';
import { GANG_ANNOTATION } from './pod-template.js';

/** A reason of Kubernetes with its message. */
export interface Said {
  readonly reason: string;
  readonly message: string;
}

/** The owner of a slice's pods: an Indexed Job, or the matching fields of another object (namespace-api.ts). */
export interface SeenJob {
  readonly uid: string;
  readonly ownership?: Ownership;
  readonly createdAt: EpochMs;
  readonly workers: number;
  readonly gangSeconds: number;
  /** The resource that its pods use beside CPU and memory, such as `nvidia.com/gpu`. */
  readonly device?: string;
  readonly isDeleting: boolean;
  /** Set if another party than jobctl holds its pods back. */
  readonly isSuspended: boolean;
  /** Keys of Kueue's labels and annotations. */
  readonly kueue: readonly string[];
  /** Whether all of its pods have been ready. */
  readonly isWhole: boolean;
  /** The condition Failed, or FailureTarget, which is set before its pods are gone. */
  readonly failure?: Said;
  readonly isComplete: boolean;
  /** For an owner that recreates its pods: the time at which all initial pods were ready for the first time. */
  readonly provisionedAt?: EpochMs;
  /** The number of pods that the lease counts, if the owner creates them with a gate. */
  readonly mostWorkers?: number;
  /** The reason why it could make more pods than the lease counts. */
  readonly excess?: string;
  /** Number of pods whose first process has ended with code 0. They are not made again, and may be gone. */
  readonly succeeded: number;
}

export interface SeenPod {
  readonly name: string;
  readonly uid: string;
  readonly jobUid?: string;
  /** Absent: the pod is not a host of the slice. */
  readonly index?: number;
  readonly createdAt?: EpochMs;
  readonly phase: string;
  readonly ip?: string;
  readonly node?: string;
  readonly isDeleting: boolean;
  /** The index of jobctl's scheduling gate. The scheduler ignores the pod until the gate is removed. */
  readonly gate?: number;
  /** The pod runs, and its node still confirms it. */
  readonly isReady: boolean;
  /** The time since which `isReady` is as it is. */
  readonly readySince?: EpochMs;
  /** The condition DisruptionTarget: an eviction, a preemption, or the end of its node removes the pod. */
  readonly disruption?: Said;
  /** The scheduler's reason and message. */
  readonly unscheduled?: Said;
  /** The reason why the container has not started. */
  readonly waiting?: Said;
  /** The end of PID 1, or of the pod as a whole. */
  readonly ended?: Said & { readonly exitCode?: number };
  /** The end of another container. */
  readonly sidecarEnded?: Said;
}

export interface SeenEvent extends Said {
  readonly of: 'job' | 'pod';
  readonly uid: string;
}

/** A ConfigMap or a Service with the slice's name. */
export interface SeenPart {
  readonly what: 'ConfigMap' | 'Service';
  readonly uid: string;
  readonly ownership?: Ownership;
  readonly isDeleting: boolean;
}

/** The objects of one slice in a cluster. A failed call is no observation: the adapter throws instead. */
export interface Observation {
  readonly at: EpochMs;
  readonly job: 'not-found' | SeenJob;
  /** The parts that exist. */
  readonly parts: readonly SeenPart[];
  /** The pods with its labels. */
  readonly pods: readonly SeenPod[];
  /** Warnings about the Job and its pods; read only while something does not start. */
  readonly events: readonly SeenEvent[];
  /** All Jobs of jobctl in the namespace; read only while something does not start. */
  readonly neighbours: readonly SeenJob[];
  /** The reason why a pod with a place in the lease could not be let in. */
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

/** @param spec the pods' spec */
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
  const ready = condition('Ready');
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
    isReady: ready?.status === 'True',
    ...(ready?.lastTransitionTime && { readySince: timeOf(ready.lastTransitionTime) }),
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
