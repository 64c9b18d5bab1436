/** The workflow `build`: a cluster builds an image, for all jobs that need the same one (docs/adr/0074). */
import { query, signal } from './define.js';
import type { JobRef } from './workflow-ids.js';
import type { BuildEnd, BuildFault } from '../domain/build/spec.js';
import type { RemoteBuild } from '../domain/build/remote.js';
import type { CreateAnswer } from '../domain/slice.js';
import type { Timings } from '../domain/timings.js';
import type { EpochMs } from '../domain/units.js';

/** A job that waits for the image. The build's output goes into the logs of its attempt `attempt`. */
export interface BuildWaiter extends JobRef {
  readonly attempt: number;
}

/** Input of the `build` workflow. Its first job arrives by the signal that starts the workflow. */
export interface BuildInput {
  readonly v: 1;
  readonly build: RemoteBuild;
  readonly timings: Timings;
  /** Set by the workflow itself, when it continues as new. */
  readonly carry?: BuildCarry;
}

export interface BuildCarry {
  readonly waiters: readonly BuildWaiter[];
  /** Tries whose pod ended without a result. */
  readonly lost: number;
  readonly unansweredUntil: EpochMs;
  /** Messages whose version the worker did not know, kept for a later one. Absent: none. */
  readonly kept?: readonly { readonly signal: string; readonly value: unknown }[];
}

/** Result of a build that made an image. A workflow's id is made of its inputs, so equal inputs have this result. */
export interface BuildResult {
  readonly digest: string;
}

/** job -> build: the job waits for the image. Repeating is safe. */
export const buildWantedSignal = signal<[{ readonly v: 1; readonly waiter: BuildWaiter }]>('buildWanted');
/** job -> build: the job no longer waits. */
export const buildLeftSignal = signal<[{ readonly v: 1; readonly job: JobRef }]>('buildLeft');

export type BuildNews =
  | { readonly kind: 'progress'; readonly detail: string }
  | { readonly kind: 'built'; readonly digest: string }
  | {
      readonly kind: 'failed';
      readonly by: BuildFault;
      readonly message: string;
      /** The last lines that BuildKit printed. */
      readonly lines: readonly string[];
    };

/** build -> job. `run`: the first run id of the job's chain. */
export interface BuildNewsFrom {
  readonly v: 1;
  readonly build: string;
  readonly run: string;
  readonly news: BuildNews;
}
export const buildNewsSignal = signal<[BuildNewsFrom]>('buildNews');

/** Jobs whose logs take the build's output. The activity that reads the output asks this. */
export const buildWaitersQuery = query<readonly BuildWaiter[]>('waiters');

export interface JoinBuildInput {
  readonly waiter: BuildWaiter;
  readonly build: RemoteBuild;
}

/** `id`: id of the build's workflow. */
export type JoinedBuild =
  | { readonly kind: 'waiting'; readonly id: string }
  /** The image was built before. */
  | { readonly kind: 'built'; readonly id: string; readonly digest: string };

/** One try of a build. */
export interface BuildTry {
  /** The workflow's id. */
  readonly id: string;
  readonly build: RemoteBuild;
  readonly timings: Timings;
}

export interface AwaitBuildInput extends BuildTry {
  /** From 0. */
  readonly number: number;
}

export interface DeleteBuildInput extends BuildTry {
  /** Before this time, a look that finds nothing proves nothing: an unanswered create may still take effect. */
  readonly notBefore: EpochMs;
}

export interface BuildActivities {
  /** Starts the workflow of these inputs, joins it, or returns the image that it has built. Repeating is safe. */
  joinBuild(input: JoinBuildInput): Promise<JoinedBuild>;
  /** One create call. */
  createBuild(input: BuildTry): Promise<CreateAnswer>;
  /** One direct look: tells whether a create call without an answer took effect. */
  findBuild(input: BuildTry): Promise<'there' | 'missing' | 'foreign' | 'unknown'>;
  /** Watches until the try has ended, and copies its output into the logs of the waiting jobs. */
  awaitBuild(input: AwaitBuildInput): Promise<BuildEnd>;
  /** Deletes until the provider shows nothing of it any more. */
  deleteBuild(input: DeleteBuildInput): Promise<void>;
}
