import {
  CancellationScope,
  ChildWorkflowCancellationType,
  condition,
  getExternalWorkflowHandle,
  ParentClosePolicy,
  startChild,
} from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError, WorkflowIdReusePolicy } from '@temporalio/common';
import type { EventNotice, JobNotice, JobSettings } from '../../contract/job.js';
import { type NoticesAbout, type Notice, type NoticesResult, noticesWantedSignal } from '../../contract/notices.js';
import { type JobRef, noticesWorkflowId, WorkflowType } from '../../contract/workflow-ids.js';
import { eventText, type JobEvent, type ToldEvent } from '../../domain/job-events/event.js';
import type { Told } from '../../domain/job-events/kinds.js';
import { isEnd, isTold } from '../../domain/job-events/topics.js';
import type { Outcome } from '../../domain/job-state.js';
import { isWorkflowTarget, type OutsideTarget, type NotifyTarget, targetKey } from '../../domain/notify.js';
import { messageOf } from '../../domain/errors.js';
import { Sequence } from '../one-at-a-time.js';
import { inShort } from '../activity-options.js';
import type { notices } from '../notices.js';
import type { JobFile } from './job-file.js';
import { type LineCarry, SignalLines, NOTIFY_TIMEOUT } from './signal-lines.js';
import type { JobStory } from './story.js';

export interface NoticesCarry {
  readonly lines: readonly LineCarry[];
  readonly courier?: CourierCarry;
  /** The job's end was told. */
  readonly isOver?: true;
}

interface NoticesParts {
  readonly job: JobRef;
  readonly settings: JobSettings;
  /** Read anew for each event: an edit may change who is told. */
  readonly file: JobFile;
  readonly story: JobStory;
}

/** Tells others of the job's events, as its `notify` says (docs/adr/0148). Telling never holds up the job. */
export class Notices {
  readonly #parts: NoticesParts;
  readonly #ids = new Sequence();
  readonly #lines: SignalLines;
  readonly #courier: Courier;
  /** The event of the job's end, which is told only once the outcome is stored. */
  #end: JobEvent | undefined;
  #isOver: boolean;

