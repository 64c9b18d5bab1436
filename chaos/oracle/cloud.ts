import type { AskedJob, CloudEvent, Deed, Evidence } from './evidence.js';
import { cpusOvercommitted, isChange, isDeletionOfJob, isLossOfPods, objectsAtEnd } from './cluster.js';
import { isDeletionOfVm, isLossOfVm, isVmChange, vmsAtEnd, vmStory } from './vms.js';
import type { Finding } from './verdict.js';

const STATES = { 'queued-resource-state': 'queued resource', 'node-state': 'node' } as const;
const CHANGES_SOMETHING = /^(?:Delete|Stop|Start|Update|Reset|PerformMaintenance)/u;
/** States of a node (LOST_NODE), or of a granted request (LOST_REQUEST), in which the slice is lost. */
const LOST_NODE = new Set(['PREEMPTED', 'TERMINATED', 'STOPPED', 'HIDDEN', 'gone']);
const LOST_REQUEST = new Set(['SUSPENDING', 'SUSPENDED', 'FAILED', 'gone']);

export const lastPart = (name: string): string => name.slice(name.lastIndexOf('/') + 1);

/** Whether the subject is that resource. `zone/nodes/name` names one resource; a bare name fits any zone. */
const isOf = (subject: string, resource: string): boolean => subject === resource || subject.endsWith(`/${resource}`);
/** A key that a request and its node have in common, because they share their chips. */
const chipsKey = (subject: string): string =>
  `${/\/locations\/(?<zone>[^/]+)\//u.exec(subject)?.groups?.['zone'] ?? ''}/${lastPart(subject)}`;

interface Living {
  readonly subject: string;
  readonly kind: 'queued resource' | 'node';
  readonly name: string;
  readonly chips: number;
  readonly state: string;
}

/** Yields the resources that exist after each event of the cloud's journal. */
function* storyOf(
  events: readonly CloudEvent[],
): Generator<{ event: CloudEvent; living: ReadonlyMap<string, Living> }> {
  const living = new Map<string, Living>();
  for (const event of events) {
    const kind = STATES[event.kind as keyof typeof STATES];
    if (kind === undefined) continue;
    const name = lastPart(event.subject);
    const key = `${kind} ${event.subject}`;
    if (event.details.to === 'gone') living.delete(key);
    else
      living.set(key, {
        subject: event.subject,
        kind,
        name,
        chips: event.details.chips ?? 0,
        state: event.details.to ?? '',
      });
    yield { event, living };
  }
}

function livingAtEnd(events: readonly CloudEvent[]): readonly Living[] {
  let last: ReadonlyMap<string, Living> = new Map();
  for (const { living } of storyOf(events)) last = living;
  return [...last.values()];
}

const foreignOf = (deeds: readonly Deed[]): readonly string[] =>
  deeds.flatMap(({ kind, resource }) => (kind === 'foreign' && resource !== undefined ? [resource] : []));

/** Finds resources that exist at the end and were not planted by chaos. */
export function leaked({ cloud, deeds }: Evidence): readonly Finding[] {
  const foreign = foreignOf(deeds);
  // A request and its node count once.
  const places = new Map(livingAtEnd(cloud).map((each) => [chipsKey(each.subject), each]));
  const objects = objectsAtEnd(cloud).map(({ subject, details }) => ({
    ...{ subject, name: lastPart(subject), state: details.to },
    kind: subject.split('/').at(-2) ?? 'object',
  }));
  const vms = vmsAtEnd(cloud).map(({ subject, details }) => ({
    ...{ subject, name: lastPart(subject), state: details.to, kind: 'VM' },
  }));
  return [...places.values(), ...objects, ...vms]
    .filter(({ subject }) => !foreign.some((resource) => isOf(subject, resource)))
    .map(({ kind, name, state }) => ({
      count: 'leaked resources',
      subject: name,
      text: `the ${kind} ${name} is ${state} though all is over`,
    }));
}

/** Finds each time at which use rises above what the pool has. */
export function overcommitted(evidence: Evidence): readonly Finding[] {
  return [...chipsOvercommitted(evidence), ...cpusOvercommitted(evidence), ...vmsOvercommitted(evidence)];
}

/** A VM counts from its create until it is gone. A TERMINATED one still costs money and must be deleted. */
function vmsOvercommitted({ cloud, deeds, vmUnits }: Evidence): readonly Finding[] {
  if (vmUnits === undefined) return [];
  const foreign = foreignOf(deeds);
  const findings: Finding[] = [];
  let isAbove = false;
  for (const { event, living } of vmStory(cloud)) {
    const own = [...living.keys()].filter((subject) => !foreign.some((resource) => isOf(subject, resource)));
    if (own.length > vmUnits && !isAbove) {
      const text = `${own.length} VMs at once from journal line ${event.seq} on, the pool has ${vmUnits}: ${own.map(lastPart).join(', ')}`;
      findings.push({ count: 'chips overcommitted', subject: lastPart(event.subject), text });
    }
    isAbove = own.length > vmUnits;
  }
  return findings;
}

