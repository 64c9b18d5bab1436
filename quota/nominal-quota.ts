import type { EpochMs } from '../domain/units.js';
import type { QuotaLease } from './quota-config.js';

/** A share as an exact fraction: the written decimal, not its nearest double. */
interface Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/**
 * Reads the shortest decimal that gives `value`, which is the one in the file.
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
