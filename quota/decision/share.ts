/** A share of something as an exact fraction. Both whole, 0 or more; a part of 0 is more than any share of something. */
export interface Share {
  readonly part: number;
  readonly of: number;
}

export const NO_SHARE: Share = { part: 0, of: 1 };

/** Less than 0 where `a` is the smaller one. Cross-multiplied: 1 of 5 is exactly 2 of 10. */
export function compareShares(a: Share, b: Share): number {
  const left = a.part * b.of;
  const right = b.part * a.of;
  if (left <= Number.MAX_SAFE_INTEGER && right <= Number.MAX_SAFE_INTEGER) return left - right;
  return Number(BigInt(a.part) * BigInt(b.of) - BigInt(b.part) * BigInt(a.of));
}
