import { type EpochMs, addUnits, unitsOf } from '../domain/units.js';
import type { Pricing } from '../domain/slice.js';
import { type QuotaLease, projectKey, type QuotaConfig } from './quota-config.js';
import { mayLieIn } from './decision/shapes.js';

/** A share as an exact fraction: the written decimal, not its nearest double. */
interface Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/**
 * Converts the shortest decimal that rounds to `value`: the one in the file.
 * @throws RangeError for NaN, infinity, less than 0
 */
function fractionOf(value: number): Fraction {
  if (!Number.isFinite(value) || value < 0) throw new RangeError(`share: ${value} is not a number of 0 or more`);
  const [digits = '0', exponent = '0'] = String(value).split('e');
  const [whole = '0', decimals = ''] = digits.split('.');
  const scale = decimals.length - Number(exponent);
  const numerator = BigInt(whole + decimals);
  return scale >= 0
    ? { numerator, denominator: 10n ** BigInt(scale) }
    : { numerator: numerator * 10n ** BigInt(-scale), denominator: 1n };
}

/**
 * Divides `total` into whole units by shares, by largest remainder, ties by name. If the shares add up to less than 1, the rest
 * goes to no project. If they add up to more than 1, they are weights (docs/facts.md, "Predecessors"). The units are never more
 * than `total` together, and each project's are less than one unit away from its exact share.
 * @param total units of one type in one tier, 0 or more, whole
 */
export function nominalQuota(total: number, shares: ReadonlyMap<string, number>): Map<string, number> {
  const fractions = [...shares].map(([name, share]) => ({ name, ...fractionOf(share) }));
  const denominator = fractions.reduce((product, fraction) => lcm(product, fraction.denominator), 1n);
  const weights = fractions.map(({ name, ...fraction }) => ({
    name,
    weight: fraction.numerator * (denominator / fraction.denominator),
  }));
  const sum = weights.reduce((added, { weight }) => added + weight, 0n);
  const whole = sum > denominator ? sum : denominator;
  const parts = weights.map(({ name, weight }) => {
    const product = weight * BigInt(total);
    return { name, units: product / whole, remainder: product % whole };
  });
  let left = (sum * BigInt(total)) / whole - parts.reduce((added, { units }) => added + units, 0n);
  const byRemainder = parts.toSorted((a, b) => compare(b.remainder, a.remainder) || compare(a.name, b.name));
  return new Map(
    byRemainder.map(({ name, units }) => {
      const extra = left > 0n ? 1n : 0n;
      left -= extra;
      return [name, Number(units + extra)];
    }),
  );
}

function lcm(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b];
  while (y !== 0n) [x, y] = [y, x % y];
  return (a / x) * b;
}

function compare<Value extends bigint | string>(a: Value, b: Value): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Order in which leases count against their project's nominal quota (rule 3). The id is arbitrary but fixed. */
export function inQuotaOrder(a: Counted, b: Counted): number {
  return a.priority - b.priority || a.startedAt - b.startedAt || compare(a.id, b.id);
}
type Counted = Pick<QuotaLease, 'id' | 'priority'> & { readonly startedAt: EpochMs };

/** Sizes of one gang of a project with nominal quota in several tiers, in quota units of one type (docs/adr/0126). */
export interface GangBound {
  readonly project: string;
  readonly type: string;
  /** The bound is for jobs that name this pricing. Absent: for jobs that name none. */
  readonly pricing?: Pricing;
  /** The project's nominal quota in all tiers that such a job may use. A larger gang borrows. */
  readonly nominal: number;
  /** Units of the largest of those tiers. A larger gang cannot start. */
  readonly tier: number;
  /** A gang of this size always has room in some tier, whatever others run within quota, if the project runs nothing else. */
  readonly sure: number;
}

/** The bounds of projects whose nominal quota exceeds the size that a gang can be sure of. Empty for a pool of one tier. */
export function gangBounds(config: QuotaConfig): readonly GangBound[] {
  if (config.kind === 'unlimited' || config.tiers.length < 2) return [];
  const named = config.tiers.map((_, tier) => config.rules?.tiers[tier]?.pricing);
  const pricings = new Set<Pricing | undefined>([undefined, ...named]);
  const promised = config.projects.flatMap(({ nominal }) => nominal).reduce(addUnits, {});
  const bounds = [...pricings].flatMap((pricing) => {
    const tiers = config.tiers.flatMap((_, tier) => (mayLieIn(config, asking(pricing), tier) ? [tier] : []));
    return config.projects.flatMap(({ name, nominal }): GangBound[] => {
      const own = nominal.reduce(addUnits, {});
      return Object.keys(own).map((type) => {
        const sizes = tiers.map((tier) => unitsOf(config.tiers[tier] ?? {}, type));
        const has = tiers.reduce((sum, tier) => sum + unitsOf(nominal[tier] ?? {}, type), 0);
        const others = unitsOf(promised, type) - unitsOf(own, type);
        const limit = config.rules?.lendingLimits[projectKey(name)]?.[type] ?? Infinity;
        const kept = tiers.map((tier) => unitsOf(nominal[tier] ?? {}, type) - limit);
        const sure = Math.min(has, Math.max(sureGang(sizes, others), ...kept));
        return { project: name, type, ...asking(pricing), nominal: has, tier: Math.max(0, ...sizes), sure };
      });
    });
  });
  return bounds.filter(({ nominal, sure }) => sure < nominal);
}

const asking = (pricing: Pricing | undefined): { readonly pricing?: Pricing } =>
  pricing === undefined ? {} : { pricing };

/**
 * The largest gang that `others` units cannot keep out of all tiers at once. To keep it out of one tier, they must leave less of
 * that tier than the gang needs.
 */
function sureGang(sizes: readonly number[], others: number): number {
  const isSure = (gang: number): boolean => sizes.reduce((sum, size) => sum + Math.max(0, size - gang + 1), 0) > others;
  let [sure, tooLarge] = [0, Math.max(0, ...sizes) + 1];
  while (tooLarge - sure > 1) {
    const middle = Math.floor((sure + tooLarge) / 2);
    if (isSure(middle)) sure = middle;
    else tooLarge = middle;
  }
  return sure;
}
