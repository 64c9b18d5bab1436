import type { JobSettings } from '../../contract/job.js';
import { type Cause, toldText } from '../../domain/job-events/kinds.js';
import { JobPhase } from '../../domain/job-state.js';
import { askedMachines } from '../../domain/machines.js';
import type { Fact } from '../../domain/recovery/facts.js';
import { meter } from '../meter.js';
import type { Gang } from './gang.js';
import { zonePatienceMs } from './hedge.js';
import type { JobFile } from './job-file.js';
import type { LeaseHold } from './lease.js';
import { Refusals } from './refusals.js';
import type { SliceLoss } from './slice-members.js';
import type { Slices } from './slices.js';
import type { JobCarry } from './state.js';
import type { JobStory } from './story.js';
import type { Wait } from './wait.js';
import type { ZoneAnswers } from './zones.js';
import type { ZoneRace } from './zone-race.js';

export interface ZoneMovesParts {
  readonly file: JobFile;
  readonly story: JobStory;
  readonly slices: Slices;
  readonly settings: JobSettings;
  readonly lease: LeaseHold;
  readonly gang: Gang;
  readonly race: ZoneRace;
  readonly answers: ZoneAnswers;
  readonly wait: Wait;
}

/** Moves a job to another zone, or asks the same one again, after a refusal or a loss. `Recovery` decides when. */
export class ZoneMoves {
  /** Whether the provider took slices of the job since they were last all ready. */
  #isPreempted = false;
  readonly #refusals: Refusals;
  readonly #parts: ZoneMovesParts;

  constructor(parts: ZoneMovesParts, carry: Pick<JobCarry, 'refusals'>) {
    this.#parts = parts;
    this.#refusals = new Refusals(parts.settings.timings, carry.refusals);
  }

  get zones(): readonly string[] {
    return askedMachines(this.#parts.file.spec).zones;
  }

  /** Time for which a zone is asked before the job moves on, in ms. */
  get patienceMs(): number | undefined {
    return zonePatienceMs(this.#parts.file.spec, this.#parts.settings.timings, this.#isPreempted);
  }

  /** Called when all slices of the job are ready. */
  slicesReady(): void {
    this.#refusals.clear();
    this.#parts.answers.clear();
    this.#isPreempted = false;
    this.#parts.wait.end();
  }

  noteRefusal(refusal: Extract<SliceLoss, { readonly cause: 'refused' }>): void {
    const { zone } = this.#parts.gang;
    meter.refused(refusal.scope);
    this.#refusals.note(zone, refusal.scope);
    if (!('isByPool' in refusal)) this.#parts.answers.note(zone, refusal);
  }

  /** The zones and refusals, as facts for `decide`. */
  facts(because: Fact<'not ready', 'because'>) {
    const { otherTiers } = this.#parts.lease;
    return {
      zones: this.#refusals.standing({ zones: this.zones, otherTiers }, because),
      refusals: this.#refusals.areMany ? 'many' : 'few',
    } as const;
  }

  /** Called when the job got no chips in this tier, and asks for another tier. */
  leaveTier(tier: number | undefined): void {
    this.#refusals.leftTier(tier, this.zones);
  }

  /** Asks for the next slices in the next zone. After a round of refusals from all zones it pauses first. */
  async next(what: Cause, mayPause: boolean): Promise<void> {
    const { story, gang, slices, wait, race } = this.#parts;
    story.setBack(what);
    if (await this.#followRival(what)) return;
    story.move(JobPhase.Evicting, what);
    // A gang lies in one zone, so its slices that are here already go too.
    const all = slices.views.map(({ index }) => index);
    await gang.evict('another zone is asked for the whole gang', all, wait.until);
    if (await this.#followRival(what)) return;
    race.leaveZone();
    this.#refusals.leftZone();
    if (mayPause) await this.#pause(what, this.#refusals.pauseMs(this.zones.length));
  }

  /** Pauses, and asks the same zone again. Ready slices stay. */
  async askAgain(what: Cause): Promise<void> {
    const { story, gang, slices, wait } = this.#parts;
    story.setBack(what);
    await gang.evict(toldText(what), slices.refused, wait.until);
    await this.#pause(what, this.#refusals.pauseHereMs);
  }

  /** Called when the provider took slices. A zone that took all of them comes last. */
  async afterPreemption(what: Cause): Promise<void> {
    const { race, slices, gang } = this.#parts;
    if (slices.hasOwn) return;
    this.#isPreempted = true;
    gang.zones.preempted(Date.now());
    if (this.zones.length < 2 || (await this.#followRival(what))) return;
    race.leaveZone();
  }

  /**
   * Called when slices failed before all were ready, and were given up. The job pauses first, since a provider that fails at once
   * would use up the retries in seconds. It stays in its zone if it holds slices there and failures are few. If another zone is
   * already asked, it goes on with that one without a pause.
   */
  async afterFailure(what: Cause): Promise<void> {
    const { race, slices } = this.#parts;
    this.#refusals.noteFailure();
    if (this.zones.length < 2 || (slices.hasOwn && !this.#refusals.areMany))
      return this.#pause(what, this.#refusals.pauseHereMs);
    if (slices.hasOwn) return this.next(what, true);
    if (await this.#followRival(what)) return;
    race.leaveZone();
    this.#refusals.leftZone();
    await this.#pause(what, this.#refusals.pauseMs(this.zones.length));
  }

  #pause(after: Cause, ms: number): Promise<void> {
    return this.#parts.wait.pause(after, ms, this.#refusals.isLeft(this.zones));
  }

  /** Continues with another zone that is already asked. @returns false if no other zone is asked */
  async #followRival(what: Cause): Promise<boolean> {
    if (!(await this.#parts.race.followRival(what))) return false;
    this.#refusals.leftZone();
    return true;
  }

  carry(): Pick<JobCarry, 'refusals'> {
    const refusals = this.#refusals.carry();
    return refusals.count === 0 ? {} : { refusals };
  }
}
