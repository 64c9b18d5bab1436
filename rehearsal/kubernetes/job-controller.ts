import { isDeepStrictEqual } from 'node:util';
import { createObject, type Draft, INDEX_KEY, randomSuffix, TRACKING } from './admission.js';
import { ApiRefusal } from './api-status.js';
import { beginDeletion, putOrRemove } from './deletion.js';
import type { Events } from './events.js';
import { without } from './garbage.js';
import type { Condition, Job, JobStatus, Pod } from './objects.js';
import { isOver, isTrue, timestamp, withCondition } from './objects.js';
import type { ObjectStore } from './object-store.js';
import { JOBS, PODS } from './resources.js';
import type { Retries } from './retries.js';

/**
 * The controller of Indexed Jobs. A pod keeps its finalizer until its end is in the Job's counts, so that none is lost or counted
 * twice. Not implemented: a delay before a failed index restarts, `suspend` of a running Job, policies for exit codes, deadlines,
 * and deletion of a Job some time after its end.
 */
export class JobController {
  readonly #store: ObjectStore;
  readonly #events: Events;
  readonly #retries: Retries;

  constructor(store: ObjectStore, events: Events, retries: Retries) {
    [this.#store, this.#events, this.#retries] = [store, events, retries];
  }

  sync(): void {
    for (const job of this.#store.list<Job>(JOBS)) this.#syncJob(job);
    for (const pod of this.#store.list<Pod>(PODS)) if (this.#isUntracked(pod)) this.#release(pod);
  }

  /** Whether the pod's Job is gone, or Job and pod are both being deleted. */
  #isUntracked({ metadata }: Pod): boolean {
    if (!metadata.finalizers?.includes(TRACKING)) return false;
    const owner = metadata.ownerReferences?.find(({ kind }) => kind === 'Job');
    const job = owner && this.#store.byUid(JOBS, owner.uid);
    return (
      job === undefined || (job.metadata.deletionTimestamp !== undefined && metadata.deletionTimestamp !== undefined)
    );
  }

  #release(pod: Pod): void {
    putOrRemove(this.#store, PODS, without(pod, TRACKING));
  }

  #syncJob(job: Job): void {
    if (job.metadata.deletionTimestamp !== undefined) return;
    const pods = this.#store.podsOf(job);
    const counted = this.#count(job, pods);
    const verdict = verdictOf(job, counted);
    const own = this.#store.podsOf(job);
    const active = own.filter((pod) => !isOver(pod) && pod.metadata.deletionTimestamp === undefined);
    const leaving = own.filter((pod) => !isOver(pod) && pod.metadata.deletionTimestamp !== undefined);
    if (verdict !== undefined) for (const pod of active) beginDeletion(this.#store, PODS, pod);
    const isFinal = verdict !== undefined && active.length + leaving.length === 0;
    const status = statusOf(job, counted, { active: verdict ? [] : active, leaving, verdict, isFinal });
    if (!isDeepStrictEqual(status, job.status)) this.#store.put(JOBS, { ...job, status });
    if (verdict === undefined && job.spec.suspend !== true) this.#makeMissing(job, counted.succeeded, own);
  }

  /** Adds the pods that ended and were not counted to the Job's numbers. */
  #count(job: Job, pods: readonly Pod[]): Counted {
    const succeeded = new Set(indexesIn(job.status.completedIndexes));
    let { failed = 0 } = job.status;
    let disrupted: string | undefined;
    for (const pod of pods) {
      if (!isOver(pod) || !pod.metadata.finalizers?.includes(TRACKING)) continue;
      if (pod.status.phase === 'Succeeded') succeeded.add(indexOf(pod));
      else {
        failed += 1;
        disrupted ??= disruptionOf(job, pod);
      }
      this.#release(pod);
    }
    return { succeeded, failed, disrupted };
  }

  #makeMissing(job: Job, succeeded: ReadonlySet<number>, pods: readonly Pod[]): void {
    const { uid } = job.metadata;
    if (this.#retries.isPaused(uid)) return;
    // With `podReplacementPolicy: Failed` a pod that is ending keeps its place.
    const taken = new Set(pods.filter((pod) => !isOver(pod)).map(indexOf));
    const room = job.spec.parallelism - taken.size;
    const missing = Array.from({ length: job.spec.completions }, (_, index) => index).filter(
      (index) => !succeeded.has(index) && !taken.has(index),
    );
    for (const index of missing.slice(0, Math.max(0, room))) {
      try {
        createObject(this.#store, PODS, job.metadata.namespace ?? '', podDraft(job, index));
      } catch (error) {
        if (!(error instanceof ApiRefusal)) throw error;
        const message = `Error creating: ${error.message}`;
        this.#events.tell(JOBS, job, { type: 'Warning', reason: 'FailedCreate', message, source: 'job-controller' });
        this.#retries.pause(uid);
        return;
      }
    }
  }
}

interface Counted {
  /** Completion indexes. */
  readonly succeeded: ReadonlySet<number>;
  readonly failed: number;
  /** The Job's policy for a disrupted pod. */
  readonly disrupted: string | undefined;
}

interface Verdict {
  readonly target: 'FailureTarget' | 'SuccessCriteriaMet';
  readonly final: 'Failed' | 'Complete';
  readonly reason: string;
  readonly message: string;
}

function verdictOf({ spec, status }: Job, { succeeded, failed, disrupted }: Counted): Verdict | undefined {
  const told = status.conditions?.find(({ type }) => type === 'FailureTarget' || type === 'SuccessCriteriaMet');
  if (told !== undefined) {
    const isFailure = told.type === 'FailureTarget';
    const { reason = '', message = '' } = told;
    return isFailure
      ? { target: 'FailureTarget', final: 'Failed', reason, message }
      : { target: 'SuccessCriteriaMet', final: 'Complete', reason, message };
  }
  const failure = { target: 'FailureTarget', final: 'Failed' } as const;
  if (disrupted !== undefined) return { ...failure, reason: 'PodFailurePolicy', message: disrupted };
  if (failed > spec.backoffLimit)
    return { ...failure, reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' };
  if (succeeded.size < spec.completions) return undefined;
  const message = 'Reached expected number of succeeded pods';
  return { target: 'SuccessCriteriaMet', final: 'Complete', reason: 'CompletionsReached', message };
}

function disruptionOf({ spec }: Job, { metadata, status }: Pod): string | undefined {
  for (const [at, rule] of (spec.podFailurePolicy?.rules ?? []).entries()) {
    const met = rule.onPodConditions?.find(({ type }) => isTrue(status.conditions, type));
    if (met !== undefined && rule.action === 'FailJob')
      return `Pod ${metadata.namespace}/${metadata.name} has condition ${met.type} matching FailJob rule at index ${at}`;
  }
  return undefined;
}

interface Now {
  readonly active: readonly Pod[];
  readonly leaving: readonly Pod[];
  readonly verdict: Verdict | undefined;
  /** No pod of the Job runs any more. */
  readonly isFinal: boolean;
}

function statusOf(
  { status }: Job,
  { succeeded, failed }: Counted,
  { active, leaving, verdict, isFinal }: Now,
): JobStatus {
  const ready = active.filter((pod) => isTrue(pod.status.conditions, 'Ready')).length;
  const condition = (type: string): Condition => ({
    ...{ type, status: 'True', reason: verdict?.reason ?? '', message: verdict?.message ?? '' },
  });
  let { conditions } = status;
  if (verdict !== undefined) conditions = withCondition(conditions, condition(verdict.target));
  if (verdict !== undefined && isFinal) conditions = withCondition(conditions, condition(verdict.final));
  const indexes = [...succeeded].toSorted((a, b) => a - b);
  return {
    startTime: status.startTime ?? timestamp(),
    ...(active.length > 0 && { active: active.length }),
    ready,
    terminating: leaving.length,
    ...(indexes.length > 0 && { succeeded: indexes.length, completedIndexes: rangesOf(indexes) }),
    ...(failed > 0 && { failed }),
    uncountedTerminatedPods: {},
    ...(verdict?.final === 'Complete' && isFinal && { completionTime: status.completionTime ?? timestamp() }),
    ...(conditions && { conditions }),
  };
}

const indexOf = ({ metadata }: Pod): number => Number(metadata.annotations?.[INDEX_KEY]);

const indexesIn = (ranges = ''): readonly number[] =>
  ranges === ''
    ? []
    : ranges.split(',').flatMap((range) => {
        const [first = 0, last = first] = range.split('-').map(Number);
        return Array.from({ length: last - first + 1 }, (_, at) => first + at);
      });

function rangesOf(indexes: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const index of indexes) {
    const last = ranges.at(-1);
    if (last?.[1] === index - 1) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',');
}

function podDraft({ metadata, spec }: Job, index: number): Draft {
  const { template } = spec;
  const named = { [INDEX_KEY]: String(index) };
  const { name, uid } = metadata;
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true, blockOwnerDeletion: true };
  return {
    metadata: {
      ...{ name: `${name}-${index}-${randomSuffix()}`, generateName: `${name}-${index}-` },
      labels: { ...template.metadata?.labels, ...named },
      annotations: { ...template.metadata?.annotations, ...named },
      ownerReferences: [owner],
      finalizers: [TRACKING],
    },
    spec: {
      ...template.spec,
      hostname: `${name}-${index}`,
      containers: template.spec.containers.map((container) => ({
        ...container,
        env: [...(container.env ?? []), { name: 'JOB_COMPLETION_INDEX', value: String(index) }],
      })),
    },
  };
}
