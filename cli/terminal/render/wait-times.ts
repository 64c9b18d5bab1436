import type { JobView } from '../../../contract/job.js';
import type { JobRow } from '../../../client/job-rows.js';
import type { EpochMs } from '../../../domain/units.js';
import { oneLine } from './columns.js';
import { clockTime, formatDuration } from './quantities.js';

/** `14:32, in 3h 05m`, or `now`. */
const moment = (at: EpochMs, now: EpochMs): string =>
  at > now ? `${clockTime(at, now)}, in ${formatDuration(at - now)}` : 'now';

/** Zones that refused the job, and when each is asked again. Refusals count as news only while the job waits for chips. */
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

/** Empty: there is no next zone. */
export function nextZoneSentence(view: JobView | undefined, now: EpochMs): string {
  const { zone, at } = view?.nextZone ?? {};
  if (zone === undefined || at === undefined) return '';
  return `If nothing comes before, ${zone} is asked ${at > now ? 'at ' : ''}${moment(at, now)}.`;
}

/** Empty: the job does not wait, or without a bound. */
export function untilSentence({ waitsUntil: at }: Pick<JobRow, 'waitsUntil'>, now: EpochMs): string {
  if (at === undefined) return '';
  if (at <= now) return 'Its timeouts.queue is over.';
  return `It waits until ${lastMinute(at, now)} at most, ${formatDuration(at - now)} from now (timeouts.queue).`;
}

/** The same in a few words, for lists. */
export const untilText = ({ waitsUntil: at }: Pick<JobRow, 'waitsUntil'>, now: EpochMs): string =>
  at === undefined ? '' : `until ${lastMinute(at, now)} at most`;

/** The minute by which it is over. */
const lastMinute = (at: EpochMs, now: EpochMs): string => clockTime(Math.ceil(at / 60_000) * 60_000, now);
