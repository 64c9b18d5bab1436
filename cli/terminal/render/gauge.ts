import type { Colour, Look } from './look.js';

/** A project's units of one type, beside the pool's total: one row of a gauge. */
export interface GaugeRow {
  /** In use, within its own quota. */
  readonly own: number;
  readonly borrowed: number;
  /** Unused units of its nominal quota. */
  readonly unused: number;
  readonly whole: number;
}

/**
 * A bar of at most `columns` columns in proportion to the whole; each nonzero part has at least one column. Parts beyond the
 * whole (a pool that was shrunk) end with the bar.
 */
export function gauge({ own, borrowed, unused, whole }: GaugeRow, columns: number, { symbols, paint }: Look): string {
  const parts: readonly (readonly [number, string, Colour])[] = [
    [own, symbols.own, 'green'],
    [borrowed, symbols.borrowed, 'yellow'],
    [unused, symbols.unused, 'dim'],
  ];
  let [sum, drawn, bar] = [0, 0, ''];
  for (const [units, symbol, colour] of parts) {
    if (units <= 0) continue;
    sum += units;
    const end = Math.min(columns, Math.max(drawn + 1, Math.round((sum / whole) * columns)));
    if (end > drawn) bar += paint(colour, symbol.repeat(end - drawn));
    drawn = Math.max(drawn, end);
  }
  return bar;
}
