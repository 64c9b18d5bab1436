import type { EpochMs } from '../../../domain/units.js';
import type { JournalEvent } from '../../../rehearsal/journal.js';
import { placeOf } from '../rehearsal/admin-answers.js';

/** A slice that the provider took, by the cloud's own journal, whoever asked for it: this command, or a fault script. */
export interface Preemption {
  /** This computer's clock. */
  readonly at: EpochMs;
  readonly node: string;
  readonly nodeId: string;
  readonly mode: 'preempted' | 'vanish';
  /** Wall time between the notice and the preemption; absent: there was none. */
  readonly noticeMs?: number;
}

/** Where an attempt ran. */
export interface AttemptNodes {
  readonly attempt: number;
  readonly nodes: readonly { readonly nodeId: string }[];
}

/** States from which a node that is gone was not deleted, but taken. */
const TAKEN_FROM: ReadonlySet<unknown> = new Set(['READY', 'REPAIRING']);

/** @param events in order, from the first one on */
export function preemptionsIn(events: readonly JournalEvent[]): readonly Preemption[] {
  return events.flatMap((event, index): readonly Preemption[] => {
    const mode = modeOf(event);
    if (mode === undefined) return [];
    const notice = noticeBefore(events.slice(0, index), event);
    return [
      {
        at: event.wall,
        node: placeOf(event.subject).id,
        nodeId: String(event.details['nodeId'] ?? ''),
        mode,
        ...(notice === undefined ? {} : { noticeMs: event.wall - notice }),
      },
    ];
  });
}

function modeOf({ kind, details: { from, to } }: JournalEvent): Preemption['mode'] | undefined {
  if (kind !== 'node-state') return undefined;
  if (to === 'PREEMPTED') return 'preempted';
  return to === 'gone' && TAKEN_FROM.has(from) ? 'vanish' : undefined;
}

/** When the preemption was announced that now came true. */
function noticeBefore(events: readonly JournalEvent[], { subject }: JournalEvent): EpochMs | undefined {
  const names = new Set([subject, placeOf(subject).id]);
  const asked = events.findLast(
    ({ kind, subject: verb, details }) => kind === 'admin' && verb === 'preempt' && names.has(String(details['name'])),
  );
  const isNotice = asked?.details['notice'] === true || Number(asked?.details['noticeMs'] ?? 0) > 0;
  return asked !== undefined && isNotice ? asked.wall : undefined;
}

/** The attempt that lost the node; undefined: none ran on it yet. */
export function attemptOn(nodeId: string, attempts: readonly AttemptNodes[]): number | undefined {
  return attempts.findLast(({ nodes }) => nodes.some((node) => node.nodeId === nodeId))?.attempt;
}

/** When each attempt's command was started, by its number, from the job's own log: `ISO running: attempt N on ..`. */
export function startsIn(jobLog: string): ReadonlyMap<number, EpochMs> {
  const starts = new Map<number, EpochMs>();
  for (const [, time = '', attempt = ''] of jobLog.matchAll(/^(\S+Z) running: attempt (\d+) /gm)) {
    // A worker that was replaced says it again.
    if (!starts.has(Number(attempt))) starts.set(Number(attempt), Date.parse(time));
  }
  return starts;
}
