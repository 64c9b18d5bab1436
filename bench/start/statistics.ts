/** @throws RangeError for no values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new RangeError('no values');
  return middle;
}

/** `min .. max of n`. */
export function spread(values: readonly number[]): string {
  return `${Math.min(...values).toFixed(1)} .. ${Math.max(...values).toFixed(1)} of ${values.length}`;
}

/** The smallest value that at least `percent` % of the values do not exceed. @throws RangeError for no values */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)];
  if (value === undefined) throw new RangeError('no values');
  return value;
}
