import type { ScheduleDescription, ScheduleSummary, WorkflowExecutionInfo } from '@temporalio/client';
import { missingKeyOf } from '../cloud/codec/codec-key.js';
import type { FiringMemo, FiringState, ScheduleMemo } from '../contract/schedule.js';
import { DEFAULT_OVERLAP, firingJobId, firingOf, type Overlap } from '../domain/schedule/schedule.js';
import { type JobSearchAttribute, OWN_ID_PREFIXES } from '../domain/temporal-server.js';
import type { EpochMs } from '../domain/units.js';
import type { ShownPhase } from './job-rows.js';

/** A firing of a schedule, and its job or group. */
export interface FiringRow {
  /** Id of its job or group, also if that was not started. */
  readonly job: string;
  readonly at: EpochMs;
  /** `unknown`: Temporal has forgotten it, or does not show it yet. */
  readonly state: FiringState | 'unknown';
  /** Phase of a job that is open. */
  readonly phase?: ShownPhase;
  readonly why?: string;
}

export interface ScheduleRow {
  readonly name: string;
  readonly cron: string;
  readonly timeZone: string;
  readonly overlap: Overlap;
  readonly user: string;
  readonly project: string;
  readonly pool: string;
  readonly slice: string;
  /** Members of the group that each time starts. Absent: each time starts one job. */
  readonly members?: number;
  readonly createdAt: EpochMs;
  readonly isPaused: boolean;
  /** Who paused or resumed it, and why. Absent: nobody did. */
  readonly note?: string;
  /** Its next times, five at most; also of one that is paused. */
  readonly next: readonly EpochMs[];
  /** Absent: it has not fired, or Temporal has forgotten that. */
  readonly last?: FiringRow;
}

export interface ScheduleView extends ScheduleRow {
  /** Its last firings, latest first, ten at most. */
  readonly firings: readonly FiringRow[];
  /** Firings since it was created. */
  readonly fired: number;
  /** Those that did not start because the job before had not ended. */
  readonly overlapped: number;
  /** Those that start when the job before has ended. */
  readonly waiting: number;
  /** Those that were never made up for, because no server was there. */
  readonly missed: number;
}

/** Number of next times shown. */
const MOST_NEXT = 5;

/** Ids of the workflows that a schedule has started lately, the newest last. */
export const idsIn = (actions: ScheduleSummary['info']['recentActions']): readonly string[] =>
  actions.map(({ action }) => action.workflow.workflowId);

export const nextOf = ({ nextActionTimes }: Pick<ScheduleSummary['info'], 'nextActionTimes'>): readonly EpochMs[] =>
  nextActionTimes.slice(0, MOST_NEXT).map((each) => each.getTime());

export function rowOf(
  { scheduleId: id, memo, searchAttributes, state, info }: ScheduleSummary | ScheduleDescription,
  last: FiringRow | undefined,
): ScheduleRow {
  const { cron, timeZone, overlap, slice, members, createdAt } = shown<ScheduleMemo>(memo);
  const attribute = (name: JobSearchAttribute): string => String(searchAttributes?.[name]?.[0] ?? '-');
  return {
    name: id.slice(OWN_ID_PREFIXES.schedule.length),
    ...{ cron: cron ?? '-', timeZone: timeZone ?? '-', overlap: overlap ?? DEFAULT_OVERLAP, slice: slice ?? '-' },
    ...(members === undefined ? {} : { members }),
    ...{ user: attribute('JobUser'), project: attribute('JobProject'), pool: attribute('JobPool') },
    ...{ createdAt: createdAt ?? 0, isPaused: state.paused },
    ...(state.note === undefined || state.note === '' ? {} : { note: state.note }),
    next: nextOf(info),
    ...(last === undefined ? {} : { last }),
  };
}

/** The fields that this client can decrypt. */
const shown = <T extends object>(memo: Record<string, unknown> | undefined): Partial<T> =>
  Object.fromEntries(Object.entries(memo ?? {}).filter(([, value]) => missingKeyOf(value) === undefined)) as Partial<T>;

/** @param execution absent: Temporal does not show it @returns undefined for an id that no schedule of jobctl gives */
export function firingRow(
  id: string,
  execution: Omit<WorkflowExecutionInfo, 'raw'> | undefined,
): FiringRow | undefined {
  const firing = firingOf(id);
  if (firing === undefined) return undefined;
  const of = { job: firingJobId(firing), at: firing.at };
  if (execution === undefined) return { ...of, state: 'unknown' };
  const { state = 'unknown', why } = shown<FiringMemo>(execution.memo);
  const isLost = execution.status.name === 'TERMINATED' || execution.status.name === 'TIMED_OUT';
  // The job itself may go on.
  if (isLost) return { ...of, state: 'unknown', why: 'its workflow was ended in Temporal' };
  return { ...of, state, ...(why === undefined || why === null ? {} : { why }) };
}