function chipsOvercommitted({ cloud, deeds, poolUnits, jobs }: Evidence): readonly Finding[] {
  const foreign = foreignOf(deeds);
  const theirs = jobs.filter(({ isTheirs }) => isTheirs);
  const findings: Finding[] = [];
  let isAbove = false;
  for (const { event, living } of storyOf(cloud)) {
    const byPlace = new Map<string, number>();
    for (const { subject, chips } of living.values()) {
      if (foreign.some((resource) => isOf(subject, resource)) || isSliceOf(subject, theirs)) continue;
      byPlace.set(chipsKey(subject), Math.max(chips, byPlace.get(chipsKey(subject)) ?? 0));
    }
    const chips = [...byPlace.values()].reduce((sum, each) => sum + each, 0);
    if (chips > poolUnits && !isAbove) {
      const text = `${chips} chips at once from journal line ${event.seq} on, the pool has ${poolUnits}: ${[...byPlace.keys()].join(', ')}`;
      findings.push({ count: 'chips overcommitted', subject: lastPart(event.subject), text });
    }
    isAbove = chips > poolUnits;
  }
  return findings;
}

const isSliceOf = (subject: string, jobs: readonly AskedJob[]): boolean =>
  jobs.some(({ id }) => lastPart(subject).includes(`-${id}-`));

export function foreignTouched(evidence: Evidence): readonly Finding[] {
  return [...plantedTouched(evidence), ...touchedAcross(evidence)];
}

/** One finding for each resource of one installation that the other one asked to change, whatever the answer. */
function touchedAcross({ cloud, jobs, theirHost }: Evidence): readonly Finding[] {
  if (theirHost === undefined) return [];
  const theirs = jobs.filter(({ isTheirs }) => isTheirs);
  const ours = jobs.filter(({ isTheirs }) => !isTheirs);
  const touched = new Map<string, CloudEvent>();
  for (const event of cloud) {
    const { kind, subject, details } = event;
    if (kind !== 'api-call' || !CHANGES_SOMETHING.test(details.method ?? '')) continue;
    if (isSliceOf(subject, details['host'] === theirHost ? ours : theirs) && !touched.has(subject))
      touched.set(subject, event);
  }
  return [...touched].map(([subject, { details }]) => {
    const [by, of] = details['host'] === theirHost ? ['second', 'first'] : ['first', 'second'];
    const text = `the ${by} installation asked for ${details.method} of ${lastPart(subject)}, which is the ${of} one's (answer: ${details.code})`;
    return { count: 'foreign resources touched', subject: lastPart(subject), text };
  });
}

/** One finding for each planted resource that was changed, or that is gone without having been taken by chaos. */
function plantedTouched({ cloud, deeds }: Evidence): readonly Finding[] {
  const there = [...livingAtEnd(cloud), ...objectsAtEnd(cloud), ...vmsAtEnd(cloud)].map(({ subject }) => subject);
  const taken = new Set(deeds.flatMap(({ kind, resource }) => (kind === 'preempt' ? [resource] : [])));
  return foreignOf(deeds).flatMap((resource): Finding[] => {
    const name = lastPart(resource);
    const call = cloud.find(
      (event) =>
        isOf(event.subject, resource) &&
        (isChange(event) ||
          isVmChange(event) ||
          (event.kind === 'api-call' && CHANGES_SOMETHING.test(event.details.method ?? ''))),
    );
    if (call !== undefined) {
      const text = `${call.details.method} of ${name}, which is none of ours (answer: ${call.details.code})`;
      return [{ count: 'foreign resources touched', subject: name, text }];
    }
    if (there.some((subject) => isOf(subject, resource)) || taken.has(name)) return [];
    return [{ count: 'foreign resources touched', subject: name, text: `${name}, which is none of ours, is gone` }];
  });
}

/** Calls that asked to delete the resource with this name. */
export const deletions = (cloud: readonly CloudEvent[], name: string): readonly CloudEvent[] =>
  cloud.filter(
    (event) =>
      isDeletionOfJob(event, name) ||
      isDeletionOfVm(event, name) ||
      (event.kind === 'api-call' &&
        lastPart(event.subject) === name &&
        event.details.method?.startsWith('Delete') === true),
  );

/** Whether the provider took this slice between these times, before any deletion by jobctl. */
export function wasLost(cloud: readonly CloudEvent[], name: string, from: number, to: number): boolean {
  const isLoss = (event: CloudEvent): boolean => isLossOfPods(event, name) || isLossOfVm(event, name);
  const own = cloud.filter((event) => lastPart(event.subject) === name || isLoss(event));
  // Compared by journal order, since several events may share a millisecond.
  const [deletion] = deletions(cloud, name);
  return own.some((event) => {
    const { seq, kind, wall, details } = event;
    if (wall < from || wall > to || (deletion !== undefined && seq > deletion.seq)) return false;
    if (kind === 'vm-failure' || isLoss(event)) return true;
    if (kind === 'node-state') return LOST_NODE.has(details.to ?? '');
    return kind === 'queued-resource-state' && LOST_REQUEST.has(details.to ?? '');
  });
}
