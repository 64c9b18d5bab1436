import type { JobSettings, JobView } from '../../contract/job.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { askedMachines } from '../../domain/machines.js';
import type { TierPurchase } from '../../domain/slice.js';
import type { Timings } from '../../domain/timings.js';
import type { EpochMs } from '../../domain/units.js';
import type { JobFile } from './job-file.js';
import type { LeaseHold } from './lease.js';
import type { Slices } from './slices.js';
import type { Zones } from './zones.js';

/**
 * Time for which one zone is asked alone before the job moves on, in ms: `timeouts.provision`, else a usual time if the provider
 * queues requests and several zones are named. Undefined: there is no other place, or the provider refuses a request that it has
 * no capacity for.
 */
export function zonePatienceMs(spec: JobSpec, timings: Timings, isPreempted: boolean): number | undefined {
  const { zones, hedge } = askedMachines(spec);
  const given = spec.timeouts?.provision;
  if (hedge === undefined) return given === undefined ? undefined : given * 1000;
  if (zones.length < 2) return undefined;
  if (given !== undefined) return given * 1000;
  return turnMs(spec, isPreempted ? timings.zonePatiencePreemptedMs : timings.zonePatienceMs);
}

/** The usual time, or less if `timeouts.queue` would otherwise not give each zone a turn. */
function turnMs(spec: JobSpec, usualMs: number): number {
  const { queue } = spec.timeouts ?? {};
  return queue === undefined ? usualMs : Math.min(usualMs, (queue * 1000) / askedMachines(spec).zones.length);
}

/**
 * Time for which a place in a provider's line is kept before another zone takes it, in ms. A request needs minutes from its grant
 * to READY. If requests were given up sooner, they would fail in every zone (docs/adr/0101).
 */
export function placeKeptMs(spec: JobSpec, { zonePatienceMs: usual }: Timings, patienceMs: number): number {
  return spec.timeouts?.provision === undefined ? Math.max(patienceMs, turnMs(spec, usual)) : patienceMs;
}

/** Requests for the whole gang that the job may have at once, 1 or more. */
export function mostRequests(spec: JobSpec, { limits }: Pick<JobSettings, 'limits'>, bought: TierPurchase): number {
  if (bought.pricing === 'reserved') return 1;
  return Math.min(askedMachines(spec).hedge ?? 1, limits?.requestsPerJob ?? Infinity);
}

/** When a job acts next: at a time, or when it has waited for long enough. `isFull`: it has as many requests as it may have. */
type Timer = { readonly at: EpochMs } | { readonly since: EpochMs; readonly isFull: boolean };

/** Times for which zones are asked before the job moves on, in ms. Undefined: for ever. */
interface HedgePatience {
  readonly patienceMs: number | undefined;
  /** The same for a job that has as many requests as it may have. */
  readonly keptMs: number | undefined;
}

/** Decides when a job leaves the zones that it asks, and which are asked beside the first (docs/adr/0101). State only. */
export class Hedge {
  #timer: Timer | undefined;
  #isDenied = false;
  /** Number of consecutive pauses because the pool had no room. */
  #pauses = 0;
  readonly #refused = new Map<string, { readonly times: number; readonly until: EpochMs }>();
  readonly #timings: Pick<Timings, 'zoneBackoffMs' | 'zoneBackoffMaxMs'>;
  /** Times of the job file in force, so that a changed file counts for a wait that has begun. */
  readonly #patience: () => HedgePatience;

  constructor(timings: Pick<Timings, 'zoneBackoffMs' | 'zoneBackoffMaxMs'>, patience: () => HedgePatience) {
    this.#timings = timings;
    this.#patience = patience;
  }

  /** Time at which the job acts if nothing happens before. Undefined: never. */
  get dueAt(): EpochMs | undefined {
    const timer = this.#timer;
    if (timer === undefined) return undefined;
    if ('at' in timer) return timer.at;
    const { patienceMs, keptMs } = this.#patience();
    const ms = timer.isFull ? keptMs : patienceMs;
    return ms === undefined ? undefined : timer.since + ms;
  }

