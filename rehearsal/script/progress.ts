import { formatDuration } from './duration.js';
import { isOver, nextTurn } from './agenda.js';
import type { Script, ScriptEvent } from './read-script.js';
import type { DoneEvent, ScriptState } from './state.js';

export interface EventToCome {
  /** Epoch ms of the cloud's clock; absent while the event waits for its condition. */
  readonly at?: number;
  readonly when?: string;
  readonly line: number;
  readonly action: string;
  /** Number of turns left. */
  readonly turns: number;
}

export interface ScriptProgress {
  readonly state: 'none' | 'running' | 'finished';
  readonly seed?: number;
  /** Epoch ms of the cloud's clock. */
  readonly startedAt?: number;
  readonly done: readonly DoneEvent[];
  readonly toCome: readonly EventToCome[];
}

/** Progress of the script that runs, or ran last. */
export function progressOf(
  running: { readonly script: Script; readonly state: ScriptState } | undefined,
): ScriptProgress {
  if (running === undefined) return { state: 'none', done: [], toCome: [] };
  const { script, state } = running;
  const ends = state.later.map(({ at, line, call }) => ({ at, line, action: `end of it: ${call.verb}`, turns: 1 }));
  const toCome = [...script.events.flatMap((event, index) => stillToCome(event, state.events[index])), ...ends];
  const { seed, startedAt, done } = state;
  return { state: toCome.length === 0 ? 'finished' : 'running', seed, startedAt, done, toCome };
}

function stillToCome(event: ScriptEvent, state: ScriptState['events'][number] | undefined): readonly EventToCome[] {
  if (state === undefined || isOver(event, state)) return [];
  const at = nextTurn(event, state);
  const { line, action, when, repeat } = event;
  return [
    { ...(at !== undefined && { at }), ...(when && { when: shown(when) }), line, action, turns: repeat - state.turns },
  ];
}

function shown(when: NonNullable<ScriptEvent['when']>): string {
  const what = when.node === undefined ? `queued resource ${when.queuedResource}` : `node ${when.node}`;
  return `${what} is ${when.state}${when.for === 0 ? '' : ` for ${formatDuration(when.for)}`}`;
}
