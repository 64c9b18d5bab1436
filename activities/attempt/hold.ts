import { Context } from '@temporalio/activity';
import type { LostSlice } from '../../domain/recovery/slice-loss.js';
import type { HoldInput } from '../../contract/job-activities.js';
import type { ActivityDependencies } from '../dependencies.js';
import { ActivityEnd } from './activity-end.js';
import { SliceGuard } from './slice-guard.js';

/**
 * Watches slices on which nothing runs, until one of them is lost. It needs no connection to a host, so any worker may do it. A
 * worker that shuts down fails the activity, and another begins again.
 */
export async function holdSlices(
  { machinesOf }: ActivityDependencies,
  input: HoldInput,
): Promise<readonly LostSlice[]> {
  const end = new ActivityEnd();
  const guard = new SliceGuard(machinesOf, input.slices, input.timings.notFoundApartMs, end.signal);
  try {
    return await Promise.race([guard.lost, Context.current().cancelled]);
  } finally {
    end.finish();
  }
}