  constructor(parts: NoticesParts, carry?: NoticesCarry) {
    this.#parts = parts;
    this.#isOver = carry?.isOver ?? false;
    const note = (told: Told): void => parts.story.note(told);
    this.#lines = new SignalLines(carry?.lines, note);
    this.#courier = new Courier(() => this.#about, note, carry?.courier);
    parts.story.listen((event) => this.#hear(event));
    this.#lines.resume();
  }

  /**
   * Sends the notices of the job's end, and waits for their delivery for a bounded time.
   * @returns one event for each target, with the result
   */
  async tellEnd(outcome: Outcome): Promise<readonly Told[]> {
    if (this.#end !== undefined) this.#tell(this.#end, outcome);
    this.#isOver = true;
    await this.settled();
    return [...this.#lines.reports(), ...this.#courier.reports()];
  }

  /** Resolves when nothing is under way any more, or after a bounded time. */
  async settled(): Promise<void> {
    await Promise.all([this.#lines.settled(), this.#courier.settled()]);
  }

  /** Undefined: nothing was told yet. */
  carry(): NoticesCarry | undefined {
    const lines = this.#lines.carry();
    const courier = this.#courier.carry();
    if (lines.length === 0 && courier === undefined && !this.#isOver) return undefined;
    return { lines, ...(courier && { courier }), ...(this.#isOver ? { isOver: true } : {}) };
  }

  get #about(): NoticesAbout {
    const { job, file, settings } = this.#parts;
    const { project, user, label } = settings;
    const { name, pool } = file.spec;
    return { job, name, pool, project, user, ...(label === undefined ? {} : { label }) };
  }

  #hear(event: JobEvent): void {
    if (!isEnd(event)) this.#tell(event);
    else if (!this.#isOver) this.#end = event;
  }

  #tell(event: JobEvent, outcome?: Outcome): void {
    const { file, job } = this.#parts;
    const targets = (file.spec.notify ?? []).filter(({ on }) => isTold(on, event)).map(({ to }) => to);
    if (targets.length === 0) return;
    const number = this.#ids.next();
    const { at, kind, facts } = event;
    // An id is the job's run and a number that grows, also over a reset of the job.
    const told = { id: `${job.run}-${number}`, at, kind, facts, text: eventText(event) } as ToldEvent;
    const about = { v: 1, job: job.id, run: job.run } as const;
    const notice: JobNotice | EventNotice = outcome
      ? { ...about, result: outcome.result, outcome }
      : { ...about, event: told };
    for (const target of targets.filter(isWorkflowTarget)) this.#lines.tell(target, notice);
    const to = targets.filter((target): target is OutsideTarget => !isWorkflowTarget(target));
    if (to.length > 0) this.#courier.tell({ number, event: bounded(told), to });
  }
}

/** Limit of a text in a notice. Texts of clouds and programs may be long, and many events wait for a receiver that is down. */
const MOST_TEXT = 1_000;
const MOST_FACTS = 2_000;

function bounded(event: ToldEvent): ToldEvent {
  const text = event.text.length <= MOST_TEXT ? event.text : `${event.text.slice(0, MOST_TEXT)} ..`;
  const facts = JSON.stringify(event.facts).length <= MOST_FACTS ? event.facts : {};
  return { ...event, text, facts } as ToldEvent;
}

/** Notices in one signal. A signal of this many is far below the server's limit of 2 MiB. */
const MOST_AT_ONCE = 50;

interface CourierCarry {
  /** Notices that were not handed over yet, or of which that is not known. */
  readonly queue: readonly Notice[];
  readonly told: readonly { readonly to: NotifyTarget; readonly events: number }[];
  readonly isOpen: boolean;
}

/**
 * Hands events for targets outside of Temporal to the workflow `notices/<job>`, which it starts and which outlives the job. All
 * of it is in the job's history, so each event is handed over once. The events of one workflow task go in one signal.
 */
class Courier {
  readonly #about: () => NoticesAbout;
  readonly #note: (told: Told) => void;
  #queue: Notice[];
  #isBusy = false;
  /** The workflow is open, as far as the job knows. */
  #isOpen: boolean;
  readonly #told: Map<string, { readonly to: NotifyTarget; events: number }>;
  /** Targets with events that were handed over but not yet reported on. */
  readonly #pending = new Map<string, NotifyTarget>();

  constructor(about: () => NoticesAbout, note: (told: Told) => void, carry?: CourierCarry) {
    this.#about = about;
    this.#note = note;
    this.#queue = [...(carry?.queue ?? [])];
    this.#isOpen = carry?.isOpen ?? false;
    this.#told = new Map((carry?.told ?? []).map(({ to, events }) => [targetKey(to), { to, events }]));
    // A cancelled job has an end to tell too.
    void CancellationScope.nonCancellable(() => this.#work());
  }

  tell(notice: Notice): void {
    this.#queue.push(notice);
  }

  /** Resolves once every event was handed over, or after `NOTIFY_TIMEOUT`. */
  async settled(): Promise<void> {
    const isSettled = (): boolean => this.#queue.length === 0 && !this.#isBusy;
    if (!isSettled()) await condition(isSettled, NOTIFY_TIMEOUT);
  }

  /** One event for each target, and one for what is still being delivered. */
  reports(): readonly Told[] {
    const told = [...this.#told.values()].map(({ to, events }): Told => {
      return { kind: 'notified', facts: { to, ...(events === 1 ? {} : { events }) } };
    });
    if (this.#pending.size === 0) return told;
    const workflow = noticesWorkflowId(this.#about().job.id);
    return [...told, { kind: 'notices-left', facts: { workflow, to: [...this.#pending.values()] } }];
  }

  /** Undefined: nothing was ever told. */
  carry(): CourierCarry | undefined {
    if (this.#queue.length === 0 && this.#told.size === 0 && !this.#isOpen) return undefined;
    return { queue: this.#queue, told: [...this.#told.values()], isOpen: this.#isOpen };
  }

  async #work(): Promise<never> {
    for (;;) {
      // Evaluated at the end of each workflow task, when all of its events are there.
      await condition(() => this.#queue.length > 0);
      this.#isBusy = true;
      const batch = this.#queue.slice(0, MOST_AT_ONCE);
      try {
        await CancellationScope.nonCancellable(() => this.#hand(batch));
        for (const { to } of batch) for (const target of to) this.#pending.set(targetKey(target), target);
      } catch (error) {
        const problem = `could not be told: ${messageOf(error)}`;
        for (const to of targetsOf(batch)) this.#note({ kind: 'not-notified', facts: { to, problem } });
      }
      this.#queue = this.#queue.slice(batch.length);
      this.#isBusy = false;
    }
  }

  async #hand(batch: readonly Notice[]): Promise<void> {
    if (this.#isOpen) {
      try {
        return await this.#signal(batch);
      } catch {
        // It has delivered all that it had, and ended.
        this.#isOpen = false;
      }
    }
    try {
      await this.#start(batch);
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      // One of an earlier run of the job, or from before a reset.
      await this.#signal(batch);
    }
    this.#isOpen = true;
  }

  #signal(batch: readonly Notice[]): Promise<void> {
    return getExternalWorkflowHandle(noticesWorkflowId(this.#about().job.id)).signal(noticesWantedSignal, batch);
  }

  async #start(batch: readonly Notice[]): Promise<void> {
    const about = this.#about();
    const child = await startChild<typeof notices>(WorkflowType.Notices, {
      workflowId: noticesWorkflowId(about.job.id),
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
      args: [{ v: 1, about, notices: batch }],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      cancellationType: ChildWorkflowCancellationType.ABANDON,
      staticSummary: inShort(`tells others of events of ${about.job.id}`),
    });
    child.result().then(
      (result) => this.#report(result),
      () => (this.#isOpen = false),
    );
  }

  #report({ lines }: NoticesResult): void {
    this.#isOpen = false;
    for (const { target: to, told, givenUp, problem = '' } of lines) {
      const key = targetKey(to);
      this.#pending.delete(key);
      const before = this.#told.get(key)?.events ?? 0;
      if (told > 0) this.#told.set(key, { to, events: before + told });
      const events = givenUp === 1 ? '' : `${givenUp} events: `;
      if (givenUp > 0) this.#note({ kind: 'not-notified', facts: { to, problem: `not told: ${events}${problem}` } });
    }
  }
}

function targetsOf(batch: readonly Notice[]): readonly NotifyTarget[] {
  return [...new Map(batch.flatMap(({ to }) => to.map((target) => [targetKey(target), target] as const))).values()];
}
