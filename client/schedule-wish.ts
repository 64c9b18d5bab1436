import type { JobAuthorization } from '../contract/authorization.js';
import type { JobInput } from '../contract/job.js';
import type { JobSpec } from '../domain/job-spec.js';
import { MAX_JOB_ID } from '../domain/identity.js';
import { isMapping } from '../domain/job-file/plain-tree.js';
import { askedMachines, kindOfJob, machineKind } from '../domain/machines.js';
import { nearestWord } from '../domain/nearest-word.js';
import { formatProblems, type Problem, showValue } from '../domain/problem.js';
import { type Cron, isProblem, readCron, temporalCrons } from '../domain/schedule/cron.js';
import {
  catchUpMinutes,
  DEFAULT_OVERLAP,
  DEFAULT_ZONE,
  firingJobId,
  isScheduleName,
  type Overlap,
  OVERLAP_WORDS,
  SCHEDULE_NAME_RULE,
} from '../domain/schedule/schedule.js';
import { cronsOfGaps, isTimeZone, nameOfZone } from '../domain/schedule/wall-clock.js';
import { JobInvalid } from './errors.js';
import { resolved, type Submission } from './submissions.js';

/** A schedule to create: the job or array of a submission, and its times. */
export interface ScheduleWish extends Omit<Submission, 'authorize'> {
  readonly name: string;
  /** Five fields, as in a crontab. */
  readonly cron: string;
  /** A name of the time zone database. Absent: UTC. */
  readonly timeZone?: string;
  /** The policy for a firing whose predecessor's job has not ended. Absent: `skip`. */
  readonly overlap?: Overlap;
  /** Signs the input for all firings, in a server (docs/adr/0159). @param id `schedule/<name>` */
  readonly authorize?: (id: string, input: JobInput) => JobAuthorization;
}

/** The times of a schedule, as Temporal takes them. */
export interface Times {
  readonly cron: string;
  readonly zone: string;
  readonly overlap: Overlap;
  readonly crons: readonly string[];
  readonly catchUpMs: number;
  readonly isOfWallClock: boolean;
}

/** Problems of a schedule, apart from its job. */
export function timesProblems({
  name,
  cron,
  timeZone = DEFAULT_ZONE,
  overlap = DEFAULT_OVERLAP,
}: TimesWish): readonly Problem[] {
  return problemsOf({ name, timeZone, overlap }, readCron(cron));
}

function problemsOf(
  { name, timeZone, overlap }: Required<Omit<TimesWish, 'cron'>>,
  read: Cron | Problem,
): readonly Problem[] {
  return [
    ...(isScheduleName(name)
      ? []
      : [{ path: ['name'], value: name, message: `${showValue(name)} is no name`, hint: SCHEDULE_NAME_RULE }]),
    ...(isProblem(read) ? [read] : []),
    ...(isTimeZone(timeZone) ? [] : [zoneProblem(timeZone)]),
    ...(OVERLAP_WORDS.includes(overlap) ? [] : [overlapProblem(overlap)]),
  ];
}

/** @throws JobInvalid with every problem */
export function checkedTimes(wish: TimesWish): Times {
  const { name, cron, timeZone = DEFAULT_ZONE, overlap = DEFAULT_OVERLAP } = wish;
  const read = readCron(cron);
  const problems = problemsOf({ name, timeZone, overlap }, read);
  if (problems.length > 0 || isProblem(read)) throw new JobInvalid(formatProblems(problems));
  const zone = nameOfZone(timeZone);
  return {
    ...{ cron: cron.trim(), zone, overlap, isOfWallClock: read.isOfWallClock },
    crons: [...temporalCrons(read), ...cronsOfGaps(read, zone, Date.now())],
    catchUpMs: catchUpMinutes(read.leastGapMinutes) * 60_000,
  };
}

type TimesWish = Pick<ScheduleWish, 'name' | 'cron' | 'timeZone' | 'overlap'>;

function zoneProblem(zone: string): Problem {
  const nearest = nearestWord(zone, Intl.supportedValuesOf('timeZone'));
  const meant = nearest === undefined ? '' : `did you mean ${nearest}? `;
  return {
    ...{ path: ['timeZone'], value: zone, message: `${showValue(zone)} is no time zone` },
    hint: `${meant}a name of the time zone database is wanted, such as America/New_York or UTC`,
  };
}

const overlapProblem = (overlap: string): Problem => ({
  ...{ path: ['overlap'], value: overlap, message: `${showValue(overlap)} is no overlap policy` },
  hint: `known: ${OVERLAP_WORDS.join(', ')}`,
});

/** The job or array that a schedule can start each time. @throws JobInvalid with every problem */
export async function repeatable(wish: ScheduleWish): Promise<Pick<Submission, 'array'> & { readonly spec: JobSpec }> {
  const { spec, array } = await resolved(wish);
  if (spec.after !== undefined || array?.after !== undefined) {
    // `inputs` wait for their jobs unless they say otherwise.
    const isByInputs = isMapping(wish.job) && (wish.job['after'] ?? undefined) === undefined;
    const message = 'names jobs that end once, and a schedule starts a job again and again';
    const problem = { path: [isByInputs ? 'inputs' : 'after'], value: undefined, message };
    throw new JobInvalid(formatProblems([{ ...problem, hint: isByInputs ? INPUTS_HINT : AFTER_HINT }]));
  }
  if (askedMachines(spec).adopts !== undefined) {
    const path = [machineKind(kindOfJob(spec)).section.name, 'adopt'];
    const message = 'needs the word of the owner of the node for each job, and a schedule starts jobs by itself';
    throw new JobInvalid(formatProblems([{ path, value: undefined, message, hint: 'leave it out' }]));
  }
  if (array === undefined) return { spec };
  const { groupIdProblem } = await import('../domain/array/group-state.js');
  const problem = groupIdProblem(firingJobId({ schedule: wish.name, at: LONGEST_FIRING }), array.size, MAX_JOB_ID);
  if (problem !== undefined) throw new JobInvalid(`name: the group of each time has an id such as ${problem}`);
  return { spec, array };
}

/** A time whose id has seconds. */
const LONGEST_FIRING = 1_000;
const INPUTS_HINT = '`wait: false` in each takes the outputs of a job or group that has ended';
const AFTER_HINT =
  'leave it out: the job begins when its time has come, and the overlap policy says what becomes of the one before';
