import type { CloudEvent } from './evidence.js';

/** What the journal says of VMs of Compute Engine: `vm-state` of each, `api-call` of what was asked. */

const VM = /\/zones\/(?<zone>[^/]+)\/instances\/(?<name>[^/]+)$/u;
const METHOD = /^compute\.googleapis\.com\/compute\.v1\.instances\.(?<verb>\w+)$/u;
const CHANGES_SOMETHING: ReadonlySet<string> = new Set(['delete', 'stop', 'start', 'reset', 'setMetadata']);
/** The name by which chaos dials the cloud where it does a person's work; jobctl's worker dials the address itself. */
const SOMEBODY = /^localhost:/u;
/** Statuses in which a VM serves no more. One that is STOPPING still does. */
const SERVES_NO_MORE: ReadonlySet<string> = new Set(['TERMINATED', 'SUSPENDED', 'gone']);

/** A VM's name that belongs to this slice: its own, or with the index of a host. */
export const isVmName = (name: string, slice: string): boolean =>
  name === slice || (name.startsWith(`${slice}-`) && /^\d+$/u.test(name.slice(slice.length + 1)));

const isVmOf = ({ subject }: CloudEvent, slice: string): boolean =>
  isVmName(VM.exec(subject)?.groups?.['name'] ?? '', slice);

/** The last event of each VM that exists after all of these; `restored` says what a rehearsal that was killed had not kept. */
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

/** What existed after each event that changed it. */
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

/** A call of jobctl's that would change a VM. */
export const isVmChange = (event: CloudEvent): boolean =>
  CHANGES_SOMETHING.has(verbOf(event) ?? '') && !isBySomebody(event);

/** A call of jobctl's for the end of a VM of that slice. */
export const isDeletionOfVm = (event: CloudEvent, slice: string): boolean =>
  verbOf(event) === 'delete' && !isBySomebody(event) && isVmOf(event, slice);

/** A VM of that slice serves no more. */
export const isLossOfVm = (event: CloudEvent, slice: string): boolean =>
  event.kind === 'vm-state' && SERVES_NO_MORE.has(event.details.to ?? '') && isVmOf(event, slice);

/** It, or what runs in it, lost its power, or is gone. */
export const isEndOfVm = (event: CloudEvent, slice: string): boolean =>
  isLossOfVm(event, slice) ||
  (isVmOf(event, slice) &&
    (event.kind === 'vm-kill' ||
      event.kind === 'vm-failure' ||
      (event.kind === 'vm-power' && event.details['power'] === 'off')));
