import { condition, workflowInfo } from '@temporalio/workflow';
import type { JobSettings, JobView } from '../../contract/job.js';
import { type Cause, moveReason, type Told, toldText } from '../../domain/job-events/kinds.js';
import { JobPhase } from '../../domain/job-state.js';
import { askedMachines } from '../../domain/machines.js';
import type { EpochMs } from '../../domain/units.js';
import { type Gang, tellToGo } from './gang.js';
import { Hedge, mostRequests, placeKeptMs } from './hedge.js';
import type { JobFile } from './job-file.js';
import type { LeaseHold } from './lease.js';
import type { SliceLoss, Slices } from './slices.js';
import type { JobStory } from './story.js';
import type { ZoneAnswers } from './zone-answers.js';
import type { Zones } from './zones.js';

export interface RaceParts {
  readonly file: JobFile;
  readonly settings: JobSettings;
  readonly slices: Slices;
  readonly lease: LeaseHold;
  readonly story: JobStory;
  readonly gang: Gang;
  readonly answers: ZoneAnswers;
}

export interface Patience {
  /** Time for which zones are asked before the job moves on. Absent: for ever. */
  readonly patienceMs: number | undefined;
  /** End of all waiting. Absent: never. */
  readonly waitsUntil: EpochMs | undefined;
}

/**
 * Brings a gang up in a zone that has chips for it. A zone is asked alone for a while, then others beside it. The first that has
 * all slices is used, and the requests in the others go (docs/adr/0101). Events in a zone beside the first cost no retry.
 */
export class ZoneRace {
  readonly #parts: RaceParts;
  readonly #hedge: Hedge;
  #patienceMs = 0;
  /** Number of times that it left a zone with no other to go on with, since it last had all slices. */
  #movedAlone = 0;
  #aloneSince: EpochMs = Date.now();

  constructor(parts: RaceParts) {
    this.#parts = parts;
    this.#hedge = new Hedge(parts.settings.timings);
    parts.lease.onWithoutRoom = (why) => void this.#withdraw(why);
  }

  /** The slices that are asked for and their zones, for people. */
  get where(): Told {
    const { spec } = this.#parts.file;
    const { granted, otherTiers } = this.#parts.lease;
    const { accelerator } = askedMachines(spec);
    const answers = this.#parts.answers.text(this.#askedZones);
    const facts = { slices: spec.slices, accelerator, zones: this.#askedZones, ...(answers !== '' && { answers }) };
    if (granted === undefined || otherTiers.length === 0) return { kind: 'provisioning', facts };
    const { tier, pricing } = granted;
    return { kind: 'provisioning', facts: { ...facts, tier: { number: tier + 1, ...(pricing && { pricing }) } } };
  }

  /** Updates the job's reason, if it waits for its slices. */
  #sayWhere(): void {
    const { story, gang } = this.#parts;
    gang.changed();
    if (story.phase === JobPhase.Provisioning) story.move(JobPhase.Provisioning, this.where);
  }

