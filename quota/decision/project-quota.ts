import type { EpochMs } from '../../domain/units.js';
import type { Pricing } from '../../domain/slice.js';
import { inQuotaOrder } from '../nominal-quota.js';
import { type QuotaLease, tierOf } from '../quota-config.js';
import { addShape, fitsInto } from './room.js';
import type { Shape } from './shapes.js';

/** A workload that counts against a nominal quota: a lease or, if `lease` is absent, a request that got units in this pass. */
export interface Workload {
  readonly id: string;
  readonly priority: number;
  readonly startedAt: EpochMs;
  readonly shape: Shape;
  /** Tier of its units. */
  readonly tier: number;
  readonly lease?: QuotaLease;
}

/** @param tiers number of tiers of the pool */
export function workloadOf(lease: QuotaLease, shape: Shape, tiers: number): Workload {
  const { id, priority, startedAt } = lease;
  return { id, priority, startedAt, shape, tier: tierOf(lease, tiers), lease };
}

/** Usage by the workloads of one quota (rule 3). */
interface NominalUsage {
  /** Workloads that did not fit whole into the rest that earlier ones left. They use none of the nominal quota. */
  readonly borrowing: Workload[];
  /** Units of the nominal quota in use, by type. */
  readonly used: number[];
  /** The same units by the tier of the workloads, even if the project has no quota there. Empty in a pool of one tier. */
  readonly usedIn: number[][];
  /** Units of borrowing workloads, by type. */
  readonly borrowedUnits: number[];
}

/** Usage by workloads that count before a request. */
interface Before {
  readonly left: NominalLeft;
  readonly usedIn: number[][];
}

/**
 * One project's nominal quota, of all tiers together, and the workloads that count against it in the order (priority, start, id).
 * A request that starts now comes after all others of its priority. If it were placed by id among those of the same millisecond,
 * it could push one of them out.
 */
export class ProjectQuota {
  readonly nominal: Nominal;
  readonly #workloads: Workload[];
  /** Usage by workloads that count before a request, by the request's priority. Computed on demand, updated by each grant. */
  readonly #before = new Map<number, Before>();
  #usage: NominalUsage | undefined;
  /** Targets of this pass. They were borrowing, so removing them changes nothing for other workloads. */
  readonly #removed = new Set<Workload>();
  readonly hasLeases: boolean;

  constructor(nominal: Nominal, workloads: readonly Workload[]) {
    this.nominal = nominal;
    this.#workloads = workloads.toSorted(inQuotaOrder);
    this.hasLeases = workloads.length > 0;
  }

  get isEmpty(): boolean {
    return this.#workloads.length === 0;
  }

  nominalOf(type: number): number {
    return this.nominal.whole[type] ?? 0;
  }

  /** Whether a request would be within nominal quota, in every type, if it started now. */
  fits(shape: Shape, priority: number): boolean {
    return this.#of(priority).left.fits(shape);
  }

  /** Nominal quota that is left for a request of this priority. */
  leftFor(priority: number): NominalLeft {
    return this.#of(priority).left;
  }

  /** Units within nominal quota in one tier of workloads that count before a request of this priority. */
  usedBefore(priority: number, tier: number): readonly number[] {
    return this.#of(priority).usedIn[tier] ?? [];
  }

