import type { JobSettings, JobView } from '../../contract/job.js';
import type { EpochMs } from '../../domain/units.js';
import { Hedge, mostRequests, placeKeptMs } from './hedge.js';
import type { JobFile } from './job-file.js';
import type { LeaseHold } from './lease.js';
import type { Slices } from './slices.js';
import type { Zones } from './zones.js';

export interface TurnsParts {
  readonly file: JobFile;
  readonly settings: JobSettings;
  readonly slices: Slices;
  readonly lease: LeaseHold;
}

/** Which zone a job without chips asks next, and when. State only: `ZoneRace` asks. */
export class ZoneTurns {
  readonly hedge: Hedge;
  /** Time for which zones are asked before the job moves on. Undefined: for ever. */
  patienceMs: number | undefined;
  /** Number of times that it left a zone with no other to go on with, since it last had all slices. */
  #movedAlone = 0;
  #aloneSince: EpochMs = Date.now();
  readonly #zones: Zones;
  readonly #parts: TurnsParts;

  constructor(parts: TurnsParts, zones: Zones) {
    this.#parts = parts;
    this.#zones = zones;
    const { timings } = parts.settings;
    this.hedge = new Hedge(timings, () => ({ patienceMs: this.patienceMs, keptMs: this.#keptMs }));
  }

  get #keptMs(): number | undefined {
    const { file, settings } = this.#parts;
    return this.patienceMs === undefined ? undefined : placeKeptMs(file.spec, settings.timings, this.patienceMs);
  }

  /** Zones that are asked, the job's own first. */
  get asked(): readonly string[] {
    return this.#withOwn(this.#parts.slices.rivals);
  }

  /** Those of `asked` of which the job's user was told. */
  get shown(): readonly string[] {
    return this.#withOwn(this.#parts.slices.shownRivals);
  }

  #withOwn(rivals: readonly number[]): readonly string[] {
    return [this.#zones.current, ...rivals].map((each) => this.#zones.of(each));
  }

  /** Whether requests for its slices are in this zone, and may still get them. */
  isAsked(zone: string): boolean {
    const { slices } = this.#parts;
    return this.asked.some((each, at) => each === zone && (at > 0 || slices.isAsking));
  }

  /** Requests that the job may have at once. */
  get most(): number {
    const { file, settings, lease } = this.#parts;
    return mostRequests(file.spec, settings, lease.bought);
  }

  /** It has one request, and no room for a second. */
  get isAlone(): boolean {
    return this.#parts.slices.rivals.length === 0 && (this.most === 1 || this.hedge.isDenied);
  }

  /** The zone that is asked next, and from when on, if nothing happens before. */
  get next(): JobView['nextZone'] {
    const { dueAt } = this.hedge;
    if (dueAt === undefined) return undefined;
    if (this.isAlone) return this.#shown(this.#zones.others[0], this.leavesAt(dueAt));
    const times = [dueAt, ...this.hedge.opensAfter(dueAt)];
    const at = times.find((each) => this.freeTry(each) !== undefined);
    return at === undefined ? undefined : this.#shown(this.freeTry(at), at);
  }

  #shown(zoneTry: number | undefined, at: EpochMs | undefined): JobView['nextZone'] {
    return zoneTry === undefined || at === undefined ? undefined : { zone: this.#zones.of(zoneTry), at };
  }

  /** The next zone that is not asked now and has not just refused. */
  freeTry(now: EpochMs): number | undefined {
    const asked = new Set(this.asked);
    return this.#zones.others.find((each) => {
      const zone = this.#zones.of(each);
      return !asked.has(zone) && this.hedge.isOpen(zone, now);
    });
  }

  /**
   * When a job that may have only one request leaves its zone, if it looks at this time. A place in the provider's line is given up
   * ever later, and not while slices are ready (undefined), unless the job file says how long (`timeouts.provision`).
   */
  leavesAt(looksAt: EpochMs): EpochMs | undefined {
    const { slices, file } = this.#parts;
    const { patienceMs } = this;
    const keptMs = this.#keptMs;
    if (file.spec.timeouts?.provision !== undefined || patienceMs === undefined || keptMs === undefined) return looksAt;
    if (slices.ready.length > 0) return undefined;
    const rounds = Math.floor(this.#movedAlone / (this.#zones.others.length + 1));
    const until = this.#aloneSince + keptMs * 2 ** Math.min(rounds, MOST_DOUBLINGS);
    // It looks again each time its patience is over.
    return looksAt + Math.max(0, Math.ceil((until - looksAt) / patienceMs)) * patienceMs;
  }

  /** Its next slices are asked for in another zone, with no other to go on with. */
  entered(): void {
    this.hedge.leftZone();
    this.#aloneSince = Date.now();
  }

  left(): void {
    this.#movedAlone += 1;
    this.entered();
  }

  /** A person chose the zone that is entered, or all slices are ready. */
  beginRounds(): void {
    this.#movedAlone = 0;
  }
}

/** Undefined also if the wait ends before. */
export const inTime = (next: JobView['nextZone'], waitsUntil: EpochMs | undefined): JobView['nextZone'] =>
  next === undefined || next.at < (waitsUntil ?? Infinity) ? next : undefined;

/** The longest that a job stays alone in a zone is eight times as long as the first. */
const MOST_DOUBLINGS = 3;