  get #zones(): Zones {
    return this.#parts.gang.zones;
  }

  /** Zones that are asked, the job's own first. */
  get #askedZones(): readonly string[] {
    return [this.#zones.current, ...this.#parts.slices.rivals].map((each) => this.#zones.of(each));
  }

  /** The zone that is asked next, and when, if nothing happens before. */
  get nextZone(): JobView['nextZone'] {
    const { dueAt: at } = this.#hedge;
    if (at === undefined) return undefined;
    const next = this.#freeTry(at);
    return next === undefined ? undefined : { zone: this.#zones.of(next), at };
  }

  /** Time at which a gang that is partly there, or asked for, moves on whatever its zone says. Undefined: there is none to come. */
  get movesOnAt(): EpochMs | undefined {
    const { dueAt = 0 } = this.#hedge;
    return dueAt > Date.now() && this.#parts.slices.hasOwn ? dueAt : undefined;
  }

  /** The next slices are asked for in the next zone. */
  leaveZone(): void {
    this.#zones.leave();
    this.#movedAlone += 1;
    this.#enteredZone();
  }

  /** The next slices are asked for in this zone of the job. */
  begin(zone: string): void {
    this.#zones.begin(zone);
    this.#movedAlone = 0;
    this.#enteredZone();
  }

  /** A job that asks for nothing yet begins in the best of its zones, as its pool sees them now. */
  choose(): void {
    const { slices } = this.#parts;
    if (slices.hasOwn || slices.rivals.length > 0) return;
    const before = this.#zones.zone;
    this.#zones.choose();
    if (this.#zones.zone !== before) this.#enteredZone();
  }

  #enteredZone(): void {
    this.#hedge.leftZone();
    this.#aloneSince = Date.now();
  }

  /**
   * Starts the slices that are missing. Resolves when all are ready, in any zone, with the first loss, when it is no longer
   * wanted, or when the history is long.
   * @returns `in vain`: `waitsUntil` is over
   */
  async bringUp(
    isUnwanted: () => boolean,
    { patienceMs, waitsUntil }: Patience,
  ): Promise<SliceLoss | 'in vain' | undefined> {
    const { slices, settings } = this.#parts;
    this.#patienceMs = patienceMs ?? 0;
    // A rival may have come while the job paused.
    if (await this.#isWhole()) return undefined;
    // Knowledge from an earlier time in the line is out of date.
    if (!slices.hasOwn && slices.rivals.length === 0) this.#hedge.leftZone();
    await this.#parts.gang.startMissing(isUnwanted);
    if (this.#hedge.dueAt === undefined) this.#hedge.wait(Date.now(), patienceMs);
    const isNews = (): boolean => isUnwanted() || slices.isNews;
    for (;;) {
      const isDue = !(await waitFor(isNews, earliest(this.#hedge.dueAt, waitsUntil)));
      if (isUnwanted()) return undefined;
      if (await this.#isWhole()) return undefined;
      if (slices.loss) return slices.loss;
      if (waitsUntil !== undefined && Date.now() >= waitsUntil) return 'in vain';
      if (await this.#dropLost()) continue;
      if (isDue && !(await this.#moveOn(patienceMs))) return slices.late((patienceMs ?? 0) / 1000);
      if (workflowInfo().historyLength >= settings.timings.jobHistoryEvents) return undefined;
    }
  }

  /** The first zone that has all slices wins. */
  async #isWhole(): Promise<boolean> {
    const { slices } = this.#parts;
    const winner = slices.isWhole ? undefined : slices.readyRival;
    if (!slices.isWhole && winner === undefined) return false;
    if (winner !== undefined) await this.#follow(winner, {});
    await this.settle();
    return true;
  }

  /** All slices of the job are ready. Repeating is safe. */
  async settle(): Promise<void> {
    await this.#dropRivals({ readyIn: this.#zones.zone });
    this.#hedge.clear();
    this.#zones.settle();
    this.#movedAlone = 0;
  }

  /** Drops a lost rival, which costs nothing. False: none is lost. */
  async #dropLost(): Promise<boolean> {
    const { slices } = this.#parts;
    const lost = slices.lostRival;
    if (lost === undefined) return false;
    const zone = this.#zones.of(lost.zoneTry);
    if (lost.cause === 'refused') this.#parts.answers.note(zone, lost);
    // Requests that leave count until they are gone, so the pool may have room soon.
    const isCrowded = slices.rivals.length > 1 || slices.isLeaving;
    const facts = { zone, beside: this.#zones.zone, message: lost.message };
    await this.#drop(lost.zoneTry, { kind: 'zone-lost', facts });
    if (lost.cause === 'lease' && !isCrowded) this.#hedge.deny(Date.now(), 0);
    else this.#hedge.refuse(zone, Date.now());
    return true;
  }

  /** Drops all rivals: its pool has no room for more than one request, whatever the job is doing. */
  async #withdraw(reason: string): Promise<void> {
    if (this.#parts.slices.rivals.length === 0) return;
    this.#hedge.deny(Date.now(), this.#patienceMs);
    await this.#dropRivals({ reason });
  }

  /** Asks one more zone. False: the job may have only one request, and leaves its zone. */
  async #moveOn(patienceMs: number | undefined): Promise<boolean> {
    const { slices, lease, settings, file } = this.#parts;
    const now = Date.now();
    const most = mostRequests(file.spec, settings, lease.bought);
    if (slices.rivals.length === 0 && (most === 1 || this.#hedge.isDenied)) return this.#staysAlone(now, patienceMs);
    const next = this.#freeTry(now);
    if (next === undefined) {
      this.#hedge.rest(now);
      return true;
    }
    // The request that has waited longest makes place, so that each zone has its turn.
    const [oldest] = slices.rivals;
    if (oldest !== undefined && slices.rivals.length + 1 >= most)
      await this.#follow(oldest, { turnOf: this.#zones.of(next) });
    await this.#startRival(next);
    const isFull = slices.rivals.length + 1 >= most;
    const keptMs = patienceMs && placeKeptMs(file.spec, settings.timings, patienceMs);
    this.#hedge.wait(now, isFull ? keptMs : patienceMs);
    return true;
  }

  /**
   * Whether a job that may have only one request stays in its zone. A place in the provider's line is given up ever later, and
   * not while slices are ready, unless the job file says how long (`timeouts.provision`).
   */
  #staysAlone(now: EpochMs, patienceMs: number | undefined): boolean {
    const { slices, file, settings } = this.#parts;
    if (file.spec.timeouts?.provision !== undefined || patienceMs === undefined) return false;
    const rounds = Math.floor(this.#movedAlone / (this.#zones.others.length + 1));
    const keptMs = placeKeptMs(file.spec, settings.timings, patienceMs);
    const isOver = now - this.#aloneSince >= keptMs * 2 ** Math.min(rounds, MOST_DOUBLINGS);
    if (isOver && slices.ready.length === 0) return false;
    this.#hedge.deny(now, patienceMs);
    return true;
  }

  /** The next zone that is not asked now and has not just refused. */
  #freeTry(now: EpochMs): number | undefined {
    const asked = new Set(this.#askedZones);
    return this.#zones.others.find((each) => {
      const zone = this.#zones.of(each);
      return !asked.has(zone) && this.#hedge.isOpen(zone, now);
    });
  }

  async #startRival(zoneTry: number): Promise<void> {
    const { gang, story } = this.#parts;
    const zone = this.#zones.of(zoneTry);
    this.#zones.turn(zoneTry);
    await gang.startRival(zoneTry);
    story.note({ kind: 'zone-asked', facts: { zone, beside: this.#zones.zone } });
    this.#sayWhere();
  }

  /**
   * The requests of this rival are the job's own from now on. The former ones are told to end, and are not waited for: their
   * lease counts them until they are seen gone.
   */
  async #follow(zoneTry: number, why: { readonly after?: Cause; readonly turnOf?: string }): Promise<void> {
    const { slices, story } = this.#parts;
    const former = this.#zones.zone;
    const leaving = slices.follow(zoneTry, this.#zones.current);
    this.#zones.follow(zoneTry);
    const facts = { from: former, to: this.#zones.zone, ...why };
    story.note({ kind: 'moved', facts });
    this.#sayWhere();
    const reason = moveReason(facts);
    await Promise.all(leaving.map((ref) => tellToGo(ref, reason)));
  }

  /** @returns false: no other zone is asked beside the first */
  async followRival(after: Cause): Promise<boolean> {
    const [first] = this.#parts.slices.rivals;
    if (first === undefined) return false;
    await this.#follow(first, { after });
    this.#hedge.leftZone();
    return true;
  }

  async #dropRivals(why: { readonly readyIn: string } | { readonly reason: string }): Promise<void> {
    for (const zoneTry of this.#parts.slices.rivals)
      await this.#drop(zoneTry, { kind: 'zone-given-up', facts: { zone: this.#zones.of(zoneTry), ...why } });
  }

  async #drop(zoneTry: number, why: Told): Promise<void> {
    const { slices, story } = this.#parts;
    const leaving = slices.drop(zoneTry);
    story.note(why);
    this.#sayWhere();
    const reason = toldText(why);
    await Promise.all(leaving.map((ref) => tellToGo(ref, reason)));
  }
}

const earliest = (a: EpochMs | undefined, b: EpochMs | undefined): EpochMs | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

/** False: the time is over. */
async function waitFor(isNews: () => boolean, until: EpochMs | undefined): Promise<boolean> {
  if (until !== undefined)
    return condition(isNews, Math.max(1, until - Date.now()), { summary: 'until another zone is asked' });
  await condition(isNews);
  return true;
}

/** The longest that a job stays alone in a zone is eight times as long as the first. */
const MOST_DOUBLINGS = 3;
