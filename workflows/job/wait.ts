import { condition } from '@temporalio/workflow';
import type { JobView, SliceView } from '../../contract/job.js';
import type { Cause } from '../../domain/job-events/kinds.js';
import { JobPhase } from '../../domain/job-state.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { askedMachines } from '../../domain/machines.js';
import type { Problem } from '../../domain/problem.js';
import { durationText, type EpochMs, utc } from '../../domain/units.js';
import { boundedLine } from '../../domain/outside-text.js';
import type { Gang } from './gang.js';
import type { Interruptions } from './interruption.js';
import type { JobFile } from './job-file.js';
import type { Requests } from './requests.js';
import type { Slices } from './slices.js';
import type { JobCarry } from './state.js';
import type { JobStory } from './story.js';
import type { ZoneAnswers } from './zones.js';
import type { ZoneRace } from './zone-race.js';

export interface WaitParts {
  readonly file: JobFile;
  readonly story: JobStory;
  readonly requests: Requests;
  readonly slices: Slices;
  readonly gang: Gang;
  readonly race: ZoneRace;
  readonly interruptions: Interruptions;
  readonly answers: ZoneAnswers;
}

/** A job's wait for its pool and for chips, which `timeouts.queue` bounds as one, and the pauses in it. */
export class Wait {
  #since: EpochMs | undefined;
  /** The zone that is asked when the present pause ends. */
  #pausesFor: JobView['nextZone'];
  readonly #parts: WaitParts;

  constructor(parts: WaitParts, { waitingSince, attempt, submittedAt, spec, others }: Pick<JobCarry, WaitKey>) {
    this.#parts = parts;
    // A job without an attempt waits since its submit or, if it waits for others, since their end, even if the previous run
    // carried no time.
    const since = spec.after === undefined && others === undefined ? submittedAt : others?.overAt;
    this.#since = waitingSince ?? (attempt.number === 0 ? since : undefined);
  }

  /**
   * Notes that the job waits for chips, from now on or since before.
   * @returns the end of `timeouts.queue`, which covers all waiting since it last had all of its slices, or was submitted
   */
  readonly until = (): EpochMs | undefined => {
    this.#since ??= Date.now();
    return this.endsAt;
  };

  /** The end of `timeouts.queue` of a job that waits now. */
  get endsAt(): EpochMs | undefined {
    return this.#endOf(this.#timeouts);
  }

  /** `timeouts.queue` of a job whose wait for chips has not begun, in seconds. */
  get laterSeconds(): number | undefined {
    return this.#since === undefined ? this.#timeouts.queue : undefined;
  }

  #endOf({ queue }: NonNullable<JobSpec['timeouts']>): EpochMs | undefined {
    return queue === undefined || this.#since === undefined ? undefined : this.#since + queue * 1000;
  }

  /** Taken from a changed file even before it is in force: no file can be put in force while slices are being deleted. */
  get #timeouts(): NonNullable<JobSpec['timeouts']> {
    const { requests, file } = this.#parts;
    return (requests.edit?.spec ?? file.spec).timeouts ?? {};
  }

  /** Whether `timeouts.queue` is over for a job that waits. A zone that has all slices at this moment wins. */
  get isOver(): boolean {
    const until = this.until();
    return until !== undefined && Date.now() >= until && this.#parts.slices.rivals.ready === undefined;
  }

  /** Why a job that waits cannot take another file: it would end at once. Undefined: it can. */
  problemOf({ timeouts = {} }: Pick<JobSpec, 'timeouts'>, id: string): Problem | undefined {
    const until = this.#endOf(timeouts);
    if (until === undefined || this.#since === undefined || until > Date.now()) return undefined;
    const waits = durationText(Math.round((Date.now() - this.#since) / 1000));
    return {
      path: ['timeouts', 'queue'],
      value: timeouts.queue,
      message: `${durationText(timeouts.queue ?? 0)} would be over: job ${id} has waited for ${waits}, since ${utc(this.#since)}`,
      hint: `give it more, or end it: \`jobctl cancel ${id}\``,
    };
  }

  /** Ends the wait: the job waits for nothing until it loses slices, or a person asks for it. */
  end(): void {
    this.#since = undefined;
  }

  /** The outcome of a wait that is over, in words. @param what the reason of the wait */
  inVain(what: string): string {
    const { queue = 0 } = this.#timeouts;
    const waited = Math.round((Date.now() - (this.#since ?? Date.now())) / 1000);
    // The end comes seconds after its time. A worker that was away lets it come later.
    const seconds = waited <= queue + ENDS_WITHIN_SECONDS ? queue : waited;
    const said = [...this.#unasked, ...this.#waiting, ...[this.#parts.answers.text()].filter((text) => text !== '')];
    return `${what} for ${durationText(seconds)} (timeouts.queue)${said.length === 0 ? '' : `: ${said.join('; ')}`}`;
  }

  /** A sentence about zones that had no turn, if others had theirs. */
  get #unasked(): readonly string[] {
    const { answers, file } = this.#parts;
    const asked = new Set([...answers.asked, ...this.#open.map(({ ref }) => ref.zone)]);
    const zones = asked.size === 0 ? [] : askedMachines(file.spec).zones.filter((zone) => !asked.has(zone));
    if (zones.length === 0) return [];
    const more = zones.length > MOST_NAMED ? ` and ${zones.length - MOST_NAMED} more` : '';
    return [`${zones.slice(0, MOST_NAMED).join(', ')}${more} had no turn`];
  }

  /** The provider's words about requests that are still open, one for each zone. */
  get #waiting(): readonly string[] {
    const zones = new Map(this.#open.map(({ ref, detail = 'no answer' }) => [ref.zone, detail]));
    return [...zones].map(([zone, detail]) => `${zone}: ${boundedLine(detail, MOST_DETAIL)}`);
  }

  get #open(): readonly SliceView[] {
    const { slices } = this.#parts;
    return [...slices.views, ...slices.rivals.views].filter(({ state }) => state === 'starting');
  }

  /** The zone that is asked when the pause is over. Undefined: the job does not pause. */
  get pausesFor(): JobView['nextZone'] {
    return this.#pausesFor;
  }

  /**
   * Pauses before the same zone is asked again, and says why in `why` and lists.
   * @param isLeft a zone may still take the request
   */
  async pause(after: Cause, ms: number, isLeft: boolean): Promise<void> {
    const { story, gang, slices, interruptions, race } = this.#parts;
    const { zone } = gang;
    if (ms === 0) return;
    // A job whose slices are ready beside the first zone need not wait for that one.
    const isOver = (): boolean => interruptions.isUnwanted() || slices.rivals.ready !== undefined;
    const at = Math.min(Date.now() + ms, race.movesOnAt ?? Infinity);
    const until = Math.min(at, this.until() ?? Infinity);
    const facts = { after, zone, ...(until === at && { at }), ...(!isLeft && { isNoZoneLeft: true as const }) };
    story.move(JobPhase.Provisioning, { kind: 'backoff', facts });
    if (until === at) this.#pausesFor = { zone, at };
    await condition(isOver, Math.max(1, until - Date.now()), { summary: 'before slices are asked for again' });
    this.#pausesFor = undefined;
  }

  carry(): Pick<JobCarry, 'waitingSince'> {
    return this.#since === undefined ? {} : { waitingSince: this.#since };
  }
}

const MOST_NAMED = 5;
const MOST_DETAIL = 160;

type WaitKey = 'waitingSince' | 'attempt' | 'submittedAt' | 'spec' | 'others';
const ENDS_WITHIN_SECONDS = 60;
