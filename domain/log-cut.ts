/**
 * Time for which a stretch of log may be held back before it is cut into an object, in ms. Freshness costs one object per cut and
 * host (docs/design.md, "Logs and the store"): it is fine while somebody follows the job (docs/adr/0150) and while a run is young,
 * since people look at it, and else coarse: 2,880 objects a day.
 * @param ageMs since this stream was opened.
 */
export function cutAfterMs(ageMs: number, isFollowed: boolean): number {
  if (isFollowed || ageMs < FINE_MS) return 300;
  return ageMs < 10 * 60_000 ? 2_000 : 30_000;
}

/** Age until which a stream is cut finely whether it is followed or not, in ms. */
export const FINE_MS = 60_000;

/** Bytes after which a stretch is cut at once. They also bound the memory per host. */
export const CUT_BYTES = 1_048_576;
