import type { JobPhase } from '../job-state.js';
import type { EpochMs } from '../units.js';
import { type Told, toldText } from './kinds.js';

/** An event of a job's life (docs/contract.md). Plain JSON: it is carried, stored and shown. */
export type JobEvent = Told & {
  readonly at: EpochMs;
  /** The phase that the event begins, or whose reason it changes. Absent: neither. */
  readonly phase?: JobPhase;
  /** Parts of the phase's reason around this event's sentence. */
  readonly before?: string;
  readonly after?: string;
};

/** The form of events of earlier builds, which had no kinds. */
export interface OldEvent {
  readonly at: EpochMs;
  readonly text: string;
}

export type CarriedEvent = JobEvent | OldEvent;

/** Reads an event of either form. */
export const readEvent = (event: CarriedEvent): JobEvent =>
  'kind' in event ? event : { at: event.at, kind: 'note', facts: { text: event.text } };

/** The line of an event: the phase, then the event's sentence between the other parts of the phase's reason. */
export function eventText({ phase, before, after, ...told }: JobEvent): string {
  const why = reasonOf([before, toldText(told), after]);
  return phase === undefined ? why : `${phase}: ${why}`;
}

/** Joins the parts of a phase's reason. */
export const reasonOf = (parts: readonly (string | undefined)[]): string => parts.filter((part) => part).join('; ');

/** An event as people and programs see it. Without `kind` and `facts` if it was told by an earlier build, which had no kinds. */
export type ShownEvent = OldEvent &
  (JobEvent | { readonly kind?: never; readonly facts?: never; readonly phase?: never });

export const shownEvent = (event: JobEvent): ShownEvent => ({ ...event, text: eventText(event) });

/** An event as others are told of it. `id` is the same each time that it is told. */
export type ToldEvent = Told & { readonly id: string; readonly at: EpochMs; readonly text: string };
