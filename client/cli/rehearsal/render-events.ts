import { oneLine } from '../render/width.js';
import { placeOf } from './admin-answers.js';
import type { JournalEvent, ScriptEvent } from './admin-answers.js';

const SEQ_WIDTH = 5;
const KIND_WIDTH = 'queued-resource-state'.length;

/** `   12  14:02:11.204  node-state             jc-train-g1  from READY, to PREEMPTED` on the cloud's clock, UTC. */
export function renderEvent({ seq, at, kind, subject, details }: JournalEvent): string {
  const time = new Date(at).toISOString().slice(11, 23);
  const text = Object.entries(details)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`);
  return [String(seq).padStart(SEQ_WIDTH), time, kind.padEnd(KIND_WIDTH), placeOf(subject).id, oneLine(text.join(', '))]
    .join('  ')
    .trimEnd();
}

/** `done     at 5m preempt {..}` */
export function renderScriptEvent(event: ScriptEvent, isDone: boolean): string {
  return `${isDone ? 'done    ' : 'to come '} ${oneLine(JSON.stringify(event))}`;
}
