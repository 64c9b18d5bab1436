import type { StoreReader } from '../../../cloud/store/port.js';
import type { EpochMs } from '../../../domain/units.js';
import type { JobClient } from '../../../client/job-client.js';
import { JobLogReader } from '../../../client/job-logs.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { liveSlicesOf, placeOf, type RehearsalAdmin } from '../rehearsal/rehearsal-admin.js';
import { isOutage, pause } from '../../../client/errors.js';
import type { PlannedPreemption } from './preemption-plan.js';
import { readProgress, type ProgressMeasure } from '../../../domain/progress-marks.js';

export interface PreempterParts {
  readonly client: Pick<JobClient, 'row'>;
  readonly store: StoreReader;
  readonly admin: RehearsalAdmin;
  /** Job id. */
  readonly job: string;
  readonly measures: readonly ProgressMeasure[];
  /** Latest time of a preemption, counted from the attempt's first step, or from its start if it prints no step. Milliseconds. */
  readonly patienceMs: number;
  /** Speed of the cloud's clock relative to this computer's. */
  readonly timeScale: number;
  readonly signal: AbortSignal;
  readonly tell: (line: string) => void;
}

const LOOK_MS = 300;
/** Least number of marks before a preemption: fewer are no progress that a job could lose. */
const LEAST_MARKS = 3;

/** Preempts one attempt after another as planned, until the plan or the job ends. */
export async function preemptAsPlanned(parts: PreempterParts, plan: readonly PlannedPreemption[]): Promise<void> {
  let last = 0;
  for (const planned of plan) {
    const attempt = await dueAttempt(parts, last, planned);
    if (attempt === undefined) return;
    await preempt(parts, planned);
    last = attempt;
  }
}

/** The first attempt after `last` that is due; undefined: the job has ended, or `signal` aborted. */
async function dueAttempt(
  parts: PreempterParts,
  last: number,
  planned: PlannedPreemption,
): Promise<number | undefined> {
  const { client, job, signal } = parts;
  let watch: AttemptWatch | undefined;
  for (; !signal.aborted; await pause(LOOK_MS, signal)) {
    const row = await client.row(job).catch(passedOver);
    if (row?.endedAt !== undefined) return undefined;
    if (row === undefined || row.phase !== 'running' || row.attempts <= last) continue;
    if (watch?.attempt !== row.attempts) watch = new AttemptWatch(parts, row.attempts, row.phaseSince);
    await watch.read().catch(passedOver);
    if (watch.isDue(planned)) return row.attempts;
  }
  return undefined;
}

function passedOver(error: unknown): undefined {
  if (!isOutage(error)) throw error;
  return undefined;
}

/** Progress of a running attempt, from its stored output. */
class AttemptWatch {
  readonly attempt: number;
  readonly #parts: PreempterParts;
  readonly #reader: JobLogReader;
  readonly #startedAt: EpochMs;
  readonly #text = new Map<number, string>();
  #marks = 0;
  #firstMarkAt: EpochMs | undefined;

  constructor(parts: PreempterParts, attempt: number, startedAt: EpochMs) {
    this.#parts = parts;
    this.attempt = attempt;
    this.#startedAt = startedAt;
    this.#reader = new JobLogReader(parts.store, parts.job, { attempt, stream: 'command' });
  }

  async read(): Promise<void> {
    let isNew = false;
    for await (const { host, bytes } of this.#reader.unread()) {
      this.#text.set(host, (this.#text.get(host) ?? '') + bytes.toString('utf8'));
      isNew = true;
    }
    if (!isNew) return;
    const progress = readProgress([this.#text], this.#parts.measures);
    this.#marks = 'marks' in progress ? (progress.marks[0]?.length ?? 0) : 0;
    if (this.#marks > 0) this.#firstMarkAt ??= Date.now();
  }

  isDue({ afterMarks }: PlannedPreemption): boolean {
    const { patienceMs } = this.#parts;
    if (this.#marks >= afterMarks) return true;
    const since = this.#marks === 0 ? this.#startedAt : this.#firstMarkAt;
    const isOld = since !== undefined && Date.now() - since >= patienceMs;
    return isOld && (this.#marks === 0 || this.#marks >= LEAST_MARKS);
  }
}

async function preempt(
  { admin, job, timeScale, tell }: PreempterParts,
  { mode, noticeMs, slice }: PlannedPreemption,
): Promise<void> {
  const slices = liveSlicesOf(job, (await admin.status()).nodes).toSorted();
  const name = slices[Math.floor(slice * slices.length)];
  if (name === undefined) return;
  // The job's processes run in real time, so the notice is wall time.
  const how = noticeMs === undefined ? { mode } : { notice: true, noticeMs: noticeMs * timeScale };
  try {
    await admin.post('preempt', { name, ...how });
  } catch (error) {
    // The job ended meanwhile.
    if (error instanceof CliError && error.exitCode !== ExitCode.Usage && error.exitCode !== ExitCode.Unavailable)
      return;
    throw error;
  }
  const notice = noticeMs === undefined ? `without notice (${mode})` : `with ${noticeMs / 1000} s of notice`;
  tell(`preempting ${placeOf(name).id} ${notice}`);
}
