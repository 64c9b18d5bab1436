/** The workflow `build`: a cluster builds an image, for all jobs that need the same one (docs/adr/0074). */
import { query, signal } from './define.js';
import type { JobRef } from './workflow-ids.js';
import type { BuildEnd, BuildFault, RemoteBuild } from '../domain/build/spec.js';
import type { CreateAnswer } from '../domain/slice.js';
import type { Timings } from '../domain/timings.js';
import type { EpochMs } from '../domain/units.js';
import { z } from 'zod';
import { type Form, form } from './form.js';
import { text } from './lease-forms.js';
import { timings } from './slice.js';

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

// Forms of a build workflow's input, of the signals that it takes, and of its signals to jobs (contract/build.ts).

const jobRef = { id: text().min(1), run: text().min(1) };
const waiter: z.ZodType<BuildWaiter> = z.object({ ...jobRef, attempt: z.int().min(1) });

const remoteBuild: z.ZodType<RemoteBuild> = z.object({
  repository: text().min(1),
  commit: text().min(1),
  context: text(),
  dockerfile: text().min(1),
  target: text().exactOptional(),
  args: z.record(text(), text()),
  platform: text().min(1),
  image: text().min(1),
  cluster: text().exactOptional(),
  namespace: text().min(1),
  gitSecret: text().exactOptional(),
  pushSecret: text().exactOptional(),
});

const carry: z.ZodType<BuildCarry> = z.object({
  waiters: z.array(waiter),
  lost: z.int().min(0),
  unansweredUntil: z.number(),
  kept: z.array(z.object({ signal: text(), value: z.unknown() })).exactOptional(),
});

export const buildInputForm: Form<BuildInput> = form(
  z.object({ v: z.literal(1), build: remoteBuild, timings: timings(), carry: carry.exactOptional() }),
);

export const buildWantedForm: Form<{ readonly v: 1; readonly waiter: BuildWaiter }> = form(
  z.object({ v: z.literal(1), waiter }),
);
export const buildLeftForm: Form<{ readonly v: 1; readonly job: JobRef }> = form(
  z.object({ v: z.literal(1), job: z.object(jobRef) }),
);

const news: z.ZodType<BuildNews> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('progress'), detail: text() }),
  z.object({ kind: z.literal('built'), digest: text().min(1) }),
  z.object({
    kind: z.literal('failed'),
    by: z.enum(['task', 'infrastructure']),
    message: text(),
    lines: z.array(text()),
  }),
]);
export const buildNewsForm: Form<BuildNewsFrom> = form(z.object({ v: z.literal(1), build: text(), run: text(), news }));
