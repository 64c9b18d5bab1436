import { CancellationScope, condition, sleep } from '@temporalio/workflow';
import { type Interruption, interruptionByClock } from './interruption.js';

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

/**
 * `timeouts.run` of an attempt, over all its supervisions. Without it there is no timer.
 * @param lastedMs for how long the attempt has been under way
 */
export function runClock(
  seconds: number | undefined,
  lastedMs: number,
): { readonly late: readonly Promise<Met>[]; stop(): void } {
  if (seconds === undefined) return { late: [], stop: () => undefined };
  const scope = new CancellationScope();
  const time = scope.run(() => sleep(Math.max(1, seconds * 1000 - lastedMs), { summary: 'timeouts.run' }));
  const late = time.then((): Met => ({ kind: 'interrupted', interruption: interruptionByClock(seconds) }));
  // A cancel of the job, or of the clock, is no news of the command.
  late.catch(() => undefined);
  return { late: [late], stop: () => scope.cancel() };
}
