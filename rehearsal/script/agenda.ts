import type { JournalEvent } from '../journal.js';
import type { Random } from '../random.js';
import { isNamed } from './actions.js';
import type { ScriptEvent } from './read-script.js';

/** A resource that is in the state that an event waits for. */
interface Waiting {
  readonly dueAt: number;
  /** It has set the event off; it does so again only after it left the state. */
  isDone: boolean;
}

/** How far one event of a script is. Plain JSON; times are epoch ms of the cloud's clock. */
export interface EventState {
  /** How often its turn came, `chance` or not. */
  turns: number;
  /** Of an event with `at`: its next turn. */
  nextAt?: number | undefined;
  /** Of an event with `when`, by the resource's full name. */
  readonly waiting: Record<string, Waiting>;
  /** Of an event with `when` and `every`: no turn before. */
  quietUntil?: number | undefined;
}

export function beginEvent(event: ScriptEvent, startedAt: number, random: Random): EventState {
  const nextAt = event.at === undefined ? undefined : startedAt + event.at + later(event, random);
  return { turns: 0, nextAt, waiting: {} };
}

/** A resource entered a state: what waits for it begins to, or gives up. */
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

/** When the event's next turn is, or undefined: nothing that is known now brings it. */
export function nextTurn(event: ScriptEvent, state: EventState): number | undefined {
  if (isOver(event, state)) return undefined;
  const due = state.nextAt ?? nextWaiting(state)?.dueAt;
  return due === undefined ? undefined : Math.max(due, state.quietUntil ?? 0);
}

export function isOver(event: ScriptEvent, { turns }: EventState): boolean {
  return turns >= event.repeat;
}

/** Takes the turn that is due at `now`. @returns the resource that it is about, if it is about one. */
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
