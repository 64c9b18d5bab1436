/** The workflow `build`: an image that a cluster builds, for all jobs that need the same (docs/adr/0074). */
import { query, signal } from './define.js';
import type { JobRef } from './workflow-ids.js';
import type { BuildEnd, BuildFault } from '../domain/build/condition.js';
import type { RemoteBuild } from '../domain/build/remote.js';
import type { CreateAnswer } from '../domain/slice.js';
import type { Timings } from '../domain/timings.js';
import type { EpochMs } from '../domain/units.js';

/** A job that waits for the image. `attempt`: whose logs take the build's. */
export interface BuildWaiter extends JobRef {
  readonly attempt: number;
}

/** Input of the `build` workflow. Its first job comes by the signal that starts it. */
export interface BuildInput {
  readonly v: 1;
  readonly build: RemoteBuild;
  readonly timings: Timings;
  /** Set by the workflow itself, when it continues as new. */
  readonly carry?: BuildCarry;
}

export interface BuildCarry {
  readonly waiters: readonly BuildWaiter[];
  /** Tries whose pod came to nothing. */
  readonly lost: number;
  readonly unansweredUntil: EpochMs;
  /** Messages of a version that the worker did not know. Absent: none. */
  readonly kept?: readonly { readonly signal: string; readonly value: unknown }[];
}

/** What a build that made an image ends with. The id of a workflow is made of its inputs, so this is what equal inputs make. */
export interface BuildResult {
  readonly digest: string;
}

/** job -> build: it waits for the image. It may say so again. */
export const buildWantedSignal = signal<[{ readonly v: 1; readonly waiter: BuildWaiter }]>('buildWanted');
/** job -> build: it does not wait any more. */
export const buildLeftSignal = signal<[{ readonly v: 1; readonly job: JobRef }]>('buildLeft');

export type BuildNews =
  | { readonly kind: 'progress'; readonly detail: string }
  | { readonly kind: 'built'; readonly digest: string }
  | {
      readonly kind: 'failed';
      readonly by: BuildFault;
      readonly message: string;
      /** The last ones that BuildKit printed. */
      readonly lines: readonly string[];
    };

/** build -> job. `run`: of the job. */
export interface BuildNewsFrom {
  readonly v: 1;
  readonly build: string;
  readonly run: string;
  readonly news: BuildNews;
}
export const buildNewsSignal = signal<[BuildNewsFrom]>('buildNews');

/** Whose logs take the build's, asked by the activity that reads it. */
export const buildWaitersQuery = query<readonly BuildWaiter[]>('waiters');

export interface JoinBuildInput {
  readonly waiter: BuildWaiter;
  readonly build: RemoteBuild;
}

/** `id`: of the workflow. */
export type JoinedBuild =
  | { readonly kind: 'waiting'; readonly id: string }
  /** It was built before. */
  | { readonly kind: 'built'; readonly id: string; readonly digest: string };

/** One try of the build of a workflow. */
export interface BuildTry {
  /** Of the workflow. */
  readonly id: string;
  readonly build: RemoteBuild;
  readonly timings: Timings;
}

export interface AwaitBuildInput extends BuildTry {
  /** From 0. */
  readonly number: number;
}

export interface DeleteBuildInput extends BuildTry {
  /** That nothing is there before this time proves nothing: an unanswered create may still take effect. */
  readonly notBefore: EpochMs;
}

export interface BuildActivities {
  /** Starts the workflow of these inputs, or joins it, or gives what it has built. Repeating is safe. */
  joinBuild(input: JoinBuildInput): Promise<JoinedBuild>;
  /** One create call. */
  createBuild(input: BuildTry): Promise<CreateAnswer>;
  /** One direct look: whether a create call without an answer took effect. */
  findBuild(input: BuildTry): Promise<'there' | 'missing' | 'foreign' | 'unknown'>;
  /** Watches until the try has ended, and brings what it prints into the logs of the jobs that wait. */
  awaitBuild(input: AwaitBuildInput): Promise<BuildEnd>;
  /** Deletes until nothing of it is seen any more. */
  deleteBuild(input: DeleteBuildInput): Promise<void>;
}
