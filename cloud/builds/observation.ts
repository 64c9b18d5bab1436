import type { BuildCondition, BuildEnd, BuildPod } from '../../domain/build/condition.js';
import { startRefusal, waitingWords } from '../machines/kubernetes/pod-start.js';
import type { Observation, SeenJob, SeenPod } from '../machines/kubernetes/observation.js';
import { digestIn, isOfBuild } from './buildctl.js';

/** The objects of one build that a cluster returned. */
export interface SeenBuild extends Pick<Observation, 'pods' | 'events'> {
  readonly job: 'not-found' | SeenJob;
  /** Whether the Job of this name is ours and of this build. */
  readonly isOwn: boolean;
}

const MOST_LINES = 15;
/** The Job controller's reason for a Job that exceeded its deadline. */
const TOO_LONG = 'DeadlineExceeded';

/** Reads the observation as evidence of a build's condition. */
export function buildCondition({ job, isOwn, pods, events }: SeenBuild): BuildCondition {
  if (job === 'not-found') return pods.length > 0 ? { kind: 'deleting' } : { kind: 'missing' };
  if (!isOwn) return { kind: 'foreign', message: 'a Job of its name belongs to somebody else' };
  if (job.isDeleting) return { kind: 'deleting' };
  const pod = pods.find(({ jobUid }) => jobUid === undefined || jobUid === job.uid);
  if (job.failure?.reason === TOO_LONG) return failed(pod, `it took too long: ${job.failure.message}`, []);
  if (pod === undefined) return withoutPod(job, events);
  if (pod.disruption) return lost(pod, `its pod was disrupted: ${pod.disruption.reason}: ${pod.disruption.message}`);
  if (pod.ended) return endOf(pod, pod.ended);
  if (pod.isDeleting) return lost(pod, `pod ${pod.name} is being deleted`);
  if (pod.phase === 'Running') return { kind: 'running', pod: named(pod) };
  return pending(job, pod, events);
}

function withoutPod(job: SeenJob, events: Observation['events']): BuildCondition {
  const { failure } = job;
  if (failure) return { kind: 'lost', message: `its pod is gone: ${failure.reason}: ${failure.message}` };
  // Only the pod's status tells the result, and the pod is gone.
  if (job.isComplete || job.succeeded > 0) return { kind: 'lost', message: 'its pod has ended, and is gone' };
  return pending(job, undefined, events);
}

function pending(job: SeenJob, pod: SeenPod | undefined, events: Observation['events']): BuildCondition {
  const seen = { at: 0, job, parts: [], pods: pod === undefined ? [] : [pod], events, neighbours: [] };
  const refusal = startRefusal(seen, job);
  // Neither is final: the pod starts once the quota is raised or another pod ends.
  if (refusal !== undefined && !refusal.scope.startsWith('zone')) return { kind: 'refused', ...refusal };
  return { kind: 'waiting', detail: refusal?.message ?? waitingWords(seen, job) };
}

function endOf(pod: SeenPod, { exitCode, reason, message }: NonNullable<SeenPod['ended']>): BuildEnd {
  if (exitCode === 0) {
    const digest = digestIn(message);
    if (digest !== undefined) return { kind: 'built', digest, pod: named(pod) };
    return lost(pod, 'it has ended with code 0, and told no digest');
  }
  const lines = message
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .slice(-MOST_LINES);
  if (reason === 'OOMKilled')
    return failed(pod, 'it was killed for memory; the operator raises kubernetes.builds.memory', lines);
  const how = `BuildKit ended with ${exitCode === undefined ? reason : `code ${exitCode}`}`;
  if (exitCode !== undefined && isOfBuild(message)) return failed(pod, how, lines);
  const last = lines.at(-1);
  return { kind: 'lost', message: last === undefined ? how : `${how}: ${last}`, lines, pod: named(pod) };
}

const named = ({ name, uid }: SeenPod): BuildPod => ({ name, uid });
const lost = (pod: SeenPod, message: string): BuildEnd => ({ kind: 'lost', message, pod: named(pod) });
const failed = (pod: SeenPod | undefined, message: string, lines: readonly string[]): BuildEnd => ({
  ...{ kind: 'failed', message, lines },
  ...(pod && { pod: named(pod) }),
});
