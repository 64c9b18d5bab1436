import type { JobActivities } from '../contract/job-activities.js';
import { doneTwice, type PrintedBy } from '../domain/done-twice.js';
import { logPrefix } from '../domain/store-layout.js';
import { translated } from './failures.js';

/** Reads at most `most` bytes from either end of one host's stored output. @param prefix prefix of the stream (`logPrefix`) */
export type LogSides = (prefix: string, host: number, most: number) => Promise<Buffer>;

/** Bytes that are read from either side of an attempt's log: a counter is printed soon after a start, and until the end. */
const SIDE_BYTES = 262_144;
const MOST_ATTEMPTS = 20;
/** Most programs count on the first host alone. */
const HOST = 0;

export const doneTwiceActivity = ({
  logSides,
}: {
  readonly logSides?: LogSides;
}): Pick<JobActivities, 'findDoneTwice'> => ({
  findDoneTwice: ({ job, attempts }) =>
    translated(async () => {
      if (logSides === undefined) return undefined;
      const printed: PrintedBy[] = [];
      for (const attempt of lookedAt(attempts)) {
        const bytes = await logSides(logPrefix(job.id, attempt, 'command'), HOST, SIDE_BYTES);
        printed.push({ attempt, text: bytes.toString('utf8') });
      }
      return doneTwice(printed);
    }),
});

/** The first attempt, which knows where the job began, and the last ones. */
function lookedAt(attempts: number): readonly number[] {
  const all = Array.from({ length: attempts }, (_, index) => index + 1);
  return attempts <= MOST_ATTEMPTS ? all : [1, ...all.slice(1 - MOST_ATTEMPTS)];
}
