import type { JobAuthorization } from '../contract/authorization.js';
import type { JobInput } from '../contract/job.js';
import type { JobSpec } from '../domain/job-spec.js';
import { askedMachines, kindOfJob, machineKind } from '../domain/machines.js';
import { nearestWord } from '../domain/nearest-word.js';
import { formatProblems, type Problem, showValue } from '../domain/problem.js';
import { type Cron, isProblem, readCron, temporalCrons } from '../domain/schedule/cron.js';
import {
  catchUpMinutes,
  DEFAULT_OVERLAP,
  DEFAULT_ZONE,
  isScheduleName,
  type Overlap,
  OVERLAP_WORDS,
  SCHEDULE_NAME_RULE,
} from '../domain/schedule/schedule.js';
import { cronsOfGaps, isTimeZone, nameOfZone } from '../domain/schedule/wall-clock.js';
import { JobInvalid } from './errors.js';
import { resolved, type Submission } from './submissions.js';

/** A schedule to create: the job of a submission, and its times. */
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

/** The spec of a job that a schedule can start. @throws JobInvalid with every problem */
export async function oneJob(wish: ScheduleWish): Promise<JobSpec> {
  const { spec, array } = await resolved(wish);
  const problem =
    array !== undefined
      ? { path: ['array'], message: 'is many jobs, and a schedule starts one job each time', hint: ARRAY_HINT }
      : spec.after !== undefined
        ? {
            path: ['after'],
            message: 'names jobs that end once, and a schedule starts a job again and again',
            hint: AFTER_HINT,
          }
        : askedMachines(spec).adopts !== undefined
          ? {
              path: [machineKind(kindOfJob(spec)).section.name, 'adopt'],
              message: 'needs the word of the owner of the node for each job, and a schedule starts jobs by itself',
              hint: 'leave it out',
            }
          : undefined;
  if (problem !== undefined) throw new JobInvalid(formatProblems([{ value: undefined, ...problem }]));
  return spec;
}

const ARRAY_HINT = 'leave it out, or submit the array by `jobctl submit` from a program of your own';
const AFTER_HINT =
  'leave it out: the job begins when its time has come, and the overlap policy says what becomes of the one before';
