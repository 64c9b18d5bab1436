import type { RefusalScope } from '../../../domain/slice.js';
import type { Observation, Said, SeenJob, SeenPod } from './observation.js';
import { scopeOfText } from './refusal-scope.js';

/** The reasons why requested pods do not run. */

export interface StartRefusal {
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
