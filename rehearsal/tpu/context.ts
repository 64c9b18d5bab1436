import type { Random } from '../random.js';

/**
 * The outside parts that the cloud needs: time, randomness, and a listener. With these given, only calls determine what it does.
 */
export interface CloudContext {
  /** The cloud's time, epoch ms; never goes back. */
  readonly now: () => number;
  /** Source of queue times, ids and addresses. */
  readonly random: Random;
  /** Second octet of every host's address: 127.S.a.b. */
  readonly subnetOctet: number;
  /** Receives each event, in order, while `now` is the time of the event. */
  readonly record: (kind: string, subject: string, details: Readonly<Record<string, unknown>>) => void;
  /** Runs `run` with `now` at a past instant, for work that was due then and is done only now. Absent: `run` sees the present. */
  readonly atInstant?: <T>(instant: number, run: () => T) => T;
}
