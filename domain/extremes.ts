/**
 * The largest of all values and `least`. Not `Math.max(...values)`, because a call takes some 120,000 arguments, and a list from
 * outside may be longer.
 */
export function largest(values: Iterable<number>, least = -Infinity): number {
  let most = least;
  for (const value of values) most = Math.max(most, value);
  return most;
}

/** The smallest of all values, or Infinity if there are none. */
export function smallest(values: Iterable<number>): number {
  let least = Infinity;
  for (const value of values) least = Math.min(least, value);
  return least;
}
