import { condition, workflowInfo } from '@temporalio/workflow';
import type { JobSettings, JobView } from '../../contract/job.js';
import { JobPhase } from '../../domain/job-state.js';
import { formatSlices } from '../../domain/machines.js';
import type { EpochMs } from '../../domain/units.js';
import { type Gang, tellToGo } from './gang.js';
import { Hedge, mostRequests } from './hedge.js';
import type { JobFile } from './job-file.js';
import type { LeaseHold } from './lease.js';
import type { SliceLoss, Slices } from './slices.js';
import type { JobStory } from './story.js';
import type { Zones } from './zones.js';

export interface RaceParts {
  readonly file: JobFile;
  readonly settings: JobSettings;
  readonly slices: Slices;
  readonly lease: LeaseHold;
  readonly story: JobStory;
  readonly gang: Gang;
}

export interface Patience {
  /** How long zones are asked before the job moves on. Absent: for ever. */
  readonly patienceMs: number | undefined;
  /** When all waiting is over. Absent: never. */
  readonly waitsUntil: EpochMs | undefined;
}

/**
 * Brings a gang up where there are chips for it. A zone is asked alone for a while, then others beside it: the first that has all
 * slices is used, and the requests in the others go (docs/adr/0101). What happens in a zone beside the first costs no retry.
 */
export class ZoneRace {
  readonly #parts: RaceParts;
  readonly #hedge: Hedge;

  constructor(parts: RaceParts) {
    this.#parts = parts;
    this.#hedge = new Hedge(parts.settings.timings);
  }

