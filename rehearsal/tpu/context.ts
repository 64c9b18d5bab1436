import type { Random } from '../random.js';

/** What the cloud needs from outside: time, chance, and somebody to tell. With these given its behaviour is its calls' alone. */
export interface CloudContext {
  /** The cloud's time, epoch ms: never goes back. */
  readonly now: () => number;
  /** Queue times, ids and addresses are drawn from it. */
  readonly random: Random;
  /** The second octet of every host's address: 127.S.a.b. */
  readonly subnetOctet: number;
  /** Told after each event, in order, while `now` says when it was. */
  readonly record: (kind: string, subject: string, details: Readonly<Record<string, unknown>>) => void;
  /** Runs that with `now` at an instant that is past: what came due while nobody looked. Without it: at the present. */
  readonly atInstant?: <T>(instant: number, run: () => T) => T;
}
