import type { RandomState } from '../random.js';
import type { Call } from './actions.js';
import type { EventState } from './agenda.js';

/** A started script and its progress. Plain JSON, so that a restart of the rehearsal continues it. */
export interface ScriptState {
  readonly text: string;
  readonly seed: number;
  /** Epoch ms of the cloud's clock. */
  readonly startedAt: number;
  readonly random: RandomState;
  readonly events: readonly EventState[];
  /** Calls that end temporary effects. */
  later: readonly Ending[];
  readonly done: DoneEvent[];
}

export interface Ending {
  /** Epoch ms of the cloud's clock. */
  readonly at: number;
  readonly call: Call;
  /** Line of the event in the script's text. */
  readonly line: number;
}

/** One finished turn of an event. */
export interface DoneEvent {
  /** Epoch ms of the cloud's clock. */
  readonly at: number;
  /** Line of the event in the script's text. */
  readonly line: number;
  readonly action: string;
  /** Full name of the resource that triggered the turn. */
  readonly subject?: string;
  /** `done`, or why the action was not done or not done in full. */
  readonly result: string;
}
