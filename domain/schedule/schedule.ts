import { isValidJobName, MAX_JOB_ID } from '../identity.js';
import { OWN_ID_PREFIXES } from '../temporal-server.js';
import type { EpochMs } from '../units.js';

/** Policies for a firing whose predecessor has not ended, in Temporal's words (docs/adr/0159). */
export const OVERLAPS = { skip: 'SKIP', queue: 'BUFFER_ONE', cancel: 'CANCEL_OTHER', allow: 'ALLOW_ALL' } as const;
export type Overlap = keyof typeof OVERLAPS;
export const OVERLAP_WORDS = Object.keys(OVERLAPS) as readonly Overlap[];
export const DEFAULT_OVERLAP: Overlap = 'skip';
export const DEFAULT_ZONE = 'UTC';

/** Length of `-20261130t020012`, which follows the schedule's name. */
const LONGEST_STAMP = 16;
export const MAX_SCHEDULE_NAME = MAX_JOB_ID - LONGEST_STAMP;
export const SCHEDULE_NAME_RULE = `a name of small letters, digits and dashes that starts with a letter, ${MAX_SCHEDULE_NAME} characters at most: ids of its jobs begin with it`;

export const isScheduleName = (name: string): boolean => isValidJobName(name, MAX_SCHEDULE_NAME);

/** One firing of a schedule. */
export interface Firing {
  readonly schedule: string;
  /** The time that it is for, in whole seconds. */
  readonly at: EpochMs;
}

/** Temporal's id of a schedule, and the beginning of the ids of the workflows that it starts. */
export const scheduleId = (name: string): string => `${OWN_ID_PREFIXES.schedule}${name}`;

/** The schedule and the time in the id of a workflow that it started: `schedule/nightly-2026-11-30T02:00:00Z`. */
export function firingOf(workflowId: string): Firing | undefined {
  const [, schedule = '', time = ''] =
    /^schedule\/([a-z0-9-]{1,64})-(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)$/.exec(workflowId) ?? [];
  const at = Date.parse(time);
  return isScheduleName(schedule) && !Number.isNaN(at) ? { schedule, at } : undefined;
}

/** The id of the workflow that Temporal starts for a firing. */
export const firingWorkflowId = ({ schedule, at }: Firing): string =>
  `${scheduleId(schedule)}-${new Date(at).toISOString().slice(0, 19)}Z`;

/**
 * The id of a firing's job or group: `nightly-20261130t0200`, in UTC, which shows no time twice. A firing by hand has seconds,
 * so that it is another one than that of its minute. It does not end like the id of a group's member (docs/adr/0181).
 */
export function firingJobId({ schedule, at }: Firing): string {
  const digits = new Date(at).toISOString().slice(0, 19).replace(/[-:]/g, '');
  const [day = '', time = ''] = digits.split('T');
  return `${schedule}-${day}t${time.endsWith('00') ? time.slice(0, 4) : time}`;
}

/** Most of the time for which a firing that was missed is made up for, while no server was there to start it. */
const MOST_CATCH_UP_MINUTES = 7 * 24 * 60;

/** Up to when a missed firing is made up for: until the next one is due, so that it is one, however long nobody was there. */
export const catchUpMinutes = (leastGapMinutes: number): number => Math.min(leastGapMinutes, MOST_CATCH_UP_MINUTES);
