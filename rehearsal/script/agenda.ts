import type { JournalEvent } from '../journal.js';
import type { Random } from '../random.js';
import { isNamed } from './actions.js';
import type { ScriptEvent } from './read-script.js';

/** A resource in the state that an event waits for. */
interface Waiting {
  readonly dueAt: number;
  /** Whether the resource has triggered the event. It can do so again only after it leaves the state. */
  isDone: boolean;
}

/** Progress of one event of a script. Plain JSON; times are epoch ms of the cloud's clock. */
export interface EventState {
  /** Number of turns so far, whether `chance` let them act or not. */
  turns: number;
  /** For an event with `at`: its next turn. */
  nextAt?: number | undefined;
  /** For an event with `when`: waiting resources, by full name. */
  readonly waiting: Record<string, Waiting>;
  /** For an event with `when` and `every`: no turn before this time. */
  quietUntil?: number | undefined;
}

export function beginEvent(event: ScriptEvent, startedAt: number, random: Random): EventState {
  const nextAt = event.at === undefined ? undefined : startedAt + event.at + later(event, random);
  return { turns: 0, nextAt, waiting: {} };
}

/** Notes that a resource entered a state: it begins to wait for the event's turn, or no longer waits. */
export function noteState(
  event: ScriptEvent,
  state: EventState,
  entered: Pick<JournalEvent, 'kind' | 'subject' | 'at'> & { readonly to: string },
  random: Random,
): void {
  const { when } = event;
  if (when === undefined) return;
  const name = entered.kind === 'node-state' ? when.node : when.queuedResource;
  if (name === undefined || !isNamed(entered.subject, name)) return;
  if (entered.to !== when.state) delete state.waiting[entered.subject];
  else state.waiting[entered.subject] ??= { dueAt: entered.at + when.for + later(event, random), isDone: false };
}

/** Time of the event's next turn, or undefined if nothing known now causes one. */
export function nextTurn(event: ScriptEvent, state: EventState): number | undefined {
  if (isOver(event, state)) return undefined;
  const due = state.nextAt ?? nextWaiting(state)?.dueAt;
  return due === undefined ? undefined : Math.max(due, state.quietUntil ?? 0);
}

export function isOver(event: ScriptEvent, { turns }: EventState): boolean {
  return turns >= event.repeat;
}

/** Takes the turn that is due at `now`. @returns full name of the resource that the turn is about, if any */
export function takeTurn(event: ScriptEvent, state: EventState, now: number, random: Random): string | undefined {
  state.turns += 1;
  if (state.nextAt !== undefined) {
    state.nextAt = state.nextAt + (event.every ?? 0) + later(event, random);
    return undefined;
  }
  const waiting = nextWaiting(state);
  if (waiting === undefined) return undefined;
  waiting.isDone = true;
  if (event.every !== undefined) state.quietUntil = now + event.every;
  return Object.entries(state.waiting).find(([, each]) => each === waiting)?.[0];
}

function nextWaiting({ waiting }: EventState): Waiting | undefined {
  const open = Object.values(waiting).filter((each) => !each.isDone);
  return open.toSorted((a, b) => a.dueAt - b.dueAt)[0];
}

function later({ jitter }: ScriptEvent, random: Random): number {
  return jitter === 0 ? 0 : random.integer(0, jitter);
}
