import type { EventNotice, JobNotice } from '../../contract/job.js';
import type { JobRef } from '../../contract/workflow-ids.js';
import { eventText, type JobEvent, type ToldEvent } from '../../domain/job-events/event.js';
import type { Told } from '../../domain/job-events/kinds.js';
import { isEnd, isTold } from '../../domain/job-events/topics.js';
import type { Outcome } from '../../domain/job-state.js';
import { isWorkflowTarget } from '../../domain/notify.js';
import { Sequence } from '../sequence.js';
import type { JobFile } from './job-file.js';
import { type LineCarry, SignalLines } from './signal-lines.js';
import type { JobStory } from './story.js';

export interface NoticesCarry {
  readonly lines: readonly LineCarry[];
  /** The job's end was told. */
  readonly isOver?: true;
}

export interface NoticesParts {
  readonly job: JobRef;
  /** Read anew for each event: an edit may change who is told. */
  readonly file: JobFile;
  readonly story: JobStory;
}

/** Tells others of the job's events, as its `notify` says (docs/adr/0148). Telling never holds up the job. */
export class Notices {
  readonly #parts: NoticesParts;
  readonly #ids = new Sequence();
  readonly #lines: SignalLines;
  /** The event of the job's end, which is told only once the outcome is stored. */
  #end: JobEvent | undefined;
  #isOver: boolean;

  constructor(parts: NoticesParts, carry?: NoticesCarry) {
    this.#parts = parts;
    this.#isOver = carry?.isOver ?? false;
    this.#lines = new SignalLines(carry?.lines, (problem) => parts.story.note(problem));
    parts.story.listen((event) => this.#hear(event));
    this.#lines.resume();
  }

  /** Tells the end, and waits a bounded time until that is done. @returns one event for each target, with the result */
  async tellEnd(outcome: Outcome): Promise<readonly Told[]> {
    if (this.#end !== undefined) this.#tell(this.#end, outcome);
    this.#isOver = true;
    await this.settled();
    return this.#lines.reports();
  }

  /** Resolves when nothing is under way any more, or after a bounded time. */
  settled(): Promise<void> {
    return this.#lines.settled();
  }

  /** Undefined: nothing was told yet. */
  carry(): NoticesCarry | undefined {
    const lines = this.#lines.carry();
    if (lines.length === 0 && !this.#isOver) return undefined;
    return { lines, ...(this.#isOver ? { isOver: true } : {}) };
  }

  #hear(event: JobEvent): void {
    if (!isEnd(event)) this.#tell(event);
    else if (!this.#isOver) this.#end = event;
  }

  #tell(event: JobEvent, outcome?: Outcome): void {
    const { file, job } = this.#parts;
    const targets = (file.spec.notify ?? []).filter(({ on }) => isTold(on, event)).map(({ to }) => to);
    if (targets.length === 0) return;
    const about = { v: 1, job: job.id, run: job.run } as const;
    const notice: JobNotice | EventNotice = outcome
      ? { ...about, result: outcome.result, outcome }
      : { ...about, event: this.#toldEvent(event) };
    for (const target of targets.filter(isWorkflowTarget)) this.#lines.tell(target, notice);
  }

  /** An id is the job's run and a number that grows, also over a reset of the job. */
  #toldEvent(event: JobEvent): ToldEvent {
    const { at, kind, facts } = event;
    return { id: `${this.#parts.job.run}-${this.#ids.next()}`, at, kind, facts, text: eventText(event) } as ToldEvent;
  }
}
