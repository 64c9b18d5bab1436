import type { EpochMs } from '../../../domain/units.js';
import type { TaskQueuePolls } from '../../../client/temporal-calls.js';
import { asTyped } from '../print.js';
import { formatDuration, clockTime } from './quantities.js';
import type { FailingTask } from '../../../client/job-executions.js';
import { oneLine } from './columns.js';
import type { JobView } from '../../../contract/job.js';
import type { JobRow } from '../../../client/job-rows.js';

/** `no worker polls task queue 'jobctl' of namespace 'default'; it was polled last 4m ago`. */
export function noWorkerText({ taskQueue, namespace, lastAt }: TaskQueuePolls, now: EpochMs): string {
  const last = lastAt === undefined ? '' : `; it was polled last ${formatDuration(now - lastAt)} ago`;
  return `no worker polls task queue '${taskQueue}' of namespace '${namespace}'${last}`;
}

export const noWorkerRemedy = (then: 'starts' | 'goes on' = 'goes on'): string =>
  asTyped(
    `the job is kept and ${then} when a worker comes up: \`jobctl worker\` (docs/worker.md), or \`jobctl dev up\` for a local stack`,
  );

/** `stands still, attempt 4 of its workflow task after 5m 02s: ERROR`. */
export function failingText({ attempt, since, error }: FailingTask, now: EpochMs): string {
  const after = since === undefined ? '' : ` after ${formatDuration(Math.max(0, now - since))}`;
  return `stands still, attempt ${attempt} of its workflow task${after}${error === undefined ? '' : `: ${oneLine(error)}`}`;
}

/** The meaning of a failing task, and the remedy. */
export const FAILING_REMEDY =
  'What runs on its slices runs on, unwatched, and nothing that it holds is given to others. It hears nothing, `cancel` included, until its workflow task succeeds. ' +
  'Tell who runs the worker: docs/operations.md, "A workflow that stands still".';

/** A time with its distance: `14:32, in 3h 05m`, or `now`. */
const moment = (at: EpochMs, now: EpochMs): string =>
  at > now ? `${clockTime(at, now)}, in ${formatDuration(at - now)}` : 'now';

/** Sentences about zones that refused the job, and the next request to each. None if the job does not wait for chips. */
export function answerTexts(view: JobView | undefined, now: EpochMs): readonly string[] {
  if (view?.phase !== 'provisioning') return [];
  return (view.answers ?? []).map((answer) => {
    const { zone, at, scope, message } = answer;
    return `${zone} refused ${formatDuration(now - at)} ago (${scope})${againText(answer, now)}: ${oneLine(message)}`;
  });
}

function againText({ againAt, againAfter, isAsked }: NonNullable<JobView['answers']>[number], now: EpochMs): string {
  if (isAsked) return ', and is asked again';
  if (againAt !== undefined) return `, and is asked again ${againAt > now ? 'at ' : ''}${moment(againAt, now)}`;
  return againAfter === undefined ? '' : `, and has its next turn after ${againAfter}`;
}

/** The zone that is asked next, in a sentence. Empty: there is none. */
export function nextZoneSentence(view: JobView | undefined, now: EpochMs): string {
  const { zone, at } = view?.nextZone ?? {};
  if (zone === undefined || at === undefined) return '';
  return `If nothing comes before, ${zone} is asked ${at > now ? 'at ' : ''}${moment(at, now)}.`;
}

/** The time at which the wait ends, in a sentence. Empty: the job does not wait, or has no limit. */
export function untilSentence({ waitsUntil: at }: Pick<JobRow, 'waitsUntil'>, now: EpochMs): string {
  if (at === undefined) return '';
  if (at <= now) return 'Its timeouts.queue is over.';
  return `It waits until ${lastMinute(at, now)} at most, ${formatDuration(at - now)} from now (timeouts.queue).`;
}

/** Like `untilSentence`, in a few words for lists. */
export const untilText = ({ waitsUntil: at }: Pick<JobRow, 'waitsUntil'>, now: EpochMs): string =>
  at === undefined ? '' : `until ${lastMinute(at, now)} at most`;

/** The first full minute at which the time is over. */
const lastMinute = (at: EpochMs, now: EpochMs): string => clockTime(Math.ceil(at / 60_000) * 60_000, now);

/** Suffix of a user name that only the user has stated (docs/login.md). */
const UNVERIFIED = '(unverified)';

interface NamedUser {
  readonly user: string;
  /** Absent: unknown, so not verified. */
  readonly isVerified?: boolean;
}

/** `alice@example.org`, or `alice (unverified)`. */
export const shownUser = ({ user, isVerified }: NamedUser): string =>
  isVerified === true ? user : `${user} ${UNVERIFIED}`;

/** A column of user names that marks unverified ones. If none is verified, only the title says so. */
export function userColumn<Row extends NamedUser>(
  rows: readonly Row[],
): { readonly title: string; readonly cell: (row: Row) => string } {
  const isAnyVerified = rows.some(({ isVerified }) => isVerified === true);
  return isAnyVerified ? { title: 'USER', cell: shownUser } : { title: `USER ${UNVERIFIED}`, cell: ({ user }) => user };
}
