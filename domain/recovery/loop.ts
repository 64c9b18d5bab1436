/** Number of ends in a row that came within `QUICK_MS` of their start. */
export type QuickEnds = number;

const QUICK_MS = 60_000;
const MOST_QUICK_ENDS = 10;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;

/**
 * Pause before the next start of a command that loops, in ms. It doubles while the command ends quickly, about 9 min in all, and
 * is a second after a command that ran for a while. Without `pauseMs` the loop gives up.
 */
export function afterEnd(before: QuickEnds, lastedMs: number): { quickEnds: QuickEnds; pauseMs?: number } {
  const quickEnds = lastedMs < QUICK_MS ? before + 1 : 0;
  if (quickEnds >= MOST_QUICK_ENDS) return { quickEnds };
  const doublings = Math.max(0, quickEnds - 1);
  return { quickEnds, pauseMs: Math.min(FIRST_PAUSE_MS * 2 ** doublings, LONGEST_PAUSE_MS) };
}

export const gaveUpText = (lastEnd: string): string =>
  `${lastEnd}; it ended ${MOST_QUICK_ENDS} times in a row, each within ${QUICK_MS / 1000} s of its start, so its loop gives up`;
