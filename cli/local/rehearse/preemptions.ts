import type { EpochMs } from '../../../domain/units.js';
import type { JournalEvent } from '../../../rehearsal/journal.js';
import { placeOf } from '../rehearsal/admin-answers.js';

/** A slice that the provider took, according to the cloud's own journal, whether this command or a fault script caused it. */
export interface Preemption {
  /** Time on this computer's clock. */
  readonly at: EpochMs;
  readonly node: string;
  readonly nodeId: string;
  readonly mode: 'preempted' | 'vanish';
  /** Wall time between the notice and the preemption, actual or planned; absent: no notice. */
  readonly noticeMs?: number;
  /** The job released the node while its VMs shut down, so the node never became PREEMPTED. */
  readonly isLetGo?: true;
}

/** The nodes of an attempt. */
export interface AttemptNodes {
  readonly attempt: number;
  readonly nodes: readonly { readonly uid: string }[];
}

/** A node that disappears from these states was taken, not deleted. */
const TAKEN_FROM: ReadonlySet<unknown> = new Set(['READY', 'REPAIRING']);

/**
 * @param events in order, from the first one on
 * @param timeScale speed of the cloud's clock relative to this computer's
 */
export function preemptionsIn(events: readonly JournalEvent[], timeScale = 1): readonly Preemption[] {
  const told = new Set(events.filter(isTold).map(nodeIdOf));
  return events.flatMap((event, index): readonly Preemption[] => {
    const isLetGo = event.kind === 'node-state' && event.details['to'] === 'DELETING' && told.has(nodeIdOf(event));
    const mode = isLetGo && event.details['from'] !== 'PREEMPTED' ? 'preempted' : modeOf(event);
    if (mode === undefined) return [];
    const asked = noticeBefore(events.slice(0, index), event);
    const given = Number(asked?.details['noticeMs'] ?? NaN) / timeScale;
    const lasted = asked === undefined ? undefined : event.wall - asked.wall;
    const noticeMs = isLetGo && !Number.isNaN(given) ? given : lasted;
    return [
      {
        at: event.wall,
        node: placeOf(event.subject).id,
        nodeId: nodeIdOf(event),
        mode,
        ...(noticeMs === undefined ? {} : { noticeMs }),
        ...(isLetGo && event.details['from'] !== 'PREEMPTED' ? { isLetGo } : {}),
      },
    ];
  });
}

const nodeIdOf = ({ details }: JournalEvent): string => String(details['nodeId'] ?? '');
const isTold = ({ kind, details }: JournalEvent): boolean => kind === 'vm-power' && details['power'] === 'stopping';

function modeOf({ kind, details: { from, to } }: JournalEvent): Preemption['mode'] | undefined {
  if (kind !== 'node-state') return undefined;
  if (to === 'PREEMPTED') return 'preempted';
  return to === 'gone' && TAKEN_FROM.has(from) ? 'vanish' : undefined;
}

/** The event that announced a preemption. */
function noticeBefore(events: readonly JournalEvent[], { subject }: JournalEvent): JournalEvent | undefined {
  const names = new Set([subject, placeOf(subject).id]);
  const asked = events.findLast(
    ({ kind, subject: verb, details }) => kind === 'admin' && verb === 'preempt' && names.has(String(details['name'])),
  );
  const isNotice = asked?.details['notice'] === true || Number(asked?.details['noticeMs'] ?? 0) > 0;
  return isNotice ? asked : undefined;
}

/** The attempt that lost the node; undefined: no attempt had run on it. */
export function attemptOn(uid: string, attempts: readonly AttemptNodes[]): number | undefined {
  return attempts.findLast(({ nodes }) => nodes.some((node) => node.uid === uid))?.attempt;
}

/** Start times of each attempt's command by its number, from the job's own log: `ISO running: attempt N on ..`. */
export function startsIn(jobLog: string): ReadonlyMap<number, EpochMs> {
  const starts = new Map<number, EpochMs>();
  for (const [, time = '', attempt = ''] of jobLog.matchAll(/^(\S+Z) running: attempt (\d+) /gm)) {
    // A replaced worker logs it again.
    if (!starts.has(Number(attempt))) starts.set(Number(attempt), Date.parse(time));
  }
  return starts;
}
