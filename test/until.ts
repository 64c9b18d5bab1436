import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for a claim to become true; the time is a deadline, never a measure. @throws with the claim's name and last error. */
export async function until<T>(
  claim: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = 30_000,
): Promise<T> {
  const deadline = Date.now() + withinMs;
  let last: unknown;
  for (;;) {
    try {
      const seen = await look();
      if (seen) return seen;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline)
      throw new Error(`not within ${withinMs / 1000} s: ${claim}${last ? `; last error: ${String(last)}` : ''}`);
    await sleep(50);
  }
}
