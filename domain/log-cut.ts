/**
 * Time for which a stretch of log may be held back before it is cut into an object. Freshness costs one object per cut and host
 * (docs/design.md, "Logs and the store"). A young run is cut finely, since people look at it, an old one coarsely.
 * @param ageMs since this stream was opened.
 */
export function cutAfterMs(ageMs: number): number {
  if (ageMs < 60_000) return 300;
  if (ageMs < 10 * 60_000) return 2_000;
  return 10_000;
}

/** Bytes after which a stretch is cut at once. They also bound the memory per host. */
export const CUT_BYTES = 1_048_576;
