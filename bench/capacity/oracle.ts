interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Bound {
  /** The longest possible time with chips, in ms. */
  readonly heldMs: number;
  /** The earliest possible chips, ms after the submit; undefined: no zone has any before the month ends. */
  readonly firstAfterMs: number | undefined;
}

/**
 * Returns the bound that no strategy can exceed, even if it knows the future, asks every zone at once, is always first in line
 * and waits for no deletion. The bound is the time in which some zone has chips, less `leastReadyMs` at the start of each window.
 */
export function upperBound(zones: readonly (readonly Span[])[], { from, to }: Span, leastReadyMs: number): Bound {
  const usable = zones
    .flat()
    .map((window) => ({ from: Math.max(window.from, from) + leastReadyMs, to: Math.min(window.to, to) }))
    .filter((span) => span.to > span.from)
    .toSorted((a, b) => a.from - b.from);
  const first = usable[0];
  let heldMs = 0;
  let until = 0;
  for (const span of usable) {
    heldMs += Math.max(0, span.to - Math.max(span.from, until));
    until = Math.max(until, span.to);
  }
  return { heldMs, firstAfterMs: first && first.from - from };
}
