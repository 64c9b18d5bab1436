import type { CloudEvent, Evidence } from './evidence.js';
import type { Finding } from './verdict.js';

/** The journal's events of a Kubernetes cluster: `kubernetes-state` for each object, `kubernetes-call` for each call by path. */

/** Names of objects that jobctl makes. */
const NAMED_BY_JOBCTL = /\/jc-[^/]+$/u;
const CHANGES_SOMETHING: ReadonlySet<string> = new Set(['DELETE', 'PUT', 'PATCH']);
/** `user-agent` of calls that chaos makes in the place of a person. */
const SOMEBODY = 'somebody';
/** States in which a pod, or the Job of a slice, is lost. */
const SERVES_NO_MORE: ReadonlySet<string> = new Set(['Failed', 'Terminating', 'gone']);
const HOLDS_CPUS: ReadonlySet<string> = new Set(['Pending', 'Running', 'Terminating']);

const isState = ({ kind }: CloudEvent): boolean => kind === 'kubernetes-state';

/** The last event of each object of jobctl's that exists at the end. */
export function objectsAtEnd(events: readonly CloudEvent[]): readonly CloudEvent[] {
  const living = new Map<string, CloudEvent>();
  for (const event of events.filter(isState))
    if (event.details.to === 'gone') living.delete(event.subject);
    else living.set(event.subject, event);
  return [...living.values()].filter(({ subject }) => NAMED_BY_JOBCTL.test(subject));
}

/** Whether jobctl asked to change an object. */
export const isChange = ({ kind, details }: CloudEvent): boolean =>
  kind === 'kubernetes-call' && CHANGES_SOMETHING.has(details.method ?? '') && details['agent'] !== SOMEBODY;

/** Whether jobctl asked to delete the Job of that slice. */
export const isDeletionOfJob = (event: CloudEvent, slice: string): boolean =>
  isChange(event) && event.details.method === 'DELETE' && event.subject.endsWith(`/jobs/${slice}`);

/** Whether the Job of that slice, or one of its pods, is lost. */
export const isLossOfPods = (event: CloudEvent, slice: string): boolean =>
  isState(event) &&
  SERVES_NO_MORE.has(event.details.to ?? '') &&
  (event.subject.endsWith(`/jobs/${slice}`) || event.details['job'] === slice);

/** The slice that an object of a cluster belongs to; undefined for other resources. */
export const sliceOfObject = ({ details }: CloudEvent): string | undefined =>
  typeof details['job'] === 'string' ? details['job'] : undefined;

/** Finds each time at which the pods' CPUs rise above what the pool has. */
export function cpusOvercommitted({ cloud, podCpus }: Evidence): readonly Finding[] {
  if (podCpus === undefined) return [];
  const held = new Map<string, number>();
  const findings: Finding[] = [];
  let isAbove = false;
  for (const { seq, subject, details } of cloud.filter(
    (event) => isState(event) && sliceOfObject(event) !== undefined,
  )) {
    if (HOLDS_CPUS.has(details.to ?? '')) held.set(subject, Number(details['cpus']));
    else held.delete(subject);
    const cpus = [...held.values()].reduce((sum, each) => sum + each, 0);
    if (cpus > podCpus && !isAbove) {
      const text = `${cpus} CPUs at once from journal line ${seq} on, the pool has ${podCpus}: ${[...held.keys()].join(', ')}`;
      findings.push({
        count: 'chips overcommitted',
        subject: sliceOfObject({ details } as CloudEvent) ?? subject,
        text,
      });
    }
    isAbove = cpus > podCpus;
  }
  return findings;
}
