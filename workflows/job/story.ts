import { upsertMemo, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import {
  type CarriedEvent,
  type JobEvent,
  readEvent,
  reasonOf,
  shownEvent,
  type ShownEvent,
} from '../../domain/job-events/event.js';
import { type Told, toldText } from '../../domain/job-events/kinds.js';
import { type Outcome, JobPhase } from '../../domain/job-state.js';
import { type JobSearchAttribute, REFUSED_PHASE } from '../../domain/temporal-server.js';
import type { EpochMs } from '../../domain/units.js';
import type { JobMemo, JobNotice } from '../../contract/job.js';
import { keywords } from '../../contract/job-start.js';
import { describeBy } from '../current-details.js';

const PHASE = defineSearchAttributeKey('JobPhase' satisfies JobSearchAttribute, SearchAttributeType.KEYWORD);

/** The visible side of a job: its phase, the reason, and past events. The only writer of memo, search attributes and details. */
export class JobStory {
  #phase: JobPhase;
  #phaseSince: EpochMs;
  #why: string | undefined;
  #outcome: Outcome | undefined;
  #setback: string | undefined;
  readonly #troubles = new Map<Told['kind'], string>();
  /** The reason of the phase without the troubles. */
  #usual = '';
  readonly #events: JobEvent[];
  #waitsUntil: () => EpochMs | undefined = () => undefined;
  /** End of the wait that the memo shows. */
  #toldUntil: EpochMs | undefined;
  /** Hears of each event. */
  #listener: (event: JobEvent) => void = () => undefined;
  #onChange: () => void = () => undefined;

  constructor(carry?: StoryCarry) {
    this.#setback = carry?.setback;
    this.#toldUntil = carry?.waitsUntil;
    this.#phase = carry?.phase ?? JobPhase.Queued;
    this.#phaseSince = carry?.phaseSince ?? Date.now();
    this.#events = (carry?.events ?? []).map(readEvent);
  }

  get phase(): JobPhase {
    return this.#phase;
  }

  /** Called once, when the job was accepted: sets the fields that a list row shows from now on. */
  begin(
    attributes: Readonly<Partial<Record<Exclude<JobSearchAttribute, 'JobPhase'>, string>>>,
    memo: Partial<JobMemo>,
  ): void {
    upsertSearchAttributes([...keywords(attributes), { key: PHASE, value: this.#phase }]);
    upsertMemo({ ...memo, phaseSince: this.#phaseSince });
  }

  /** Moves on to `phase`, saying why. Within one phase only the reason changes. */
  move(phase: JobPhase, why: Told, memo: Partial<JobMemo> = {}): void {
    this.#troubles.clear();
    this.#usual = toldText(why);
    this.#say(phase, this.#usual, memo);
    this.#push({ ...why, at: Date.now(), phase });
  }

  /** Updates the reason of the present phase if only its times have changed. Adds no event. */
  restate(why: Told): void {
    const text = toldText(why);
    if (text === this.#usual) return;
    this.#usual = text;
    this.#say(this.#phase, this.#reason());
    this.changed();
  }

  /** Adds a trouble to the reason of the present phase, until the same kind says that it is over or the job moves on. */
  trouble(what: Told): void {
    const { kind } = what;
    const text = toldText(what);
    if ((this.#troubles.get(kind) ?? '') === text) return;
    // A trouble keeps its place among the others.
    this.#troubles.set(kind, text);
    const kinds = [...this.#troubles.keys()];
    const texts = [...this.#troubles.values()];
    const before = reasonOf([this.#usual, ...texts.slice(0, kinds.indexOf(kind))]);
    const after = reasonOf(texts.slice(kinds.indexOf(kind) + 1));
    if (text === '') this.#troubles.delete(kind);
    this.#say(this.#phase, this.#reason());
    this.#push({
      ...what,
      at: Date.now(),
      phase: this.#phase,
      ...(before === '' ? {} : { before }),
      ...(after === '' ? {} : { after }),
    });
  }

  #reason(): string {
    return reasonOf([this.#usual, ...this.#troubles.values()]);
  }

  #say(phase: JobPhase, why: string, memo: Partial<JobMemo> = {}): void {
    if (phase !== this.#phase) {
      this.#phase = phase;
      this.#phaseSince = Date.now();
      upsertSearchAttributes([{ key: PHASE, value: phase }]);
    }
    this.#why = why;
    upsertMemo({ ...memo, why, phaseSince: this.#phaseSince, ...this.#untilNews() });
  }

  /**
   * Returns the memo's new `waitsUntil` if it differs from the last written one. A value of `undefined` removes the field from
   * the memo.
   */
  #untilNews(): Pick<JobMemo, 'waitsUntil'> {
    const until = this.#waitsUntil();
    if (until === this.#toldUntil) return {};
    this.#toldUntil = until;
    return { waitsUntil: until } as Pick<JobMemo, 'waitsUntil'>;
  }

  /** @param until returns the end of the present wait, which is shown with each reason of a phase */
  waitBy(until: () => EpochMs | undefined): void {
    this.#waitsUntil = until;
  }

  /** Shows the progress of a phase to people who look at the job. Not in lists, since each change would cost an upsert. */
  progress(phase: JobPhase, how: string): void {
    if (this.#phase !== phase) return;
    this.#usual = how;
    this.#why = this.#reason();
    this.changed();
  }

  /** Keeps the reason why an attempt or a slice was lost. It is shown as long as the job is open. */
  setBack(why: Told): void {
    this.#setback = toldText(why);
  }

  get setback(): string | undefined {
    return this.#setback;
  }

  /** @param listener hears of each event from now on */
  listen(listener: (event: JobEvent) => void): void {
    this.#listener = listener;
  }

  /** @param heard is called at each change of the job that people can see, from now on */
  onChange(heard: () => void): void {
    this.#onChange = heard;
  }

  /** Tells who shows the job that it has changed. */
  changed(): void {
    this.#onChange();
  }

  /** Adds an event that changes neither the phase nor its reason. */
  note(what: Told): void {
    this.#push({ ...what, at: Date.now() });
  }

  #push(event: JobEvent): void {
    this.#events.push(event);
    if (this.#events.length > MOST_EVENTS) this.#events.splice(1, this.#events.length - MOST_EVENTS);
    this.changed();
    this.#listener(event);
  }

  /** Notes that the job keeps its slices after its outcome, and that its outcome comes before the workflow's end. */
  keeps(): void {
    upsertMemo({ keeps: true } satisfies Partial<JobMemo>);
  }

  /** Keeps the job open with its slices, after its outcome became final. */
  hold(outcome: Outcome, why: Told): void {
    this.#outcome = outcome;
    this.move(JobPhase.Holding, why, { outcome, attempts: outcome.attempts });
  }

  end(outcome: Outcome): void {
    this.#outcome = outcome;
    const { result, exitCode, cause: { asker: _, ...cause } = {}, attempts, preemptions } = outcome;
    const facts = { ...cause, ...(exitCode === undefined ? {} : { exitCode }), attempts, preemptions };
    this.move(result, { kind: result, facts }, { outcome, attempts });
  }

  /** The kind of the last event. Undefined: there is none, or it is from before there were kinds. */
  get lastKind(): Told['kind'] | undefined {
    return this.#events.at(-1)?.kind;
  }

  get events(): readonly JobEvent[] {
    return this.#events;
  }

  carry(): StoryCarry {
    return {
      phase: this.#phase,
      phaseSince: this.#phaseSince,
      events: this.#events,
      ...(this.#setback === undefined ? {} : { setback: this.#setback }),
      ...(this.#toldUntil === undefined ? {} : { waitsUntil: this.#toldUntil }),
    };
  }

  view(): { phase: JobPhase; phaseSince: EpochMs; why?: string; outcome?: Outcome; events: readonly ShownEvent[] } {
    return {
      phase: this.#phase,
      phaseSince: this.#phaseSince,
      ...(this.#why === undefined ? {} : { why: this.#why }),
      ...(this.#outcome ? { outcome: this.#outcome } : {}),
      events: this.#events.map(shownEvent),
    };
  }
}

export interface StoryCarry {
  readonly phase: JobPhase;
  readonly phaseSince: EpochMs;
  readonly events: readonly CarriedEvent[];
  /** Why the last attempt or slice was lost. */
  readonly setback?: string;
  /** End of the wait that its memo shows. Absent: none. */
  readonly waitsUntil?: EpochMs;
}

/**
 * Limit of events that are carried and shown. The store keeps what was written to it before. About 25 KB, unless texts from
 * outside are long.
 */
const MOST_EVENTS = 200;

/** The first run id of this job's chain, which its leases and labels carry. */
export function chainRunId(): string {
  return workflowInfo().firstExecutionRunId;
}

/** Sets the fields that lists show of a job that ended before it had a story. */
export function endBeforeAccepted(notice: JobNotice): void {
  const isRefused = notice.result === 'refused';
  const phase = isRefused ? JobPhase.Failed : notice.result;
  const why = isRefused ? notice.message : (notice.outcome.cause?.message ?? notice.result);
  upsertSearchAttributes([{ key: PHASE, value: isRefused ? REFUSED_PHASE : phase }]);
  upsertMemo({ why, run: notice.run, ...(isRefused ? {} : { outcome: notice.outcome }) } satisfies Partial<JobMemo>);
  describeBy(() => `**${phase}** ${why}`);
}
