import type { CloudEvent } from './evidence.js';

/** The journal's events of VMs of Compute Engine: `vm-state` of each VM, and `api-call` of each call. */

const VM = /\/zones\/(?<zone>[^/]+)\/instances\/(?<name>[^/]+)$/u;
const METHOD = /^compute\.googleapis\.com\/compute\.v1\.instances\.(?<verb>\w+)$/u;
const CHANGES_SOMETHING: ReadonlySet<string> = new Set(['delete', 'stop', 'start', 'reset', 'setMetadata']);
/** The host that chaos dials for calls in the place of a person; jobctl's worker dials the address itself. */
const SOMEBODY = /^localhost:/u;
/** Statuses in which a VM is lost. A STOPPING one is not lost yet. */
const SERVES_NO_MORE: ReadonlySet<string> = new Set(['TERMINATED', 'SUSPENDED', 'gone']);

/** Whether a VM's name belongs to this slice: the slice's own name, alone or followed by a host's index. */
export const isVmName = (name: string, slice: string): boolean =>
  name === slice || (name.startsWith(`${slice}-`) && /^\d+$/u.test(name.slice(slice.length + 1)));

const isVmOf = ({ subject }: CloudEvent, slice: string): boolean =>
  isVmName(VM.exec(subject)?.groups?.['name'] ?? '', slice);

/** The last event of each VM that exists at the end. `restored` names VMs that a killed rehearsal had not saved. */
export function vmsAtEnd(events: readonly CloudEvent[]): readonly CloudEvent[] {
  const living = new Map<string, CloudEvent>();
  for (const event of events) noteVm(living, event);
  return [...living.values()];
}

function noteVm(living: Map<string, CloudEvent>, event: CloudEvent): void {
  const { kind, subject, details } = event;
  const isGone = kind === 'vm-state' ? details.to === 'gone' : isForgotten(event);
  if (isGone) living.delete(subject);
  else if (kind === 'vm-state') living.set(subject, event);
}

const isForgotten = ({ kind, details }: CloudEvent): boolean =>
  kind === 'restored' && details['resource'] === undefined;

/** Yields the VMs that exist after each event that changes them. */
export function* vmStory(
  events: readonly CloudEvent[],
): Generator<{ readonly event: CloudEvent; readonly living: ReadonlyMap<string, CloudEvent> }> {
  const living = new Map<string, CloudEvent>();
  for (const event of events) {
    if (event.kind !== 'vm-state' && !isForgotten(event)) continue;
    noteVm(living, event);
    yield { event, living };
  }
}

const verbOf = ({ kind, details }: CloudEvent): string | undefined =>
  kind === 'api-call' ? METHOD.exec(details.method ?? '')?.groups?.['verb'] : undefined;
const isBySomebody = ({ details }: CloudEvent): boolean => SOMEBODY.test(String(details['host'] ?? ''));

/** Whether jobctl asked to change a VM. */
export const isVmChange = (event: CloudEvent): boolean =>
  CHANGES_SOMETHING.has(verbOf(event) ?? '') && !isBySomebody(event);

/** Whether jobctl asked to delete a VM of that slice. */
export const isDeletionOfVm = (event: CloudEvent, slice: string): boolean =>
  verbOf(event) === 'delete' && !isBySomebody(event) && isVmOf(event, slice);

/** Whether a VM of that slice is lost. */
export const isLossOfVm = (event: CloudEvent, slice: string): boolean =>
  event.kind === 'vm-state' && SERVES_NO_MORE.has(event.details.to ?? '') && isVmOf(event, slice);

/** Whether a VM of that slice, or what runs in it, has lost its power or is gone. */
export const isEndOfVm = (event: CloudEvent, slice: string): boolean =>
  isLossOfVm(event, slice) ||
  (isVmOf(event, slice) &&
    (event.kind === 'vm-kill' ||
      event.kind === 'vm-failure' ||
      (event.kind === 'vm-power' && event.details['power'] === 'off')));
