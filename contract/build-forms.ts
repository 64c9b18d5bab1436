import { z } from 'zod';
import type { RemoteBuild } from '../domain/build/remote.js';
import type { BuildCarry, BuildInput, BuildNews, BuildNewsFrom, BuildWaiter } from './build.js';
import { type Form, form } from './form.js';
import { text } from './lease-forms.js';
import { timings } from './slice-forms.js';
import type { JobRef } from './workflow-ids.js';

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
