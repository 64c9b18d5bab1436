import type { Demand } from '../domain/lease.js';
import { type QuotaUnits, isWithin, unitsOf, count, type EpochMs } from '../domain/units.js';
import { resolveProject, type NamesMode } from './membership.js';
import type { LimitedQuota, QuotaConfig, PoolLimits } from './quota-config.js';
import { mayLieIn } from './decision/shapes.js';

/** A job that is submitted, as its pool sees it. */
export interface Submission {
  readonly user: string;
  /** The project as its job file names it. */
  readonly project?: string | undefined;
  /** Includes the zones that its pool gives if it names none. */
  readonly ask: Ask;
  readonly mode: NamesMode;
  /** Such as `2 x v4-8`, for the message. */
  readonly shown: string;
  /** Key of the job file that the demand comes from, such as `tpu.accelerator`. */
  readonly key: string;
}

type SubmissionVerdict =
  | { readonly ok: true; /** The name as the quota file writes it. */ readonly project: string }
  | { readonly ok: false; readonly message: string };

/**
 * Decides whether the pool takes the job to wait: its project, and a demand that can ever start (rule 9). A later problem, such
 * as a smaller pool or another membership, is not a refusal: `why` tells it.
 */
export function judgeSubmission(
  config: QuotaConfig,
  { user, project, mode, ask, shown, key }: Submission,
): SubmissionVerdict {
  const choice = resolveProject(config, { user, project, mode });
  const hint = !choice.ok && choice.hint !== undefined ? `\n${choice.hint.replaceAll(/^/gm, '  ')}` : '';
  if (!choice.ok) return { ok: false, message: `${choice.message}${hint}` };
  const fit = canEverFit(config, ask);
  if (!fit.fits) return { ok: false, message: `${key}: ${shown} ${fit.message}` };
  return choice;
}

/** A job's demand before it waits. */
export interface Ask extends Pick<Demand, 'units' | 'pricing' | 'zones'> {
  /** Number of slices, all of equal size. Absent: 1. */
  readonly slices?: number;
}

type Fit = { readonly fits: true } | { readonly fits: false; readonly message: string };

/**
 * Returns whether the gang could start if the pool were empty: whole units of types that the pool has, within a tier whose
 * pricing it may use, and each slice within the largest of one of its zones. If not, says why in one sentence. Called at submit.
 */
export function canEverFit(config: QuotaConfig, asked: Ask | QuotaUnits): Fit {
  const ask: Ask = isAsk(asked) ? asked : { units: asked };
  const sentence = unsound(ask.units) ?? (config.kind === 'unlimited' ? undefined : tooLarge(config, ask));
  return sentence === undefined ? { fits: true } : { fits: false, message: `can never start: ${sentence}` };
}

const isAsk = (asked: Ask | QuotaUnits): asked is Ask => typeof asked.units === 'object';

function unsound(units: QuotaUnits): string | undefined {
  const named = Object.entries(units);
  if (named.length === 0) return 'no units asked';
  const wrong = named.filter(([, asked]) => !Number.isSafeInteger(asked) || asked <= 0);
  if (wrong.length === 0) return undefined;
  return `${wrong.map(([type, asked]) => `${asked} ${type}`).join(', ')} asked, a demand is a whole number of 1 or more`;
}

function tooLarge(config: LimitedQuota, ask: Ask): string | undefined {
  const tiers = config.tiers.filter((_, tier) => mayLieIn(config, ask, tier));
  if (tiers.length === 0) return `no tier of the pool is bought as ${ask.pricing}`;
  if (!tiers.some((tier) => isWithin(ask.units, tier))) return overTier(config, tiers, ask.units);
  return overZones(config, ask);
}

function overTier(config: LimitedQuota, tiers: readonly QuotaUnits[], units: QuotaUnits): string {
  const sentences = Object.entries(units).flatMap(([type, asked]) => {
    if (!config.tiers.some((tier) => unitsOf(tier, type) > 0)) {
      return [`the pool has no ${type} (it has ${poolTypes(config).join(', ') || 'nothing'})`];
    }
    const largest = Math.max(0, ...tiers.map((tier) => unitsOf(tier, type)));
    if (asked <= largest) return [];
    return [`${asked} ${type} asked, ${whereOf(config, tiers)} has ${largest}`];
  });
  return sentences.join('; ') || 'no tier of the pool has all of the types asked for';
}

function whereOf(config: LimitedQuota, tiers: readonly QuotaUnits[]): string {
  if (tiers.length < config.tiers.length) return 'the largest tier of its pricing';
  return tiers.length === 1 ? 'the pool' : 'its largest tier';
}

/** Says that the slices exceed the largest one of each zone. A zone without bounds in the pool file holds slices of any size. */
function overZones(config: LimitedQuota, { units, slices = 1, zones = [] }: Ask): string | undefined {
  const largestOf = (zone: string, type: string): number => {
    const ofZone = config.rules?.largestSlice[zone];
    return ofZone !== undefined && Object.hasOwn(ofZone, type) ? unitsOf(ofZone, type) : Number.POSITIVE_INFINITY;
  };
  const perSlice = Object.entries(units).map(([type, asked]) => ({ type, asked: asked / slices }));
  const isHeld = (zone: string): boolean => perSlice.every(({ type, asked }) => asked <= largestOf(zone, type));
  if (zones.length === 0 || zones.some(isHeld)) return undefined;
  const sentences = perSlice.flatMap(({ type, asked }) => {
    const largest = Math.max(...zones.map((zone) => largestOf(zone, type)));
    return asked <= largest
      ? []
      : [`a slice of ${asked} ${type} asked, the largest of ${zones.join(', ')} is ${largest}`];
  });
  return sentences.join('; ') || `no zone of ${zones.join(', ')} holds a slice of all types asked for`;
}

function poolTypes(config: LimitedQuota): string[] {
  return [...new Set(config.tiers.flatMap((tier) => Object.keys(tier)))].sort();
}

/** One job. A later job with the same id has another first run. */
interface UserJob {
  readonly id: string;
  readonly run: string;
}

/** The jobs of one user that a pool has taken. Plain JSON. */
export interface UserJobs {
  readonly v: 1;
  readonly user: string;
  /** Jobs that were open at the last look, oldest first. */
  readonly open: readonly UserJob[];
  /** Times within the last minute at which jobs were accepted. */
  readonly recent: readonly EpochMs[];
}

export const noJobs = (user: string): UserJobs => ({ v: 1, user, open: [], recent: [] });

type Entry =
  | { readonly kind: 'entered'; readonly jobs: UserJobs }
  /** The job was taken before. */
  | { readonly kind: 'known' }
  | { readonly kind: 'too-many'; readonly most: number }
  | {
      readonly kind: 'too-fast';
      readonly most: number;
      /** Time at which the next job is taken. */
      readonly at: EpochMs;
    };

type Limits = Pick<PoolLimits, 'openJobsPerUser' | 'submitsPerMinute'>;

/** Adds one more job of a user. If a limit forbids it, nothing changes. Pure. */
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
