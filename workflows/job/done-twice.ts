import { ActivityFailure, CancellationScope, log } from '@temporalio/workflow';
import type { JobRef } from '../../contract/workflow-ids.js';
import type { Outcome } from '../../domain/job-state.js';
import { summing } from '../activity-options.js';
import type { Attempt } from './attempt.js';
import { reasonOf } from './claimed-worker.js';

/**
 * Adds the work that attempts did twice to the outcome (docs/adr/0135). Nothing is read for a job of one attempt, or for a
 * cancelled one, whose user does not wait for it. Never throws: without an answer the summary does not mention it.
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
