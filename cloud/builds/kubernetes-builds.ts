import type { Writable } from 'node:stream';
import { request as plainRequest, type IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { pipeline } from 'node:stream/promises';
import type { V1Job } from '@kubernetes/client-node';
import { messageOf } from '../../domain/errors.js';
import type { BuildCondition, BuildPod, BuildEnd } from '../../domain/build/spec.js';
import { ownerLabel } from '../../domain/identity.js';
import type { CreateAnswer } from '../../domain/slice.js';
import { CONTAINER } from '../../domain/machine-kinds/kubernetes/words.js';
import { createAnswerOf, read, portErrorOf, statusOf } from '../machines/kubernetes/api-failure.js';
import { type Cluster, type ClusterConfig, openCluster } from '../machines/kubernetes/cluster.js';
import { whatBars } from '../machines/kubernetes/create-pods.js';
import * as library from '../machines/kubernetes/library.js';
import { JOB_NAME_LABEL } from '../machines/kubernetes/manifest.js';
import { allOf, deleteOnly, warningsOf } from '../machines/kubernetes/namespace-api.js';
import { seenJob, seenPod, type Observation, type SeenJob, type SeenPod } from '../machines/kubernetes/observation.js';
import { OURS } from '../machines/kubernetes/pod-template.js';
import { CloudRefused, CloudUnavailable, type RemoveAnswer } from '../machines/port.js';
import { startRefusal, waitingWords } from '../machines/kubernetes/condition.js';
import { buildHash, type BuildPlace, type Builds, type OwnedBuild, type BuildSettings } from './port.js';
import { BUILD_LABEL, buildJob, buildName, digestIn, isOfBuild } from './manifest.js';

/** Runs builds as Jobs of BuildKit (docs/adr/0074). Connects at the first call. */
export class KubernetesBuilds implements Builds {
  readonly #settings: BuildSettings;
  readonly #cluster: ClusterConfig;
  /** Keyed by context; '' is the default context. */
  readonly #clusters = new Map<string, Cluster>();

  constructor(settings: BuildSettings, cluster: ClusterConfig = {}) {
    [this.#settings, this.#cluster] = [settings, cluster];
  }

  hashOf(owned: OwnedBuild): string {
    return buildHash(owned);
  }

  async create(owned: OwnedBuild): Promise<CreateAnswer> {
    const { namespace } = owned.build;
    let cluster: Cluster;
    let body: V1Job;
    try {
      cluster = this.#clusterOf(owned.build);
      body = buildJob(owned, this.#settings);
    } catch (error) {
      return { kind: 'refused', scope: 'installation', message: messageOf(error) };
    }
    const barred = await whatBars(cluster, namespace);
    if (barred !== undefined) return barred;
    return cluster.batch.createNamespacedJob({ namespace, body }).then(
      (): CreateAnswer => ({ kind: 'accepted' }),
      (error: unknown) => createAnswerOf(error),
    );
  }

  async observe(owned: OwnedBuild): Promise<BuildCondition> {
    const cluster = this.#clusterOf(owned.build);
    const { namespace } = owned.build;
    const name = buildName(buildHash(owned));
    const labelSelector = `${OURS},${JOB_NAME_LABEL}=${name}`;
    const [found, pods] = await Promise.all([
      read(() => cluster.batch.readNamespacedJob({ namespace, name })),
      allOf((page) => cluster.core.listNamespacedPod({ namespace, labelSelector, ...page })),
    ]);
    const seen = {
      job: found ? seenJob(found) : ('not-found' as const),
      isOwn: found !== undefined && isOwn(found, owned),
      pods: pods.map(seenPod),
      events: [],
    };
    const condition = buildCondition(seen);
    if (condition.kind !== 'waiting' && condition.kind !== 'refused') return condition;
    const uids = new Set([found?.metadata?.uid, ...pods.map(({ metadata }) => metadata?.uid)]);
    // A worker without the right to read events still sees the pod; only the reason is missing.
    const events = await warningsOf(cluster, namespace).catch((error: unknown) => {
      if (error instanceof CloudRefused) return [];
      throw error;
    });
    return buildCondition({ ...seen, events: events.filter(({ uid }) => uids.has(uid)) });
  }

  async remove(owned: OwnedBuild): Promise<RemoveAnswer> {
    const { namespace } = owned.build;
    const name = buildName(buildHash(owned));
    try {
      const cluster = this.#clusterOf(owned.build);
      const found = await read(() => cluster.batch.readNamespacedJob({ namespace, name }));
      if (found === undefined) return { kind: 'gone' };
      if (!isOwn(found, owned)) return { kind: 'refused', message: `the Job ${name} belongs to somebody else` };
      if (found.metadata?.deletionTimestamp !== undefined) return { kind: 'accepted' };
      return await deleteOnly(cluster, 'Job', { namespace, name, uid: found.metadata?.uid ?? '' });
    } catch (error) {
      return { kind: error instanceof CloudUnavailable ? 'unanswered' : 'refused', message: messageOf(error) };
    }
  }

  follow(place: BuildPlace, { name }: BuildPod, output: Writable, signal: AbortSignal): Promise<void> {
    return followLog(this.#clusterOf(place), { namespace: place.namespace, pod: name }, output, signal);
  }

  #clusterOf({ cluster: context }: BuildPlace): Cluster {
    const known = this.#clusters.get(context ?? '');
    if (known) return known;
    const opened = openCluster(library, { ...this.#cluster, ...(context !== undefined && { context }) });
    this.#clusters.set(context ?? '', opened);
    return opened;
  }
}

function isOwn({ metadata }: V1Job, owned: OwnedBuild): boolean {
  const wanted = { ...ownerLabel(owned.owner), [BUILD_LABEL]: buildHash(owned) };
  return Object.entries(wanted).every(([key, value]) => metadata?.labels?.[key] === value);
}

/** Limit for the text of a refusal; a Status is short. */
const MOST_TEXT = 4096;

/**
 * Writes a container's log from its beginning to its end; the container may still be running. It sends its own request, because
 * the library's `Log` has no listener for a connection that breaks, which ends the process (1.4 and 2.0).
 */
async function followLog(
  { config, server }: Pick<Cluster, 'config' | 'server'>,
  { namespace, pod }: { readonly namespace: string; readonly pod: string },
  output: Writable,
  signal: AbortSignal,
): Promise<void> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log`;
  const url = new URL(`${server.replace(/\/$/, '')}${path}`);
  url.search = new URLSearchParams({ container: CONTAINER, follow: 'true' }).toString();
  const options = { method: 'GET', signal };
  try {
    await config.applyToHTTPSOptions(options);
    const answer = await responseOf(url, options);
    if (answer.statusCode !== 200) throw await refusalOf(answer);
    await pipeline(answer, output, { signal });
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof Refusal)) throw new CloudUnavailable(messageOf(error));
    throw portErrorOf(error);
  }
}

class Refusal extends Error {
  readonly status: number;
  readonly reason?: string;

  constructor(status: number, { message, reason }: { readonly message?: string; readonly reason?: string } = {}) {
    super(message ?? `HTTP ${status}`);
    this.status = status;
    if (reason !== undefined) this.reason = reason;
  }
}

function responseOf(url: URL, options: object): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'http:' ? plainRequest : request;
    send(url, options, resolve).on('error', reject).end();
  });
}

async function refusalOf(answer: IncomingMessage): Promise<Refusal> {
  let text = '';
  for await (const chunk of answer as AsyncIterable<Buffer>)
    if (text.length < MOST_TEXT) text += chunk.toString('utf8');
  return new Refusal(answer.statusCode ?? 0, statusOf(text));
}

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
