/** What a JSON value is made of: `text`, `number`, .., of a list its first element, of an object each key, sorted. */
export function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([key, inner]) => [key, shapeOf(inner)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}
