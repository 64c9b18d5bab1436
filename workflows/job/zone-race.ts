import { condition, workflowInfo } from '@temporalio/workflow';
import type { JobSettings, JobView } from '../../contract/job.js';
import { type Cause, moveReason, type Told, toldText } from '../../domain/job-events/kinds.js';
import { JobPhase } from '../../domain/job-state.js';
import { askedMachines } from '../../domain/machines.js';
import type { EpochMs } from '../../domain/units.js';
import type { Gang } from './gang.js';
import { type Hedge, inTime, ZoneTurns } from './hedge.js';
import type { JobFile } from './job-file.js';
import type { LeaseHold } from './lease.js';
import type { SliceLoss } from './slice-members.js';
import type { Slices } from './slices.js';
import type { JobStory } from './story.js';
import type { ZoneAnswers, Zones } from './zones.js';

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
 * all slices is used, and the requests in the others are deleted (docs/adr/0101). Events in a zone beside the first cost no
 * retry.
 */
export class ZoneRace {
  readonly #parts: RaceParts;
  readonly #turns: ZoneTurns;
  /** The user was told that its pool has no room for a second request, and nothing has changed since. */
  #isNoRoomTold = false;
  /** See `Patience`. */
  #waitsUntil: EpochMs | undefined;

  constructor(parts: RaceParts) {
    this.#parts = parts;
    this.#turns = new ZoneTurns(parts, parts.gang.zones);
    parts.lease.onWithoutRoom = (why) => void this.#withdraw(why);
  }

  /** The slices that are asked for and their zones, for people. */
  get where(): Told {
    const { spec } = this.#parts.file;
    const { granted, otherTiers } = this.#parts.lease;
    const { accelerator, adopts } = askedMachines(spec);
    const zones = this.#turns.shown;
    const answers = this.#parts.answers.text(zones);
    const next = inTime(this.nextZone, this.#waitsUntil);
    const isAdopting = adopts !== undefined && !this.#parts.slices.wasReady;
    const asked = { slices: spec.slices, accelerator, zones, ...(isAdopting && { adopts }) };
    const facts = { ...asked, ...(answers !== '' && { answers }), ...(next && { next }) };
    if (granted === undefined || otherTiers.length === 0) return { kind: 'provisioning', facts };
    const { tier, pricing } = granted;
    return { kind: 'provisioning', facts: { ...facts, tier: { number: tier + 1, ...(pricing && { pricing }) } } };
  }

  /** Updates the job's reason, if it still waits for slices. */
  #sayWhere(): void {
    const { story, gang, slices } = this.#parts;
    gang.changed();
    if (story.phase === JobPhase.Provisioning && !slices.isWhole) story.move(JobPhase.Provisioning, this.where);
  }

