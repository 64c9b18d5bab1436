import type { JobSettings } from '../../contract/job.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { askedMachines } from '../../domain/machines.js';
import type { TierPurchase } from '../../domain/slice.js';
import type { Timings } from '../../domain/timings.js';
import type { EpochMs } from '../../domain/units.js';

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
  return isPreempted ? timings.zonePatiencePreemptedMs : timings.zonePatienceMs;
}

/**
 * Time for which a place in a provider's line is kept before another zone takes it, in ms. A request needs minutes from its grant
 * to READY, so that requests that are given up sooner fail in each zone (docs/adr/0101).
 */
export function placeKeptMs(spec: JobSpec, { zonePatienceMs: usual }: Timings, patienceMs: number): number {
  return spec.timeouts?.provision === undefined ? Math.max(patienceMs, usual) : patienceMs;
}

/** Requests for the whole gang that the job may have at once, 1 or more. */
export function mostRequests(spec: JobSpec, { limits }: Pick<JobSettings, 'limits'>, bought: TierPurchase): number {
  if (bought.pricing === 'reserved') return 1;
  return Math.min(askedMachines(spec).hedge ?? 1, limits?.requestsPerJob ?? Infinity);
}

/** When a job moves on from the zones that it asks, and which zones are asked beside the first (docs/adr/0101). State only. */
export class Hedge {
  #dueAt: EpochMs | undefined;
  #isDenied = false;
  readonly #refused = new Map<string, { readonly times: number; readonly until: EpochMs }>();
  readonly #timings: Pick<Timings, 'zoneBackoffMs' | 'zoneBackoffMaxMs'>;

  constructor(timings: Pick<Timings, 'zoneBackoffMs' | 'zoneBackoffMaxMs'>) {
    this.#timings = timings;
  }

  /** Time at which the job acts if nothing happens before. Undefined: never. */
  get dueAt(): EpochMs | undefined {
    return this.#dueAt;
  }

  /** The pool has no room for a second request. */
  get isDenied(): boolean {
    return this.#isDenied;
  }

  /** Zones are asked from now on. */
  wait(now: EpochMs, patienceMs: number | undefined): void {
    this.#dueAt = patienceMs === undefined ? undefined : now + patienceMs;
  }

  deny(now: EpochMs, patienceMs: number): void {
    this.#isDenied = true;
    this.#dueAt = now + patienceMs;
  }

  /** The zone refused a request beside the first. It is asked again after a pause, which grows. */
  refuse(zone: string, now: EpochMs): void {
    const times = (this.#refused.get(zone)?.times ?? 0) + 1;
    const { zoneBackoffMs, zoneBackoffMaxMs } = this.#timings;
    const pauseMs = Math.min(zoneBackoffMs * 2 ** (times - 1), zoneBackoffMaxMs);
    this.#refused.set(zone, { times, until: now + pauseMs });
    this.#dueAt = now;
  }

  isOpen(zone: string, now: EpochMs): boolean {
    return (this.#refused.get(zone)?.until ?? 0) <= now;
  }

  /** No zone is left to be asked now. The job waits until one may be asked again. */
  rest(now: EpochMs): void {
    const ends = [...this.#refused.values()].map(({ until }) => until).filter((until) => until > now);
    this.#dueAt = ends.length === 0 ? undefined : Math.min(...ends);
  }

  /** The job left its first zone alone: room may be found beside the next. */
  leftZone(): void {
    this.#isDenied = false;
    this.#dueAt = undefined;
  }

  /** All slices are ready. */
  clear(): void {
    this.leftZone();
    this.#refused.clear();
  }
}