  /**
   * Counts a request that starts now, or as soon as its chips are free.
   * @returns whether other workloads may borrow because of it; if not, their usage is as before
   */
  add(workload: Workload): boolean {
    const { priority, shape, tier } = workload;
    const isLast = this.#insert(workload);
    const before = this.#of(priority);
    if (!before.left.fits(shape)) {
      // It borrows: workloads after it are not affected.
      this.#usage?.borrowing.push(workload);
      if (this.#usage !== undefined) addShape(this.#usage.borrowedUnits, shape);
      return false;
    }
    for (const other of this.#before.keys()) if (other > priority) this.#before.delete(other);
    before.left.count(shape);
    addUsed(before.usedIn, tier, shape);
    if (isLast && this.#usage !== undefined) {
      addShape(this.#usage.used, shape);
      addUsed(this.#usage.usedIn, tier, shape);
    } else this.#usage = undefined;
    return !isLast;
  }

  /** Inserts the workload after all others of its priority. @returns whether it is the last one */
  #insert(workload: Workload): boolean {
    let place = this.#workloads.length;
    while (place > 0 && (this.#workloads[place - 1]?.priority ?? 0) > workload.priority) place -= 1;
    if (place < this.#workloads.length) {
      this.#workloads.splice(place, 0, workload);
      return false;
    }
    this.#workloads.push(workload);
    return true;
  }

  /** Removes a borrowing lease that became a target. */
  remove(workload: Workload): void {
    this.#removed.add(workload);
    if (this.#usage !== undefined) addShape(this.#usage.borrowedUnits, workload.shape, -1);
  }

  usage(): NominalUsage {
    return (this.#usage ??= this.#count());
  }

  /** The usage if a request of this shape started now. `usedIn` does not include its units. */
  usageWith(shape: Shape, priority: number): NominalUsage {
    return this.#count(shape, priority);
  }

  #count(shape?: Shape, priority = 0): NominalUsage {
    const left = new NominalLeft(this.nominal);
    const borrowing: Workload[] = [];
    const borrowedUnits = this.nominal.whole.map(() => 0);
    const usedIn = this.#noUnits();
    let isPending = shape !== undefined;
    for (const workload of this.#workloads) {
      if (isPending && shape !== undefined && workload.priority > priority) {
        left.count(shape);
        isPending = false;
      }
      if (this.#removed.has(workload)) continue;
      if (left.fits(workload.shape)) {
        left.count(workload.shape);
        addUsed(usedIn, workload.tier, workload.shape);
      } else {
        borrowing.push(workload);
        addShape(borrowedUnits, workload.shape);
      }
    }
    const used = this.nominal.whole.map((units, type) => units - left.whole(type));
    return { borrowing, used, usedIn, borrowedUnits };
  }

  #of(priority: number): Before {
    const known = this.#before.get(priority);
    if (known !== undefined) return known;
    const before = { left: new NominalLeft(this.nominal), usedIn: this.#noUnits() };
    for (const workload of this.#workloads) {
      if (workload.priority > priority) break;
      if (this.#removed.has(workload) || !before.left.fits(workload.shape)) continue;
      before.left.count(workload.shape);
      addUsed(before.usedIn, workload.tier, workload.shape);
    }
    this.#before.set(priority, before);
    return before;
  }

  #noUnits(): number[][] {
    if (this.nominal.tiers < 2) return [];
    return Array.from({ length: this.nominal.tiers }, () => this.nominal.whole.map(() => 0));
  }
}

function addUsed(usedIn: readonly number[][], tier: number, shape: Shape): void {
  const used = usedIn[tier];
  if (used !== undefined) addShape(used, shape);
}

/** One project's nominal quota of each type, in quota units, by the pricing of its tiers. */
export class Nominal {
  /** Units by tier and number of the type. */
  readonly #byTier: readonly (readonly number[])[];
  /** Units over all tiers. */
  readonly whole: readonly number[];
  /** Units of tiers without a pricing, which serve all jobs. */
  readonly open: readonly number[];
  /** Units of the tiers of each pricing. Empty if no tier has one: then every job may use all tiers. */
  readonly bought: ReadonlyMap<Pricing, readonly number[]>;

  constructor(byTier: readonly (readonly number[])[], pricings: readonly (Pricing | undefined)[] = []) {
    this.#byTier = byTier;
    const types = byTier[0]?.map((_, type) => type) ?? [];
    const sumWhere = (isCounted: (tier: number) => boolean): readonly number[] =>
      types.map((type) => byTier.reduce((sum, units, tier) => sum + (isCounted(tier) ? (units[type] ?? 0) : 0), 0));
    this.whole = sumWhere(() => true);
    this.open = sumWhere((tier) => pricings[tier] === undefined);
    const named = new Set(pricings.filter((pricing) => pricing !== undefined));
    this.bought = new Map([...named].map((pricing) => [pricing, sumWhere((tier) => pricings[tier] === pricing)]));
  }

  get tiers(): number {
    return this.#byTier.length;
  }

  of(tier: number): readonly number[] {
    return this.#byTier[tier] ?? [];
  }
}

/**
 * Nominal quota that a project has left while workloads are counted against it (rule 3). A workload that names a pricing counts
 * against tiers of that pricing and tiers without one. A workload that names none counts against all. The tier that a lease is in
 * does not matter: a request fits if its units and all counted ones can be divided among such tiers. Units that exceed the tiers
 * of their pricing count against tiers without a pricing.
 */
class NominalLeft {
  readonly #nominal: Nominal;
  readonly #whole: number[];
  /**
   * Units of the tiers of each pricing, less the units of workloads that name it. Units below 0 count against tiers without a
   * pricing. Undefined if no tier has a pricing.
   */
  readonly #bought: Map<Pricing, number[]> | undefined;

  constructor(nominal: Nominal) {
    this.#nominal = nominal;
    this.#whole = nominal.whole.slice();
    if (nominal.bought.size === 0) return;
    this.#bought = new Map([...nominal.bought].map(([pricing, units]) => [pricing, units.slice()]));
  }

  fits(shape: Shape): boolean {
    if (!fitsInto(shape, this.#whole)) return false;
    if (this.#bought === undefined || shape.pricing === undefined) return true;
    return fitsInto(shape, this.#ofPricing(shape.pricing, this.#bought));
  }

  /** Counts a workload that fits. */
  count(shape: Shape): void {
    addShape(this.#whole, shape, -1);
    if (this.#bought === undefined || shape.pricing === undefined) return;
    const units = this.#bought.get(shape.pricing) ?? this.#whole.map(() => 0);
    this.#bought.set(shape.pricing, units);
    addShape(units, shape, -1);
  }

  /** Units of all tiers that no workload counts against. */
  whole(type: number): number {
    return this.#whole[type] ?? 0;
  }

  /** Units of one type that are left for a workload that names this pricing or none. */
  for(pricing: Pricing | undefined, type: number): number {
    const whole = this.whole(type);
    if (this.#bought === undefined || pricing === undefined) return whole;
    return Math.min(whole, this.#ofPricing(pricing, this.#bought)[type] ?? 0);
  }

  #ofPricing(pricing: Pricing, bought: ReadonlyMap<Pricing, readonly number[]>): readonly number[] {
    return this.#nominal.open.map((open, type) => {
      let units = open + (bought.get(pricing)?.[type] ?? 0);
      for (const [other, left] of bought) if (other !== pricing) units += Math.min(0, left[type] ?? 0);
      return units;
    });
  }
}
