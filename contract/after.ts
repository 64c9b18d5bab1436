import type { PastState } from '../domain/after.js';
import type { EpochMs } from '../domain/units.js';
import { signal } from './define.js';

// Messages between workflows that wait for one another (docs/adr/0158). Each is a hint to look: the truth is what Temporal says.

/** Message to a job or group: the workflow `follower` waits for its end. */
export interface Followed {
  readonly v: 1;
  /** Id of the workflow of a job or group. */
  readonly follower: string;
}
export const followedSignal = signal<[Followed]>('followed');

/** Message to a follower: the job or group `id` has ended. */
export interface OtherEnded {
  readonly v: 1;
  readonly id: string;
}
export const otherEndedSignal = signal<[OtherEnded]>('otherEnded');

/** One job or group as Temporal knows it. */
export interface LookedAt {
  readonly id: string;
  readonly state: PastState;
  /** Id of its workflow. Absent: it is `missing`. */
  readonly workflow?: string;
}

export interface AfterActivities {
  /** Looks at jobs and groups, by id. @returns one for each, in their order */
  lookAtOthers(input: { readonly ids: readonly string[] }): Promise<readonly LookedAt[]>;
}

/** The state that a job or group carries over while it waits for others. Plain JSON. */
export interface OthersCarry {
  /** A look has found one of the others open. */
  readonly hasWaited?: true;
  /** The jobs and groups that have ended. */
  readonly ends?: readonly Pick<LookedAt, 'id' | 'state'>[];
  /** Time at which the wait was over. */
  readonly overAt?: EpochMs;
  /** Milliseconds until it looks again, unless one of them reports its end before. */
  readonly lookMs?: number;
}
