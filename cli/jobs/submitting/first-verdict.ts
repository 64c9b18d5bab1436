import { isAwaitedText } from '../../../domain/after.js';
import type { PlaceInLine } from '../../../quota/waiting-line.js';
import type { JobClient } from '../../../client/job-client.js';
import { isOver, type JobRow } from '../../../client/job-rows.js';
import { isPolled, type TaskQueuePolls } from '../../../client/temporal-calls.js';
import type { CliContext } from '../../place/context.js';
import { refusalOf } from '../job-reasons.js';
import { placesOf } from '../render-job-list.js';
import { isOutage, pause } from '../../../client/errors.js';
import { ordinal } from '../../../quota/explanation/explain-words.js';
import { oneLine } from '../../terminal/render/columns.js';
import { noWorkerRemedy, noWorkerText } from '../../terminal/render/job-phrases.js';
import { formatDuration } from '../../terminal/render/quantities.js';
import { asTyped } from '../../terminal/print.js';

/** The first answer about a job, seconds after its submission. Each member is JSON: `submit --output json` prints it. */
export type FirstVerdict =
  /** Its worker or its pool refuses it. It has ended and holds nothing; `message` gives the reason, possibly on several lines. */
  | { readonly kind: 'refused'; readonly message: string }
  /** Its pool has granted it. `why` describes its present state. */
  | { readonly kind: 'granted'; readonly phase: string; readonly why?: string }
  /** The job was accepted and waits. It has no place if the pool has not been published since. */
  | ({ readonly kind: 'queued'; readonly why: string } & Partial<Pick<PlaceInLine, 'position' | 'of'>>)
  /** The same job was submitted before, and its outcome is known. */
  | { readonly kind: 'ended'; readonly phase: string; readonly why?: string }
  | ({ readonly kind: 'no-worker' } & TaskQueuePolls)
  /** Neither a worker nor the pool has answered within `waitedMs`. */
  | { readonly kind: 'unknown'; readonly waitedMs: number; readonly why?: string };

export interface VerdictQuestion {
  readonly client: Pick<JobClient, 'row' | 'polls' | 'wait'>;
  readonly context: CliContext;
  readonly id: string;
  /** Aborting it ends the wait, not the job. */
  readonly signal: AbortSignal;
}

const LOOK_MS = 150;
/** Time before the polls are looked up: an idle worker takes a job in a fraction of it. */
const BEFORE_POLLS_MS = 1_000;
/** Longest wait for a worker to take the job. */
const ACCEPT_MS = 5_000;
/** Longest wait for the job's place in line after it was accepted: a busy pool is published every 2 s. */
const PLACE_MS = 3_000;

/** Looks at a job until its pool answers: about a second, 8 s at most (docs/adr/0056). Undefined: `signal` aborted first. */
export async function firstVerdict(question: VerdictQuestion): Promise<FirstVerdict | undefined> {
  const since = Date.now();
  let acceptedAt: number | undefined;
  let polls: TaskQueuePolls | undefined;
  let last: string | undefined;
  while (!question.signal.aborted) {
    const row = await rowOf(question);
    const now = Date.now();
    if (typeof row === 'string') return { kind: 'unknown', waitedMs: now - since, why: row };
    if (row.phase !== 'queued') return pastItsPool(question, row);
    // The workflow gives a reason in its first task.
    if (row.why !== undefined) acceptedAt ??= now;
    last = row.why;
    // Its pool hears of it when the others have ended.
    if (last !== undefined && isAwaitedText(last)) return { kind: 'queued', why: last };
    if (acceptedAt === undefined && polls === undefined && now - since >= BEFORE_POLLS_MS) {
      polls = await pollsOf(question);
      if (polls && !isPolled(polls, now)) return { kind: 'no-worker', ...polls };
    }
    const place = acceptedAt === undefined ? undefined : await placeOf(question, row);
    if (place) return { kind: 'queued', ...place };
    if (acceptedAt === undefined ? now - since >= ACCEPT_MS : now - acceptedAt >= PLACE_MS)
      return last === undefined ? { kind: 'unknown', waitedMs: now - since } : { kind: 'queued', why: last };
    await pause(LOOK_MS, question.signal);
  }
  return undefined;
}

/** The row, or the reason why it cannot be read: the job is already submitted, so an outage here must not fail the command. */
async function rowOf({ client, id }: VerdictQuestion): Promise<JobRow | string> {
  try {
    return await client.row(id);
  } catch (error) {
    if (!isOutage(error)) throw error;
    return (error as Error).message;
  }
}

async function pastItsPool({ client }: VerdictQuestion, row: JobRow): Promise<FirstVerdict> {
  const { phase } = row;
  const known = { phase, ...(row.why === undefined ? {} : { why: row.why }) };
  if (!isOver(row)) return { kind: 'granted', ...known };
  const message = await refusalOf(client, row);
  return message === undefined ? { kind: 'ended', ...known } : { kind: 'refused', message };
}

/** The polls, or undefined: a submitter may lack the right to ask about task queues. */
const pollsOf = ({ client }: VerdictQuestion): Promise<TaskQueuePolls | undefined> =>
  client.polls().catch(() => undefined);

async function placeOf({ context, id }: VerdictQuestion, row: JobRow): Promise<PlaceInLine | undefined> {
  return (await placesOf([row], context)).byJob.get(id);
}

/** Message during the wait for the verdict. */
export const VERDICT_IS_WAITED_FOR = 'waiting for the first answer of its pool ..';

/** Lines of `submit` about a submitted job: a line, then indented remedies. Empty for a refused job. */
export function verdictLines(id: string, verdict: FirstVerdict, now: number): readonly string[] {
  switch (verdict.kind) {
    case 'granted':
    case 'ended': {
      const { phase, why } = verdict;
      return [why === undefined ? phase : `${phase}: ${oneLine(why)}`];
    }
    case 'queued':
      return queuedLines(id, verdict);
    case 'no-worker':
      return [
        `queued: ${noWorkerText(verdict, now)}`,
        `  ${noWorkerRemedy('starts')}`,
        '  if your workers poll another queue, name it: --task-queue or JOBCTL_TASK_QUEUE',
      ];
    case 'unknown': {
      const { waitedMs, why } = verdict;
      return [
        `not known yet: no worker has answered for it within ${formatDuration(waitedMs)}${why === undefined ? '' : ` (${oneLine(why)})`}`,
        asTyped(`  the job is kept; \`jobctl status ${id}\` tells when one has`),
      ];
    }
    case 'refused':
      return [];
  }
}

function queuedLines(id: string, { why, position, of }: Extract<FirstVerdict, { kind: 'queued' }>): readonly string[] {
  if (isAwaitedText(why)) return [`queued: ${oneLine(why)}; its pool hears of it then`];
  if (position === undefined || of === undefined)
    return [`queued: ${oneLine(why)}`, asTyped(`  its place in line is not known yet; \`jobctl why ${id}\` tells it`)];
  return [
    `queued, ${ordinal(position)} of ${of} in line: ${oneLine(why)}`,
    asTyped(`  \`jobctl why ${id}\` tells every reason, and what would help`),
  ];
}

/** The error for a refused job: problem, reason and remedy. */
export function refusalLines(id: string, message: string): readonly [string, ...string[]] {
  const [first = '', ...more] = message.trimEnd().split('\n');
  return [
    `${id} was refused: ${first}`,
    // Continuation lines are indented already.
    ...more.map((line) => line.replace(/^ {2}/, '')),
    'nothing of it runs, and its name is free; submit again when that is mended',
  ];
}
