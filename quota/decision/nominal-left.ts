import type { Pricing } from '../../domain/slice.js';
import { addShape, fitsInto } from './room.js';
import type { Shape } from './shapes.js';

/** One project's nominal quota of each type, in quota units, by the pricing of its tiers. */
export class Nominal {
  /** Units by tier and number of the type. */
  readonly #byTier: readonly (readonly number[])[];
  /** Units over all tiers. */
  readonly whole: readonly number[];
  /** Units of tiers without a pricing, which serve all jobs. */
  readonly open: readonly number[];
  /** Units of tiers with that pricing. Empty if no tier has one: then every job may use the whole. */
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
 * The rest of a project's nominal quota while workloads are counted against it (rule 3). A workload that names a pricing counts
 * against tiers of that pricing and tiers without one. A workload that names none counts against all. The split is a matter of
 * accounts, not of the tier that a lease is in: a request fits if any split holds it and all that were counted. If a pricing has
 * more workloads than tiers, the rest lies on tiers without a pricing.
 */
export class NominalLeft {
  readonly #nominal: Nominal;
  readonly #whole: number[];
  /**
   * Units of a pricing's tiers less workloads that name it, by pricing. A negative number of units lies on tiers without a
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

  /** Units of all tiers that are not counted against. */
  whole(type: number): number {
    return this.#whole[type] ?? 0;
  }

  /** Units of one type for a workload that names this pricing or none. */
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
