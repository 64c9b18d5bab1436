import type { EpochMs } from '../domain/units.js';

/** The janitor workflow, and the contract of its activity. */
export interface JanitorInput {
  readonly v: 1;
}

export interface JanitorReport {
  readonly resources: number;
  readonly reclaimed: readonly string[];
  readonly unknown: readonly string[];
  /** Slices that outlived their job, and why: `NAME: ..`. Wedged ones are among `reclaimed` too. */
  readonly stuck: readonly string[];
  /** Open workflows of any type whose workflow task fails on every try: `ID: ..`. */
  readonly failing: readonly string[];
  readonly wokenPools: readonly string[];
  /** Google projects that refused to be listed. Resources of ours in them were not looked at. */
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
