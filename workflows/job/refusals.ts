import type { Fact } from '../../domain/recovery/facts.js';
import type { RefusalScope } from '../../domain/slice.js';
import type { Timings } from '../../domain/timings.js';

/** Refusals and failures in a row, since the slices of the job were last all ready. */
export interface RefusalsCarry {
  readonly count: number;
  /** The latest of these, since the present zone was entered. */
  readonly here: number;
  /** The last answer of each zone that will not take the request soon. Capacity, quota and refusals for a moment do not count. */
  readonly zones: Readonly<Record<string, Word>>;
  /** Tiers that the job has left and in which each zone called the request wrong in itself. Absent: none. */
  readonly wrongTiers?: readonly number[];
}

/** `wrong`: the request is wrong in itself. `lasting`: anything else that does not pass soon. */
type Word = 'wrong' | 'lasting';

export const NO_REFUSALS: RefusalsCarry = { count: 0, here: 0, zones: {} };

/** Counts the provider's refusals and failures of a job's slices, by zone, since the slices were last all ready. State only. */
export class Refusals {
  #count: number;
  #here: number;
  readonly #zones: Map<string, Word>;
  readonly #wrongTiers: Set<number>;
  readonly #timings: Pick<Timings, 'zoneBackoffMs' | 'zoneBackoffMaxMs'>;

  constructor(timings: Pick<Timings, 'zoneBackoffMs' | 'zoneBackoffMaxMs'>, carry: RefusalsCarry = NO_REFUSALS) {
    this.#timings = timings;
    this.#count = carry.count;
    this.#here = carry.here;
    this.#zones = new Map(Object.entries(carry.zones));
    this.#wrongTiers = new Set(carry.wrongTiers);
  }

  note(zone: string, scope: RefusalScope): void {
    this.noteFailure();
    if (LASTING.has(scope)) this.#zones.set(zone, scope === 'request' ? 'wrong' : 'lasting');
    // A zone without chips or quota has taken the request itself.
    else if (scope === 'zone') this.#zones.delete(zone);
  }

  /** Notes that a request which was accepted has failed. That says nothing about the next request. */
  noteFailure(): void {
    this.#count += 1;
    this.#here += 1;
  }

  /** Whether at least one of these zones has not refused for good. */
  isLeft(zones: readonly string[]): boolean {
    return zones.some((zone) => !this.#zones.has(zone));
  }

  /**
   * Whether a zone may still take the request. In general, that is a zone that has not refused for good. If the present zone
   * calls the request wrong in itself, it is one that has not called it so, in this tier or in another.
   * @param otherTiers other tiers in which the job could be, where it is bought in another way
   */
  standing(
    { zones, otherTiers }: { readonly zones: readonly string[]; readonly otherTiers: readonly number[] },
    because: Fact<'not ready', 'because'>,
  ): Fact<'not ready', 'zones'> {
    if (because !== 'request refused') return this.isLeft(zones) ? 'left' : 'none';
    return this.#isWrongIn(zones) && otherTiers.every((tier) => this.#wrongTiers.has(tier)) ? 'none' : 'left';
  }

  #isWrongIn(zones: readonly string[]): boolean {
    return zones.every((zone) => this.#zones.get(zone) === 'wrong');
  }

  /** Called when the next request is in another tier. Answers of zones about this tier do not apply to that one. */
  leftTier(tier: number | undefined, zones: readonly string[]): void {
    if (tier !== undefined && this.#isWrongIn(zones)) this.#wrongTiers.add(tier);
    this.#zones.clear();
    this.#here = 0;
  }

  /** Whether there are more refusals and failures here than a short trouble explains. */
  get areMany(): boolean {
    return this.#here >= MANY_HERE;
  }

  /** Called when the next request goes to another zone. */
  leftZone(): void {
    this.#here = 0;
  }

  /** Called when all slices are ready. */
  clear(): void {
    this.#count = 0;
    this.#here = 0;
    this.#zones.clear();
    this.#wrongTiers.clear();
  }

  /** Pause before the same zone is asked again, in ms. */
  get pauseHereMs(): number {
    return this.#backoff(this.#here);
  }

  /** Pause before the next of `zones` zones is asked, in ms: 0 until each has been asked once more. */
  pauseMs(zones: number): number {
    return this.#count % zones === 0 ? this.#backoff(this.#count / zones) : 0;
  }

  #backoff(times: number): number {
    const { zoneBackoffMs, zoneBackoffMaxMs } = this.#timings;
    return Math.min(zoneBackoffMs * 2 ** Math.max(0, times - 1), zoneBackoffMaxMs);
  }

  carry(): RefusalsCarry {
    const wrongTiers = [...this.#wrongTiers];
    return {
      ...{ count: this.#count, here: this.#here, zones: Object.fromEntries(this.#zones) },
      ...(wrongTiers.length === 0 ? {} : { wrongTiers }),
    };
  }
}

const MANY_HERE = 3;
const LASTING: ReadonlySet<RefusalScope> = new Set(['request', 'zone-lasting', 'permission', 'unknown']);
