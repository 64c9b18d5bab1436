import type { EventNotice, JobNotice, JobSettings } from '../../contract/job.js';
import type { NoticesAbout } from '../../contract/notices.js';
import type { JobRef } from '../../contract/workflow-ids.js';
import { eventText, type JobEvent, type ToldEvent } from '../../domain/job-events/event.js';
import type { Told } from '../../domain/job-events/kinds.js';
import { isEnd, isTold } from '../../domain/job-events/topics.js';
import type { Outcome } from '../../domain/job-state.js';
import { isWorkflowTarget, type OutsideTarget } from '../../domain/notify.js';
import { Sequence } from '../sequence.js';
import { Courier, type CourierCarry } from './courier.js';
import type { JobFile } from './job-file.js';
import { type LineCarry, SignalLines } from './signal-lines.js';
import type { JobStory } from './story.js';

export interface NoticesCarry {
  readonly lines: readonly LineCarry[];
  readonly courier?: CourierCarry;
  /** The job's end was told. */
  readonly isOver?: true;
}

export interface NoticesParts {
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

  /** Tells the end, and waits a bounded time until that is done. @returns one event for each target, with the result */
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

/** Words of clouds and programs may be long, and many events wait for a receiver that is down. */
const MOST_TEXT = 1_000;
const MOST_FACTS = 2_000;

function bounded(event: ToldEvent): ToldEvent {
  const text = event.text.length <= MOST_TEXT ? event.text : `${event.text.slice(0, MOST_TEXT)} ..`;
  const facts = JSON.stringify(event.facts).length <= MOST_FACTS ? event.facts : {};
  return { ...event, text, facts } as ToldEvent;
}
