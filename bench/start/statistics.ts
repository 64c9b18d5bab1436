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