  /** Whether it counts the time since a zone was asked. */
  get isTimed(): boolean {
    return this.#timer !== undefined;
  }

  /** Whether the pool has no room for a second request. */
  get isDenied(): boolean {
    return this.#isDenied;
  }

  /** Called when zones are asked from now on. @param isFull whether one more request would be too many */
  wait(now: EpochMs, isFull = false): void {
    this.#timer = { since: now, isFull };
  }

  deny(): void {
    this.#isDenied = true;
  }

  /** The pool has no room until requests that are being deleted are gone. The zone keeps its turn, after a growing pause. */
  pause(now: EpochMs): void {
    this.#pauses += 1;
    this.#timer = { at: now + this.#pauseMs(this.#pauses) };
  }

  /** Called when the pool has room. */
  allowed(): void {
    this.#pauses = 0;
  }

  act(now: EpochMs): void {
    this.#timer = { at: now };
  }

  /** Called when a zone refused a request beside the first. It is asked again after a growing pause. */
  refuse(zone: string, now: EpochMs): void {
    const times = (this.#refused.get(zone)?.times ?? 0) + 1;
    this.#refused.set(zone, { times, until: now + this.#pauseMs(times) });
    this.act(now);
  }

  #pauseMs(times: number): number {
    const { zoneBackoffMs, zoneBackoffMaxMs } = this.#timings;
    return Math.min(zoneBackoffMs * 2 ** (times - 1), zoneBackoffMaxMs);
  }

  isOpen(zone: string, now: EpochMs): boolean {
    return (this.#refused.get(zone)?.until ?? 0) <= now;
  }

  /** Times after `now` at which zones that refused may be asked again, the soonest first. */
  opensAfter(now: EpochMs): readonly EpochMs[] {
    return [...this.#refused.values()]
      .map(({ until }) => until)
      .filter((until) => until > now)
      .toSorted((a, b) => a - b);
  }

  /** Called when no zone is left to be asked now. The job waits until one may be asked again. */
  rest(now: EpochMs): void {
    const [at] = this.opensAfter(now);
    this.#timer = at === undefined ? undefined : { at };
  }

  /** Called when the job has left its first zone. The pool may have room for a request beside the next one. */
  leftZone(): void {
    this.#isDenied = false;
    this.#pauses = 0;
    this.#timer = undefined;
  }

  /** Called when all slices are ready. */
  clear(): void {
    this.leftZone();
    this.#refused.clear();
  }
}

interface TurnsParts {
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
  /** Number of moves to a zone in which the job had no request yet, since it last had all slices. */
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
    return this.#withOwn(this.#parts.slices.rivals.tries);
  }

  /** Those of `asked` of which the job's user was told. */
  get shown(): readonly string[] {
    return this.#withOwn(this.#parts.slices.rivals.shown);
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

  /** Whether it has one request, and no room for a second. */
  get isAlone(): boolean {
    return this.#parts.slices.rivals.tries.length === 0 && (this.most === 1 || this.hedge.isDenied);
  }

  /** The zone that is asked next if nothing happens before, and the time from which on it is asked. */
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
   * Time at which a job that may have only one request leaves its zone, if it looks at `looksAt`. After each round of moves the
   * job keeps its place in the provider's line for longer. Undefined while slices are ready. If the job file has
   * `timeouts.provision`, the time is `looksAt`.
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

  /** Called when the next slices are asked for in a zone in which the job has no request yet. */
  entered(): void {
    this.hedge.leftZone();
    this.#aloneSince = Date.now();
  }

  left(): void {
    this.#movedAlone += 1;
    this.entered();
  }

  /** Called when a person chose the zone that is entered, or when all slices are ready. */
  beginRounds(): void {
    this.#movedAlone = 0;
  }
}

/** Returns `next`, or undefined if the job's wait ends before. */
export const inTime = (next: JobView['nextZone'], waitsUntil: EpochMs | undefined): JobView['nextZone'] =>
  next === undefined || next.at < (waitsUntil ?? Infinity) ? next : undefined;

/** Limit of doublings of the time that a job keeps to one zone: the longest time is eight times the first. */
const MOST_DOUBLINGS = 3;
