import { createHash } from 'node:crypto';
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** CPU time of hashing `WORK` on the machine on which the patience of these tests was chosen. */
const REFERENCE_MS = 2.5;
const WORK = Buffer.alloc(4_000_000);
const MOST = 20;
/** Between two looks: many of them cost a call to a server each, and one to a worker. */
const MOST_PAUSE_MS = 200;
/** Of a wait that has lasted for long the pause is a twentieth, up to this: five looks a second at a stack cost half a processor. */
const MOST_LATE_PAUSE_MS = 500;

function cpuMsOfWork(): number {
  const before = process.cpuUsage();
  createHash('sha256').update(WORK).digest();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

const speed = Math.min(...Array.from({ length: 3 }, cpuMsOfWork)) / REFERENCE_MS;

/**
 * How many times slower this computer is now than a quiet one: by its processors, and by how many programs wait for each of them.
 * At least 1. Multiplies the patience of a wait, never a claim.
 */
export function slowness(): number {
  const [lastMinute = 0] = loadavg();
  const share = Math.max(1, lastMinute / availableParallelism());
  return Math.min(MOST, Math.max(1, speed) * share);
}

/** Thrown by a look: the claim cannot become true any more, e.g. because the program that would make it true has ended. */
export class Hopeless extends Error {}

/**
 * Waits for a claim to become true. The time is a deadline on a quiet computer, never a measure: a slow one gets more of it, by how
 * slow it is at the start and when the wait runs out. @throws with the claim's name and last error
 */
export async function until<T>(
  claim: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = 30_000,
): Promise<T> {
  const began = Date.now();
  let pauseMs = 20;
  let patienceMs = withinMs * slowness();
  for (;;) {
    let last: unknown;
    try {
      const seen = await look();
      if (seen) return seen;
    } catch (error) {
      if (error instanceof Hopeless) throw error;
      last = error;
    }
    if (Date.now() - began > patienceMs) {
      const now = withinMs * slowness();
      if (now <= patienceMs) throw new Error(overdue(claim, patienceMs, last));
      patienceMs = now;
    }
    await sleep(pauseMs);
    pauseMs = Math.max(Math.min(MOST_PAUSE_MS, pauseMs * 1.5), Math.min(MOST_LATE_PAUSE_MS, (Date.now() - began) / 20));
  }
}

const overdue = (claim: string, patienceMs: number, last: unknown): string =>
  `not within ${Math.round(patienceMs / 1_000)} s: ${claim}${last ? `; last error: ${String(last)}` : ''}`;
