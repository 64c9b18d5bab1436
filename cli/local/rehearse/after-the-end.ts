import type { StoreReader } from '../../../cloud/store/port.js';
import type { Outcome } from '../../../domain/job-state.js';
import { attemptObject } from '../../../domain/store-layout.js';
import { JobLogReader, storedJobLog } from '../../../client/job-logs.js';
import type { CliContext } from '../../place/context.js';
import { type RehearsalAdmin, placeOf } from '../rehearsal/rehearsal-admin.js';
import type { AuditReport } from '../../doctor/audit/leaks.js';
import { audit } from '../../doctor/audit/audit-leaks.js';
import { pause } from '../../../client/errors.js';
import { verdictOf, type Certificate, type CertifiedPreemption } from './certificate.js';
import { lostPercent, measureWork, type MeasuredWork } from './lost-work.js';
import type { AttemptOutput, ProgressMeasure } from '../../../domain/progress-marks.js';
import type { EpochMs } from '../../../domain/units.js';
import type { JournalEvent } from '../../../rehearsal/journal.js';

interface EndedJob {
  readonly job: string;
  readonly outcome: Outcome;
  readonly store: StoreReader;
  readonly admin: RehearsalAdmin;
  readonly measures: readonly ProgressMeasure[];
  readonly timeScale: number;
}

type Findings = Pick<Certificate, 'attempts' | 'preemptions' | 'measure' | 'verdict'>;

interface StoredAttempt extends AttemptNodes {
  readonly end?: string;
}

/** Evaluates an ended job from the records in the store and the cloud's journal. */
export async function findingsOf({ job, outcome, store, admin, measures, timeScale }: EndedJob): Promise<Findings> {
  const numbers = Array.from({ length: outcome.attempts }, (_, index) => index + 1);
  const [attempts, outputs, jobLog, events] = await Promise.all([
    Promise.all(numbers.map((attempt) => storedAttempt(store, job, attempt))),
    Promise.all(numbers.map((attempt) => outputOf(store, job, attempt))),
    storedJobLog(store, job),
    admin.journal(0),
  ]);
  const work = measureWork(outputs, measures);
  const starts = startsIn(jobLog.toString('utf8'));
  // A slice taken after the end cost the job nothing; neither did a slice under notice that the job gave up for another reason.
  const wasLost = ({ nodeId, isLetGo }: Preemption): boolean =>
    isLetGo === undefined || attempts[(attemptOn(nodeId, attempts) ?? 0) - 1]?.end === 'slices-lost';
  const taken = preemptionsIn(events, timeScale).filter((each) => each.at <= outcome.endedAt && wasLost(each));
  const preemptions = taken.map((each) => certified(each, { attempts, work, starts, outcome }));
  return {
    attempts: attempts.map(({ attempt, end = 'open' }) => ({ attempt, end })),
    preemptions,
    measure: work.measure,
    verdict: verdictOf(preemptions),
  };
}

interface Course {
  readonly attempts: readonly AttemptNodes[];
  readonly work: MeasuredWork;
  readonly starts: ReadonlyMap<number, number>;
  readonly outcome: Outcome;
}

function certified(taken: Preemption, { attempts, work, starts, outcome }: Course): CertifiedPreemption {
  const { at, node, nodeId, mode, noticeMs = null } = taken;
  const attempt = attemptOn(nodeId, attempts);
  const lost = attempt === undefined ? ({ kind: 'none-made' } as const) : work.lostBy(attempt - 1);
  const again = [...starts].find(([number, time]) => number > (attempt ?? 0) && time >= at)?.[1];
  return {
    ...{ node, mode, noticeMs, lost, afterMs: at - outcome.submittedAt, attempt: attempt ?? null },
    lostPercent: lostPercent(lost) ?? null,
    recoveredMs: again === undefined ? null : again - at,
  };
}

async function storedAttempt(store: StoreReader, job: string, attempt: number): Promise<StoredAttempt> {
  const content = await store.read(attemptObject(job, attempt));
  return content === undefined ? { attempt, nodes: [] } : (JSON.parse(content.toString('utf8')) as StoredAttempt);
}

async function outputOf(store: StoreReader, job: string, attempt: number): Promise<AttemptOutput> {
  const chunks = new Map<number, Buffer[]>();
  for await (const { host, bytes } of new JobLogReader(store, job, { attempt, stream: 'command' }).unread())
    chunks.set(host, [...(chunks.get(host) ?? []), bytes]);
  return new Map([...chunks].map(([host, parts]) => [host, Buffer.concat(parts).toString('utf8')]));
}

/** Time limit for the clean-up: slices are deleted after their job has ended. */
const CLEAN_UP_MS = 60_000;
const LOOK_MS = 500;

/** Leaks in the independent listing, which is repeated until it finds none or the clean-up's time is over. */
export async function leaksLeft(
  context: CliContext,
  signal: AbortSignal,
): Promise<Pick<AuditReport, 'leaks' | 'leases'>> {
  for (const deadline = Date.now() + CLEAN_UP_MS; ; await pause(LOOK_MS, signal)) {
    const { leaks, leases, unread = [] } = (await audit(context, { grace: 0 })).report;
    const isOver = Date.now() > deadline || signal.aborted;
    const texts = unread.map(({ part, answer }) => `${part}: ${answer}`);
    if (texts.length > 0 && isOver) throw new Error(`nobody knows what is left: ${texts.join('; ')}`);
    if (leaks.length + leases.length + texts.length === 0 || isOver) return { leaks, leases };
  }
}

/** A slice that the provider took, according to the cloud's own journal, whether this command or a fault script caused it. */
interface Preemption {
  /** Time on this computer's clock. */
  readonly at: EpochMs;
  readonly node: string;
  readonly nodeId: string;
  readonly mode: 'preempted' | 'vanish';
  /** Wall time between the notice and the preemption, actual or planned; absent: no notice. */
  readonly noticeMs?: number;
  /** True if the job released the node while its VMs shut down, so that the node never became PREEMPTED. */
  readonly isLetGo?: true;
}

/** The nodes of an attempt. */
interface AttemptNodes {
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
