import { ActivityFailure, CancellationScope, log } from '@temporalio/workflow';
import type { JobRef } from '../../contract/workflow-ids.js';
import type { Outcome } from '../../domain/job-state.js';
import { summing } from '../activity-options.js';
import type { Attempt } from './attempt.js';
import { reasonOf } from './claimed-worker.js';

/**
 * The outcome with what attempts did again (docs/adr/0135). Of a job of one attempt nothing is read; who cancels does not wait for it.
 * Never throws: without an answer the summary says nothing of it.
 */
export async function withDoneTwice(
  { job, attempt }: { readonly job: JobRef; readonly attempt: Attempt },
  outcome: Outcome,
): Promise<Outcome> {
  if (attempt.number < 2 || outcome.result === 'cancelled' || outcome.doneTwice !== undefined) return outcome;
  const find = () => summing('read what was done twice').findDoneTwice({ job, attempts: attempt.number });
  try {
    const doneTwice = await CancellationScope.nonCancellable(find);
    return doneTwice ? { ...outcome, doneTwice } : outcome;
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    log.warn(`nobody read what was done twice: ${reasonOf(error)}`);
    return outcome;
  }
}
