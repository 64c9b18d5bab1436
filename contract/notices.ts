/** The workflow `notices`: delivers a job's events to targets outside of Temporal (docs/adr/0148). */
import { z } from 'zod';
import type { ToldEvent } from '../domain/job-events/event.js';
import type { NotifyTarget, OutsideTarget } from '../domain/notify.js';
import { OWN_ID_PREFIXES } from '../domain/temporal-server.js';
import { signal } from './define.js';
import { type Form, form } from './form.js';
import type { JobRef } from './workflow-ids.js';

/** One event, and those who are told of it. */
export interface Notice {
  /** Grows from event to event of a job. A notice whose number is not above those heard before is a repetition. */
  readonly number: number;
  readonly event: ToldEvent;
  readonly to: readonly NotifyTarget[];
}

/** The job that the events are of. */
export interface NoticesAbout {
  readonly job: JobRef;
  readonly name: string;
  readonly pool: string;
  readonly project: string;
  readonly user: string;
  /** REHEARSAL if nothing of the job is real. */
  readonly label?: string;
}

/** Input of the `notices` workflow. It ends when everything was delivered or given up. */
export interface NoticesInput {
  readonly v: 1;
  readonly about: NoticesAbout;
  readonly notices: readonly Notice[];
  /** The events of `jobctl notify test`: each is tried a few times only, and there need be no such job. */
  readonly isTest?: true;
  /** Set by the workflow itself, when it continues as new. */
  readonly carry?: NoticesCarry;
}

export interface NoticesCarry {
  readonly heard: number;
  readonly lines: readonly NoticesLine[];
  /** Messages whose version the worker did not know, kept for a later one. Absent: none. */
  readonly kept?: readonly { readonly signal: string; readonly value: unknown }[];
}

/** Events for one target, in order. */
export interface NoticesLine {
  readonly target: NotifyTarget;
  readonly waiting: readonly ToldEvent[];
  readonly told: number;
  /** Number of events that the target was not told of, and the reason of the last. */
  readonly givenUp: number;
  readonly problem?: string;
}

export type NoticesReport = Omit<NoticesLine, 'waiting'>;
export interface NoticesResult {
  readonly lines: readonly NoticesReport[];
}

/** job -> notices: more events. */
export const noticesWantedSignal = signal<[readonly Notice[]]>('noticesWanted');

export interface DeliverInput {
  readonly about: NoticesAbout;
  readonly target: OutsideTarget;
  readonly event: ToldEvent;
  readonly isTest?: true;
}

export interface NoticesActivities {
  /**
   * Tells one target of one event. Repeating is safe for a receiver that knows the event's id. A failure that is not retryable
   * says that the target refuses it for good.
   */
  deliverNotice(input: DeliverInput): Promise<void>;
}

/** Time from an event until its delivery is given up. */
export const DELIVERY_LIMIT_MS = 24 * 3_600_000;

const text = z.string();
const target: z.ZodType<NotifyTarget> = z.union([
  z.strictObject({ workflow: z.strictObject({ id: text.min(1), signal: text.min(1) }) }),
  z.strictObject({ webhook: text.min(1), secret: text.min(1) }),
  z.strictObject({ slack: z.strictObject({ secret: text.min(1) }) }),
  z.strictObject({ mail: z.array(text.min(1)).min(1) }),
  z.strictObject({ channel: text.min(1) }),
]);
const event = z.object({
  id: text.min(1),
  at: z.number(),
  kind: text.min(1),
  facts: z.record(text, z.unknown()),
  text,
}) as unknown as z.ZodType<ToldEvent>;
const notice: z.ZodType<Notice> = z.object({ number: z.number(), event, to: z.array(target).min(1) });
const line: z.ZodType<NoticesLine> = z.object({
  target,
  waiting: z.array(event),
  told: z.int().min(0),
  givenUp: z.int().min(0),
  problem: text.exactOptional(),
});

export const noticeForm: Form<Notice> = form(notice);
export const noticesInputForm: Form<NoticesInput> = form(
  z.object({
    v: z.literal(1),
    about: z.object({
      job: z.object({ id: text.min(1), run: text.min(1) }),
      ...{ name: text, pool: text.min(1), project: text, user: text },
      label: text.exactOptional(),
    }),
    notices: z.array(notice),
    isTest: z.literal(true).exactOptional(),
    carry: z
      .object({
        heard: z.number(),
        lines: z.array(line),
        kept: z.array(z.object({ signal: text, value: z.unknown() })).exactOptional(),
      })
      .exactOptional(),
  }),
);

/** Time for which a person waits for `jobctl notify test`. */
export const NOTIFY_TEST_MS = 90_000;

/** Options with which a client starts a test. @param id unique @param timeoutMs of the whole test */
export const notifyTestStart = (taskQueue: string, input: NoticesInput, id: string, timeoutMs = NOTIFY_TEST_MS) => ({
  workflowId: `${OWN_ID_PREFIXES.notices}test/${id}`,
  taskQueue,
  args: [input] as [NoticesInput],
  workflowExecutionTimeout: timeoutMs,
  staticSummary: `a test of notify, by ${input.about.user}`,
});