  get #zones(): Zones {
    return this.#parts.gang.zones;
  }

  /** The job's own first. */
  get #askedZones(): readonly string[] {
    return [this.#zones.current, ...this.#parts.slices.rivals].map((each) => this.#zones.of(each));
  }

  /** Which zone is asked next, and when, if nothing happens before. */
  get nextZone(): JobView['nextZone'] {
    const { dueAt: at } = this.#hedge;
    if (at === undefined) return undefined;
    const next = this.#freeTry(at);
    return next === undefined ? undefined : { zone: this.#zones.of(next), at };
  }

  /** The next slices are asked for in the next zone. */
  leaveZone(): void {
    this.#zones.leave();
    this.#hedge.leftZone();
  }

  /**
   * Starts the slices that are missing. Resolves when all are ready, in whichever zone, with the first loss, when it is no longer
   * wanted, or when the history is long.
   * @returns `in vain`: `waitsUntil` is over
   */
  async bringUp(
    isUnwanted: () => boolean,
    { patienceMs, waitsUntil }: Patience,
  ): Promise<SliceLoss | 'in vain' | undefined> {
    const { slices, lease, settings } = this.#parts;
    // A rival may have come while the job paused.
    if (await this.#isWhole()) return undefined;
    await this.#parts.gang.startMissing(isUnwanted);
    if (this.#hedge.dueAt === undefined) this.#hedge.wait(Date.now(), patienceMs);
    const isNews = (): boolean => isUnwanted() || slices.isNews || lease.isWithoutRoom;
    for (;;) {
      const isDue = !(await waitFor(isNews, earliest(this.#hedge.dueAt, waitsUntil)));
      if (isUnwanted()) return undefined;
      if (await this.#isWhole()) return undefined;
      if (isDue && waitsUntil !== undefined && Date.now() >= waitsUntil) return 'in vain';
      if (slices.loss) return slices.loss;
      if (await this.#isSettledBeside(patienceMs ?? 0)) continue;
      if (isDue && !(await this.#moveOn(patienceMs))) return slices.late((patienceMs ?? 0) / 1000);
      if (workflowInfo().historyLength >= settings.timings.jobHistoryEvents) return undefined;
    }
  }

  /** The first zone that has all of it wins. */
  async #isWhole(): Promise<boolean> {
    const { slices } = this.#parts;
    const winner = slices.isWhole ? undefined : slices.readyRival;
    if (!slices.isWhole && winner === undefined) return false;
    if (winner !== undefined) await this.#follow(winner, `all slices are ready in ${this.#zones.of(winner)}`);
    await this.#dropRivals(`all slices are ready in ${this.#zones.zone}`);
    this.#hedge.clear();
    return true;
  }

  /** What happened beside the job's first zone, and costs nothing. */
  async #isSettledBeside(patienceMs: number): Promise<boolean> {
    const { slices, lease } = this.#parts;
    const lost = slices.lostRival;
    if (lost !== undefined) {
      const zone = this.#zones.of(lost.zoneTry);
      await this.#drop(lost.zoneTry, `${zone} is given up beside ${this.#zones.zone}: ${lost.message}`);
      if (lost.cause === 'lease' && slices.rivals.length === 0) this.#hedge.deny(Date.now(), 0);
      else this.#hedge.refuse(zone, Date.now());
      return true;
    }
    const why = lease.takeWithoutRoom();
    if (why === undefined) return false;
    if (slices.rivals.length > 0) {
      await this.#dropRivals(why);
      this.#hedge.deny(Date.now(), patienceMs);
    }
    return true;
  }

  /** Asks one more zone. False: the job may have one request alone, and leaves its zone. */
  async #moveOn(patienceMs: number | undefined): Promise<boolean> {
    const { slices, lease, settings, file } = this.#parts;
    const now = Date.now();
    const most = mostRequests(file.spec, settings, lease.bought);
    if (slices.rivals.length === 0 && (most === 1 || this.#hedge.isDenied)) return false;
    const next = this.#freeTry(now);
    if (next === undefined || this.#hedge.isDenied) {
      this.#hedge.rest(now);
      return true;
    }
    // What has waited longest makes place, so that each zone has its turn.
    const [oldest] = slices.rivals;
    if (oldest !== undefined && slices.rivals.length + 1 >= most)
      await this.#follow(oldest, `${this.#zones.of(next)} has its turn`);
    await this.#startRival(next);
    this.#hedge.wait(now, patienceMs);
    return true;
  }

  /** The next zone that is not asked now, and has not refused just now. */
  #freeTry(now: EpochMs): number | undefined {
    const asked = new Set(this.#askedZones);
    return this.#zones.others.find((each) => {
      const zone = this.#zones.of(each);
      return !asked.has(zone) && this.#hedge.isOpen(zone, now);
    });
  }

  async #startRival(zoneTry: number): Promise<void> {
    const { gang, story, file } = this.#parts;
    const zone = this.#zones.of(zoneTry);
    await gang.startRival(zoneTry);
    story.note(`${zone} is asked beside ${this.#zones.zone}: the first that has all slices is used`);
    story.move(
      JobPhase.Provisioning,
      `${formatSlices(file.spec)} in ${this.#askedZones.join(' or ')}, whichever has it first`,
    );
  }

  /**
   * The job's own requests are those of this rival from now on. The former are told to go, and nobody waits for it: their lease
   * counts them until they are seen gone.
   */
  async #follow(zoneTry: number, why: string): Promise<void> {
    const { slices, story } = this.#parts;
    const former = this.#zones.zone;
    const leaving = slices.follow(zoneTry, this.#zones.current);
    this.#zones.follow(zoneTry);
    story.note(`${why}: its requests in ${former} are given up`);
    this.#parts.gang.changed();
    await Promise.all(leaving.map((ref) => tellToGo(ref, why)));
  }

  /** A zone beside the first has all slices: who waits for something else need not wait. */
  get isWon(): boolean {
    return this.#parts.slices.readyRival !== undefined;
  }

  /** @returns false: no other zone is asked beside the first */
  async followRival(why: string): Promise<boolean> {
    const [first] = this.#parts.slices.rivals;
    if (first === undefined) return false;
    await this.#follow(first, why);
    this.#hedge.leftZone();
    return true;
  }

  async #dropRivals(why: string): Promise<void> {
    for (const zoneTry of this.#parts.slices.rivals)
      await this.#drop(zoneTry, `${why}: ${this.#zones.of(zoneTry)} is given up`);
  }

  async #drop(zoneTry: number, why: string): Promise<void> {
    const { slices, story } = this.#parts;
    const leaving = slices.drop(zoneTry);
    story.note(why);
    this.#parts.gang.changed();
    await Promise.all(leaving.map((ref) => tellToGo(ref, why)));
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
