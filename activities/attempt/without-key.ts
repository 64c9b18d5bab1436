import { log } from '@temporalio/activity';
import type { AttemptInput } from '../../contract/job-activities.js';
import type { LostSlice } from '../../domain/recovery/slice-loss.js';
import { HEALTHY_MS } from '../../domain/recovery/worker-errors.js';
import { JobKeyUnknown } from '../connecting-key.js';
import type { ActivityDependencies } from '../dependencies.js';
import { ActivityEnd } from './activity-end.js';
import { pause } from './pause.js';
import { SliceGuard } from './slice-guard.js';
import { tellJobOfTrouble } from './store-patience.js';

type WithoutKey =
  | { readonly kind: 'slices-lost'; readonly slices: readonly LostSlice[] }
  | { readonly kind: 'handed-over' };

/**
 * Does `work`, unless this worker cannot make the key that the job's hosts accept. In that case nothing is wrong with the hosts:
 * their command runs, and an operator has to name a secret. So the job is told why no worker watches it, its slices are watched
 * for a loss, and another worker is asked after a while.
 * @param asked ends the wait early
 */
export async function unlessKeyUnknown<End>(
  dependencies: Pick<ActivityDependencies, 'machinesOf'>,
  input: AttemptInput,
  work: () => Promise<End>,
  asked?: AbortSignal,
): Promise<End | WithoutKey> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof JobKeyUnknown)) throw error;
    return wait(dependencies, input, error, asked);
  }
}

async function wait(
  { machinesOf }: Pick<ActivityDependencies, 'machinesOf'>,
  input: AttemptInput,
  why: JobKeyUnknown,
  asked: AbortSignal | undefined,
): Promise<WithoutKey> {
  log.error(why.message);
  tellJobOfTrouble(input)(why.message);
  const end = new ActivityEnd(asked);
  const { notFoundApartMs } = input.settings.timings;
  const guard = new SliceGuard(machinesOf, input.slices, notFoundApartMs, end.signal);
  try {
    return await Promise.race([
      guard.lost.then((slices): WithoutKey => ({ kind: 'slices-lost', slices })),
      end.handedOver.then((): WithoutKey => ({ kind: 'handed-over' })),
      pause(OTHER_WORKER_AFTER_MS, end.signal).then(() => {
        throw why;
      }),
    ]);
  } finally {
    end.finish();
  }
}

/** Errors this far apart are not errors in a row, which would end the attempt (domain/recovery/worker-errors.ts). */
const OTHER_WORKER_AFTER_MS = HEALTHY_MS + 10_000;
