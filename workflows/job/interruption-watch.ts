import { CancellationScope, condition, sleep } from '@temporalio/workflow';
import { type Interruption, interruptionByClock, interruptionOfSetUp } from './interruption.js';

/** The interruption as it was when it was first seen: it may have been taken back since. */
export interface Met {
  readonly kind: 'interrupted';
  readonly interruption: Interruption;
}

export function whenInterrupted(interruption: () => Interruption | undefined): Promise<Met> {
  let met: Interruption | undefined;
  const interrupted = (): Promise<void> => condition(() => (met = interruption()) !== undefined);
  // A cancel is waited for in its own way, or not at all.
  return CancellationScope.nonCancellable(interrupted).then(() => ({
    kind: 'interrupted',
    interruption: met as Interruption,
  }));
}

/** A time that a part of an attempt has. Without it there is no timer. */
export interface Clock {
  /** Of one element, or none. */
  readonly late: readonly Promise<Met>[];
  stop(): void;
}

/**
 * `timeouts.run` of an attempt, over all its supervisions.
 * @param lastedMs for how long the attempt has been under way
 */
export const runClock = (seconds: number | undefined, lastedMs: number): Clock =>
  clock(seconds, lastedMs, 'timeouts.run', interruptionByClock);

/** `timeouts.setup` of an attempt, over all workers that set its hosts up. */
export const setUpClock = (seconds: number | undefined): Clock =>
  clock(seconds, 0, 'timeouts.setup', interruptionOfSetUp);

function clock(
  seconds: number | undefined,
  lastedMs: number,
  summary: string,
  interruption: (seconds: number) => Interruption,
): Clock {
  if (seconds === undefined) return { late: [], stop: () => undefined };
  const scope = new CancellationScope();
  const time = scope.run(() => sleep(Math.max(1, seconds * 1000 - lastedMs), { summary }));
  const late = time.then((): Met => ({ kind: 'interrupted', interruption: interruption(seconds) }));
  // A cancel of the job, or of the clock, is no news of the attempt.
  late.catch(() => undefined);
  return { late: [late], stop: () => scope.cancel() };
}
