interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Bound {
  /** The longest time with chips, in ms. */
  readonly heldMs: number;
  /** The earliest chips, counted from the submit; undefined: there are none in that month. */
  readonly firstAfterMs: number | undefined;
}

/**
 * What no strategy can exceed, even if it knows the future, asks everywhere at once, is always the first in line and waits for no
 * deletion: the time in which some zone has chips, each window from its begin and the shortest time to READY on.
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
