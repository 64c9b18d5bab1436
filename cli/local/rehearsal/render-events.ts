import type { JournalEvent } from '../../../rehearsal/journal.js';
import type { EventToCome } from '../../../rehearsal/script/progress.js';
import type { DoneEvent } from '../../../rehearsal/script/state.js';
import { oneLine } from '../../terminal/render/columns.js';
import { placeOf } from './admin-answers.js';

const SEQ_WIDTH = 5;
const KIND_WIDTH = 'queued-resource-state'.length;

/** `   12  14:02:11.204  node-state             jc-train-g1  from READY, to PREEMPTED` on the cloud's clock, UTC. */
export function renderEvent({ seq, at, kind, subject, details }: JournalEvent): string {
  const text = Object.entries(details)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`);
  return [
    String(seq).padStart(SEQ_WIDTH),
    clockTime(at),
    kind.padEnd(KIND_WIDTH),
    placeOf(subject).id,
    oneLine(text.join(', ')),
  ]
    .join('  ')
    .trimEnd();
}

/** `14:02:11.204  line 12  preempt jc-train-g1: done`, on the cloud's clock. */
export function renderDone({ at, line, action, subject, result }: DoneEvent): string {
  const what = subject === undefined ? action : `${action} ${placeOf(subject).id}`;
  return `${clockTime(at)}  line ${line}  ${oneLine(`${what}: ${result}`)}`;
}

/** `14:07:11.204  line 14  refuse, to come 3 times` */
export function renderToCome({ at, when, line, action, turns }: EventToCome): string {
  const time = at === undefined ? `once ${when ?? 'its condition holds'}` : clockTime(at);
  return `${time}  line ${line}  ${oneLine(action)}, to come${turns === 1 ? '' : ` ${turns} times`}`;
}

const clockTime = (at: number): string => new Date(at).toISOString().slice(11, 23);
