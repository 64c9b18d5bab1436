import type { StoreReader } from '../../../cloud/store/port.js';
import type { Outcome } from '../../../domain/job-state.js';
import { attemptObject } from '../../../domain/store-layout.js';
import { JobLogReader, storedJobLog } from '../../job-logs.js';
import type { CliContext } from '../context.js';
import type { RehearsalAdmin } from '../rehearsal/rehearsal-admin.js';
import type { AuditReport } from '../render/audit.js';
import { audit } from '../verbs/audit-leaks.js';
import { pause } from '../../outage.js';
import { verdictOf } from './certificate.js';
import type { Certificate, CertifiedPreemption } from './certificate.js';
import { lostPercent, measureWork } from './lost-work.js';
import type { MeasuredWork } from './lost-work.js';
import { attemptOn, preemptionsIn, startsIn } from './preemptions.js';
import type { AttemptNodes, Preemption } from './preemptions.js';
import type { AttemptOutput, ProgressMeasure } from './progress-marks.js';

export interface EndedJob {
  readonly job: string;
  readonly outcome: Outcome;
  readonly store: StoreReader;
  readonly admin: RehearsalAdmin;
  readonly measures: readonly ProgressMeasure[];
  readonly timeScale: number;
}

export type Findings = Pick<Certificate, 'attempts' | 'preemptions' | 'measure' | 'verdict'>;

interface StoredAttempt extends AttemptNodes {
  readonly end?: string;
}

/** What happened to a job that has ended, by what the store and the cloud's journal have of it. */
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
  // What was taken when the job was over cost it nothing; nor did what it was told of and let go for a reason of its own.
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

/** Slices are deleted after their job has ended: so long it may take until nothing is left. */
const CLEAN_UP_MS = 60_000;
const LOOK_MS = 500;

/** What the independent listing finds, asked until it is nothing or the clean-up has had its time. */
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
