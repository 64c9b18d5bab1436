/**
 * How long a stretch of log may be held back before it is cut into an object. Freshness costs one object per cut and host
 * (docs/design.md, "Logs and the store"): a young run is cut finely, since somebody is looking at it, an old one coarsely.
 * @param ageMs since this stream was opened.
 */
export function cutAfterMs(ageMs: number): number {
  if (ageMs < 60_000) return 300;
  if (ageMs < 10 * 60_000) return 2_000;
  return 10_000;
}

/** Bytes after which a stretch is cut at once: also the bound of what is held in memory per host. */
export const CUT_BYTES = 1_048_576;
