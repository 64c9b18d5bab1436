import { log, workflowInfo } from '@temporalio/workflow';
import type { JobRef } from '../../activities/contract.js';
import type { NotifyTarget } from '../../domain/job-spec.js';
import type { Outcome } from '../../domain/job-state.js';
import { lastRecord } from '../activity-options.js';
import { tellOfEnd } from './notify.js';
import { chainRunId, type JobStory } from './story.js';

/** Stores the outcome, then tells who is named, so that they find it. To be called in a nonCancellable scope. */
export async function tellEnd(targets: readonly NotifyTarget[], outcome: Outcome, story: JobStory): Promise<void> {
  const job = { id: workflowInfo().workflowId, run: chainRunId() };
  const isStored = await store(job, outcome, story);
  const notice = { v: 1, job: job.id, run: job.run, result: outcome.result, outcome } as const;
  for (const line of await tellOfEnd(targets, notice)) story.note(line);
  // Once more, for the lines that say who was told.
  if (targets.length > 0 && isStored) await store(job, outcome, story);
}

/** An outcome that cannot be stored is final all the same: the workflow's result and memo hold it. False: it was not. */
async function store(job: JobRef, outcome: Outcome, { events }: JobStory): Promise<boolean> {
  try {
    await lastRecord(`store the outcome: ${outcome.result}`).recordOutcome({ job, outcome, events });
    return true;
  } catch (error) {
    log.error(`the outcome could not be stored: ${String(error)}`);
    return false;
  }
}
