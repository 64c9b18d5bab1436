import { CancellationScope, condition } from '@temporalio/workflow';
import type { LostSlice, ReadySlice } from '../../activities/contract.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { usdPerHour } from '../../domain/prices.js';
import type { TierPurchase } from '../../domain/slice-plan.js';
import type { Timings } from '../../domain/timings.js';
import type { EpochMs } from '../../domain/units.js';
import { watching } from '../activity-options.js';
import { count, utc } from '../markdown.js';

export interface Keeping {
  readonly slices: readonly ReadySlice[];
  readonly timings: Timings;
  readonly until: EpochMs;
  /** They are wanted otherwise: by a person, or by the pool. */
  readonly isChanged: () => boolean;
}

export type KeepEnd =
  | { readonly kind: 'changed' }
  | { readonly kind: 'over' }
  | { readonly kind: 'lost'; readonly slices: readonly LostSlice[] };

/**
 * Keeps slices on which nothing runs, and watches that they are there.
 * @throws a cancellation, when the job is cancelled
 */
export function keepSlices({ slices, timings, until, isChanged }: Keeping): Promise<KeepEnd> {
  const scope = new CancellationScope();
  return scope.run(async () => {
    const name = count(slices.length, 'slice');
    const lost = watching(`watch that ${name} stay`).holdSlices({ slices, timings });
    const changed = condition(isChanged, Math.max(1, until - Date.now()), { summary: `keep ${name}` });
    try {
      return await Promise.race([
        lost.then((gone): KeepEnd => ({ kind: 'lost', slices: gone })),
        changed.then((is): KeepEnd => (is ? { kind: 'changed' } : { kind: 'over' })),
      ]);
    } finally {
      // Whichever did not come: nobody waits for it any more.
      for (const loser of [lost, changed]) loser.catch(() => undefined);
      scope.cancel();
    }
  });
}

/** `about $4.70 an hour, until 2026-11-22 09:10:00 UTC`. @param rehearsed the label of an installation where nothing is real */
export function costText(
  spec: Pick<JobSpec, 'slices' | 'tpu'>,
  { pricing }: TierPurchase,
  { zone, until, rehearsed }: { readonly zone: string; readonly until: EpochMs; readonly rehearsed?: string },
): string {
  const tpu = pricing === undefined ? spec.tpu : { ...spec.tpu, pricing };
  const usd = usdPerHour({ slices: spec.slices, tpu: tpu.pricing === 'any' ? { ...tpu, pricing: 'spot' } : tpu }, zone);
  const cost = usd === undefined ? 'at a price that is not listed' : `at about $${usd.toFixed(2)} an hour`;
  const real = rehearsed === undefined ? cost : `${cost} if they were real`;
  return `${real}, until ${utc(until)}`;
}

/** `8 h`, `90 s`. */
export const hoursText = (seconds: number): string =>
  seconds % 3600 === 0 ? `${seconds / 3600} h` : seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