  /** Like `#sayWhere`, but without an event: only the zone that comes next, or its time, has changed. */
  #sayNext(): void {
    const { story } = this.#parts;
    if (story.phase === JobPhase.Provisioning) story.restate(this.where);
  }

  get #zones(): Zones {
    return this.#parts.gang.zones;
  }

  get #hedge(): Hedge {
    return this.#turns.hedge;
  }

  /** The zone that is asked next if nothing happens before, and the time from which on it is asked. */
  get nextZone(): JobView['nextZone'] {
    const { rivals } = this.#parts.slices;
    // Its pool's answer to a request decides which zone comes next.
    const { next } = rivals.tries.length > rivals.shown.length ? {} : this.#turns;
    return next && { ...next, at: Math.max(next.at, Date.now()) };
  }

  /** Whether requests for its slices are in this zone, and may still get them. */
  isAsked(zone: string): boolean {
    return this.#turns.isAsked(zone);
  }

  /** Time at which a gang that is asked for or partly ready moves on, whatever its zone answers. Undefined: none is set. */
  get movesOnAt(): EpochMs | undefined {
    const { dueAt = 0 } = this.#hedge;
    return dueAt > Date.now() && this.#parts.slices.hasOwn ? dueAt : undefined;
  }

  /** Leaves the zone: the next slices are asked for in the next zone. */
  leaveZone(): void {
    this.#zones.leave();
    this.#turns.left();
  }

  /** Begins in this zone of the job: the next slices are asked for there. */
  begin(zone: string): void {
    this.#zones.begin(zone);
    this.#turns.beginRounds();
    this.#turns.entered();
  }

  /** Lets a job that asks for nothing yet begin in the best of its zones, as its pool sees them now. */
  choose(): void {
    const { slices } = this.#parts;
    if (slices.hasOwn || slices.rivals.tries.length > 0) return;
    const before = this.#zones.zone;
    this.#zones.choose();
    if (this.#zones.zone !== before) this.#turns.entered();
  }

  /** Called when the job waits for chips from now on, for this long. */
  waits({ patienceMs, waitsUntil }: Patience): void {
    this.#turns.patienceMs = patienceMs;
    this.#waitsUntil = waitsUntil;
  }

  /**
   * Starts the slices that are missing. Resolves when all are ready, in any zone, with the first loss, when it is no longer
   * wanted, or when the history is long.
   * @returns `in vain`: `waitsUntil` is over
   */
  async bringUp(isUnwanted: () => boolean): Promise<SliceLoss | 'in vain' | undefined> {
    const { slices, settings, answers } = this.#parts;
    const waitsUntil = this.#waitsUntil;
    // A rival may have come while the job paused.
    if (await this.#isWhole()) return undefined;
    // Knowledge from an earlier time in the line is out of date.
    if (!slices.hasOwn && slices.rivals.tries.length === 0) this.#hedge.leftZone();
    answers.asks(this.#zones.zone);
    await this.#parts.gang.startMissing(isUnwanted);
    if (!this.#hedge.isTimed) this.#hedge.wait(Date.now());
    const isNews = (): boolean => isUnwanted() || slices.isNews;
    for (;;) {
      this.#sayNext();
      const isDue = !(await waitFor(isNews, () => earliest(this.#hedge.dueAt, waitsUntil)));
      if (isUnwanted()) return undefined;
      this.#showRivals();
      if (await this.#isWhole()) return undefined;
      if (slices.loss) return slices.loss;
      if (waitsUntil !== undefined && Date.now() >= waitsUntil) return 'in vain';
      if (await this.#dropLost()) continue;
      if (isDue && !(await this.#moveOn())) return slices.late((this.#turns.patienceMs ?? 0) / 1000);
      if (workflowInfo().historyLength >= settings.timings.jobHistoryEvents) return undefined;
    }
  }

  /** The first zone that has all slices wins. */
  async #isWhole(): Promise<boolean> {
    const { slices } = this.#parts;
    const winner = slices.isWhole ? undefined : slices.rivals.ready;
    if (!slices.isWhole && winner === undefined) return false;
    if (winner !== undefined) await this.#follow(winner, {});
    await this.settle();
    return true;
  }

  /** Called when all slices of the job are ready. Repeating is safe. */
  async settle(): Promise<void> {
    await this.#dropRivals({ readyIn: this.#zones.zone });
    this.#hedge.clear();
    this.#isNoRoomTold = false;
    this.#zones.settle();
    this.#turns.beginRounds();
  }

  /** Drops a lost rival, which costs nothing. False: none is lost. */
  async #dropLost(): Promise<boolean> {
    const { slices } = this.#parts;
    const lost = slices.rivals.lost;
    if (lost === undefined) return false;
    const zone = this.#zones.of(lost.zoneTry);
    if (lost.cause === 'refused') this.#parts.answers.note(zone, lost);
    if (lost.cause !== 'lease') this.#parts.answers.asks(zone);
    // Requests that leave count until they are gone, so the pool may have room soon.
    const isCrowded = slices.rivals.tries.length > 1 || slices.rivals.isLeaving;
    const facts = { zone, beside: this.#zones.zone, message: lost.message };
    // First, so that what is told knows which zone comes next.
    if (lost.cause !== 'lease') this.#hedge.refuse(zone, Date.now());
    else if (isCrowded) this.#hedge.pause(Date.now());
    else {
      this.#hedge.deny();
      this.#hedge.act(Date.now());
    }
    const isAsked = lost.cause !== 'lease' || slices.rivals.shown.includes(lost.zoneTry);
    const told: Told | undefined = isAsked ? { kind: 'zone-lost', facts } : this.#noRoom(facts);
    await this.#drop(lost.zoneTry, told, told === undefined ? lost.message : toldText(told));
    return true;
  }

  /** The event that the pool has no room beside the first request. It is told once, because a full pool says no at each turn. */
  #noRoom({ zone, beside }: { readonly zone: string; readonly beside: string }): Told | undefined {
    if (this.#isNoRoomTold) return undefined;
    this.#isNoRoomTold = true;
    return { kind: 'no-room-beside', facts: { zone, beside } };
  }

  /** Drops all rivals: its pool has no room for more than one request, whatever the job is doing. */
  async #withdraw(reason: string): Promise<void> {
    if (this.#parts.slices.rivals.tries.length === 0) return;
    this.#hedge.deny();
    this.#hedge.wait(Date.now());
    await this.#dropRivals({ reason });
  }

  /** Asks one more zone. False: the job may have only one request, and leaves its zone. */
  async #moveOn(): Promise<boolean> {
    const { slices } = this.#parts;
    const now = Date.now();
    const { isAlone, most } = this.#turns;
    if (isAlone) return this.#staysAlone(now);
    const next = this.#turns.freeTry(now);
    if (next === undefined) {
      this.#hedge.rest(now);
      return true;
    }
    // The request that has waited longest makes place, so that each zone has its turn.
    const [oldest] = slices.rivals.tries;
    if (oldest !== undefined && slices.rivals.tries.length + 1 >= most)
      await this.#follow(oldest, { turnOf: this.#zones.of(next) });
    this.#hedge.wait(now, slices.rivals.tries.length + 2 >= most);
    await this.#startRival(next);
    return true;
  }

  /** Whether a job that may have only one request stays in its zone. */
  #staysAlone(now: EpochMs): boolean {
    const at = this.#turns.leavesAt(now);
    if (at !== undefined && at <= now) return false;
    this.#hedge.deny();
    this.#hedge.wait(now);
    return true;
  }

  async #startRival(zoneTry: number): Promise<void> {
    this.#zones.turn(zoneTry);
    await this.#parts.gang.startRival(zoneTry);
  }

  /** Tells the user of zones in which the pool has allowed a request beside the first. */
  #showRivals(): void {
    const { slices, story } = this.#parts;
    for (let next = slices.rivals.unshown; next !== undefined; next = slices.rivals.unshown) {
      slices.rivals.show(next);
      this.#hedge.allowed();
      this.#isNoRoomTold = false;
      story.note({ kind: 'zone-asked', facts: { zone: this.#zones.of(next), beside: this.#zones.zone } });
      this.#sayWhere();
    }
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
    this.#parts.answers.asks(this.#zones.zone);
    const facts = { from: former, to: this.#zones.zone, ...why };
    story.note({ kind: 'moved', facts });
    this.#sayWhere();
    const reason = moveReason(facts);
    await this.#parts.gang.tellToGo(leaving, reason);
  }

  /** Continues with the first zone that is asked beside the job's own. @returns false if no such zone is asked */
  async followRival(after: Cause): Promise<boolean> {
    const [first] = this.#parts.slices.rivals.tries;
    if (first === undefined) return false;
    await this.#follow(first, { after });
    this.#hedge.leftZone();
    return true;
  }

  async #dropRivals(why: { readonly readyIn: string } | { readonly reason: string }): Promise<void> {
    const { tries, shown } = this.#parts.slices.rivals;
    for (const zoneTry of tries) {
      const told: Told = { kind: 'zone-given-up', facts: { zone: this.#zones.of(zoneTry), ...why } };
      await this.#drop(zoneTry, shown.includes(zoneTry) ? told : undefined, toldText(told));
    }
  }

  /** @param told the event for the job's user. Absent: there is nothing to tell */
  async #drop(zoneTry: number, told: Told | undefined, reason: string): Promise<void> {
    const { slices, story } = this.#parts;
    const leaving = slices.rivals.drop(zoneTry);
    if (told !== undefined) {
      story.note(told);
      this.#sayWhere();
    }
    await this.#parts.gang.tellToGo(leaving, reason);
  }
}

const earliest = (a: EpochMs | undefined, b: EpochMs | undefined): EpochMs | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

/** @returns false if the time is over; true if there is news, or if the pool or a changed file has set another time */
async function waitFor(isNews: () => boolean, until: () => EpochMs | undefined): Promise<boolean> {
  const end = until();
  const isAnswered = (): boolean => isNews() || until() !== end;
  if (end !== undefined)
    return condition(isAnswered, Math.max(1, end - Date.now()), { summary: 'until another zone is asked' });
  await condition(isAnswered);
  return true;
}
