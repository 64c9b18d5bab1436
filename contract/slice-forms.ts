import { z } from 'zod';
import { MACHINE_KINDS, machineKind, type MachinePlan } from '../domain/machines.js';
import type { Owner } from '../domain/slice.js';
import { DEFAULT_TIMINGS, type Timings } from '../domain/timings.js';
import { type Form, form } from './form.js';
import { epoch, leaseId, machineRef, text } from './lease-forms.js';
import type { SliceCarry, SliceInput } from './slice.js';

// Forms of a slice workflow's input and of its messages (contract/slice.ts).

const machinePlan: z.ZodType<MachinePlan> = z.union(MACHINE_KINDS.map((kind) => machineKind(kind).planForm()));

const owner: z.ZodType<Owner> = z.object({ owner: text().min(1), job: text().min(1), run: text().min(1) });

/** A sender of an earlier build does not know timings that were added since. */
const knownTimings = z.object(
  Object.fromEntries(
    Object.entries<number>({ ...DEFAULT_TIMINGS }).map(([name, usual]) => [name, z.number().min(0).default(usual)]),
  ),
) as unknown as z.ZodType<Timings>;

export const timings = (): z.ZodType<Timings> => knownTimings;

const sliceCarry: z.ZodType<SliceCarry> = z.object({
  leaseEpoch: epoch(),
  isLeaseHeld: z.boolean().exactOptional(),
  unansweredUntil: z.number(),
  isNeverAccepted: z.literal(true).exactOptional(),
  kept: z.array(z.object({ signal: text(), value: z.unknown() })).exactOptional(),
});

export const sliceInputForm: Form<SliceInput> = form(
  z.object({
    v: z.literal(1),
    task: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('create'), plan: machinePlan }),
      z.object({ kind: z.literal('reclaim'), ref: machineRef(), owner }),
    ]),
    lease: leaseId(),
    isBeside: z.literal(true).exactOptional(),
    timings: timings(),
    carry: sliceCarry.exactOptional(),
  }),
);

export const giveUpForm = form<{ readonly reason: string }>(z.object({ reason: text() }));
export const releaseForm = form<{ readonly reason: string }>(z.object({ reason: text() }));
export const leaseAnswerForm = form<{ readonly epoch: number; readonly isHeld: boolean }>(
  z.object({ epoch: epoch(), isHeld: z.boolean() }),
);
