import { count, type EpochMs } from '../domain/units.js';
import type { PoolLimits } from './pool-limits.js';

/** One job. A later job with the same id has another first run. */
export interface UserJob {
  readonly id: string;
  readonly run: string;
}

/** The jobs of one user that a pool has taken. Plain JSON. */
export interface UserJobs {
  readonly v: 1;
  readonly user: string;
  /** Jobs that were open at the last look, oldest first. */
  readonly open: readonly UserJob[];
  /** Times at which jobs were taken, within the last minute. */
  readonly recent: readonly EpochMs[];
}

export const noJobs = (user: string): UserJobs => ({ v: 1, user, open: [], recent: [] });

export type Entry =
  | { readonly kind: 'entered'; readonly jobs: UserJobs }
  /** The job was taken before. */
  | { readonly kind: 'known' }
  | { readonly kind: 'too-many'; readonly most: number }
  | {
      readonly kind: 'too-fast';
      readonly most: number;
      /** Time at which the next job is taken. */ readonly at: EpochMs;
    };

type Limits = Pick<PoolLimits, 'openJobsPerUser' | 'submitsPerMinute'>;

/** Takes one more job of a user, unless a limit forbids it. Then nothing changes. Pure. */
export function enter(jobs: UserJobs, job: UserJob, limits: Limits, now: EpochMs): Entry {
  if (jobs.open.some((other) => isSame(other, job))) return { kind: 'known' };
  const { openJobsPerUser: mostOpen = Infinity, submitsPerMinute: mostRecent = Infinity } = limits;
  // A clock that was ahead must not hold a user back for longer than a minute.
  const recent = jobs.recent.filter((at) => Math.abs(now - at) < MINUTE_MS);
  const [first = now] = recent.slice(-mostRecent);
  if (recent.length >= mostRecent) return { kind: 'too-fast', most: mostRecent, at: first + MINUTE_MS };
  if (jobs.open.length >= mostOpen) return { kind: 'too-many', most: mostOpen };
  return { kind: 'entered', jobs: { ...jobs, open: [...jobs.open, job], recent: [...recent, now] } };
}

/** Removes jobs that were found to have ended. */
export function without(jobs: UserJobs, ended: readonly UserJob[]): UserJobs {
  return { ...jobs, open: jobs.open.filter((job) => !ended.some((other) => isSame(other, job))) };
}

const isSame = (a: UserJob, b: UserJob): boolean => a.id === b.id && a.run === b.run;

const MINUTE_MS = 60_000;
/** Most ids that a refusal names. */
const MOST_NAMED = 5;

/** Says why the job was not taken: the value, what is allowed, and what to do. */
export function refusalOf(
  entry: Extract<Entry, { kind: 'too-many' | 'too-fast' }>,
  pool: string,
  jobs: UserJobs,
): string {
  const head = `pool ${pool}: user '${jobs.user}'`;
  const ask = (key: string): string => `, or ask for another [limits] ${key} in the pool file`;
  if (entry.kind === 'too-fast') {
    const when = new Date(entry.at).toISOString().slice(11, 19);
    return (
      `${head} has submitted ${count(jobs.recent.length, 'job')} in the last minute, and the pool takes ${entry.most} at most\n` +
      `  submit it again after ${when} UTC${ask('submits_per_minute')}`
    );
  }
  const named = jobs.open.slice(0, MOST_NAMED).map(({ id }) => id);
  const more = jobs.open.length - named.length;
  return (
    `${head} has ${count(jobs.open.length, 'open job')} (${named.join(', ')}${more > 0 ? `, and ${more} more` : ''}), ` +
    `and the pool takes ${entry.most} at most\n` +
    `  wait until one has ended, or cancel one${ask('open_jobs_per_user')}`
  );
}
