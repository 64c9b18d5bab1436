import type { StorePort } from '../cloud/store/port.js';
import type { AttemptRecord, JobActivities, RepeatedWorkFound } from '../contract/job-activities.js';
import { type PrintedBy, repeatedWork, type LostShare } from '../domain/done-twice.js';
import { rowsFor } from '../domain/recovery/decide.js';
import { attemptObject, logPrefix } from '../domain/store-layout.js';
import { translated } from './failures.js';

/** Reads at most `most` bytes from either end of one host's stored output. @param prefix prefix of the stream (`logPrefix`) */
export type LogSides = (prefix: string, host: number, most: number) => Promise<Buffer>;

/** Bytes that are read from either side of an attempt's log: a counter is printed soon after a start, and until the end. */
const SIDE_BYTES = 262_144;
/** Limit of attempts that are compared, the last ones: a job may be preempted hundreds of times. */
const MOST_ATTEMPTS = 40;
/** Most programs count on the first host alone. */
const HOST = 0;

/**
 * Whether the next attempt began because this one was lost, taken by quota, at the end of its run duration, or failed. If not,
 * the command asked for another start (`command.restart_on`) or loops, a person began it anew, or the record is missing.
 */
export function wasLost({ end, ended }: Pick<AttemptRecord, 'end' | 'ended'>): boolean {
  if (end === 'revoked' || end === 'run-duration-over') return true;
  const decision = ended && rowsFor('attempt ended', ended)[0]?.decision;
  return decision?.do === 'retry' && decision.budget !== 'requested';
}

export const doneTwiceActivity = ({
  logSides,
  store,
}: {
  readonly logSides?: LogSides;
  readonly store: Pick<StorePort, 'read'>;
}): Pick<JobActivities, 'findDoneTwice'> => ({
  findDoneTwice: ({ job, attempts }) =>
    translated(async () => {
      if (logSides === undefined) return {};
      const records = new Map<number, AttemptRecord | undefined>();
      const recordOf = async (attempt: number): Promise<AttemptRecord | undefined> => {
        if (!records.has(attempt)) {
          const stored = await store.read(attemptObject(job.id, attempt));
          records.set(attempt, stored && (JSON.parse(stored.toString('utf8')) as AttemptRecord));
        }
        return records.get(attempt);
      };
      const wasLostAt = async (attempt: number): Promise<boolean> => {
        const record = await recordOf(attempt);
        return record !== undefined && wasLost(record);
      };
      const printed: PrintedBy[] = [];
      for (let attempt = Math.max(1, attempts - MOST_ATTEMPTS + 1); attempt <= attempts; attempt++) {
        const bytes = await logSides(logPrefix(job.id, attempt, 'command'), HOST, SIDE_BYTES);
        const isAfterLoss = printed.length > 0 && (await wasLostAt(attempt - 1));
        printed.push({ attempt, text: bytes.toString('utf8'), isAfterLoss });
      }
      const { doneTwice, lost } = repeatedWork(printed);
      return {
        ...(doneTwice && { doneTwice }),
        ...(lost && { lost: await lostTime(lost, recordOf) }),
      };
    }),
});

/** The chip-time of lost work: of each attempt's command, the share of its work that was lost. */
async function lostTime(
  shares: readonly LostShare[],
  recordOf: (attempt: number) => Promise<AttemptRecord | undefined>,
): Promise<NonNullable<RepeatedWorkFound['lost']>> {
  let [chipMs, marks] = [0, 0];
  for (const { attempt, share, marks: own } of shares) {
    chipMs += Math.floor(((await recordOf(attempt))?.ranChipMs ?? 0) * share);
    marks += own;
  }
  return { chipMs, marks };
}
