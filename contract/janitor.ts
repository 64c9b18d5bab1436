import type { EpochMs } from '../domain/units.js';
import { TASK_QUEUE } from '../domain/temporal-server.js';
import { JANITOR_SCHEDULE_ID } from './workflow-ids.js';

/** The janitor workflow, and the contract of its activity. */
export interface JanitorInput {
  readonly v: 1;
}

export interface JanitorReport {
  readonly resources: number;
  readonly reclaimed: readonly string[];
  readonly unknown: readonly string[];
  /** Slices that outlived their job, and why: `NAME: ..`. Those that were replaced are in `reclaimed` too. */
  readonly stuck: readonly string[];
  /** Open workflows of any type whose workflow task fails on every try: `ID: ..`. */
  readonly failing: readonly string[];
  readonly wokenPools: readonly string[];
  /** Accounts, and zones as `ZONE of ACCOUNT`, that could not be listed. Our resources there were not checked. */
  readonly unlisted: readonly string[];
  readonly stopped?: string;
}

/** Kept in the store for `jobctl list`. */
export interface FailingWorkflows {
  readonly v: 1;
  readonly at: EpochMs;
  readonly ids: readonly string[];
}

export interface JanitorActivities {
  sweep(): Promise<JanitorReport>;
}

/** One schedule per installation. Each task queue of a namespace is an installation. */
export const janitorScheduleId = (taskQueue: string): string =>
  taskQueue === TASK_QUEUE ? JANITOR_SCHEDULE_ID : `${JANITOR_SCHEDULE_ID}-${taskQueue}`;
