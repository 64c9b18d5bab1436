import type { RandomState } from '../random.js';
import type { Call } from './actions.js';
import type { EventState } from './agenda.js';

/** A script that was started, and how far it is: plain JSON, so that a restart of the rehearsal goes on with it. */
export interface ScriptState {
  readonly text: string;
  readonly seed: number;
  /** Epoch ms of the cloud's clock. */
  readonly startedAt: number;
  readonly random: RandomState;
  readonly events: readonly EventState[];
  /** What ends effects that last for a while. */
  later: readonly Ending[];
  readonly done: DoneEvent[];
}

export interface Ending {
  /** Epoch ms of the cloud's clock. */
  readonly at: number;
  readonly call: Call;
  /** Of the event in the script's text. */
  readonly line: number;
}

/** One turn of an event that is over. */
export interface DoneEvent {
  /** Epoch ms of the cloud's clock. */
  readonly at: number;
  /** Of the event in the script's text. */
  readonly line: number;
  readonly action: string;
  /** Full name of the resource that set it off. */
  readonly subject?: string;
  /** `done`, or why nothing or not all was. */
  readonly result: string;
}
