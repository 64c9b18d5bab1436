import {
  ActivityFailure,
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  log,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { JobNotice } from '../../contract/job.js';
import type { JobRef } from '../../contract/workflow-ids.js';
import type { Told } from '../../domain/job-events/kinds.js';
import type { NotifyTarget } from '../../domain/job-spec.js';
import type { Outcome } from '../../domain/job-state.js';
import { lastRecord, summing } from '../activity-options.js';
import type { Attempt } from './attempt.js';
import { reasonOf } from './claimed-worker.js';
import { chainRunId, type JobStory } from './story.js';

/** Stores the outcome, then tells the workflows that are named, so that they find it. Call it in a nonCancellable scope. */
export async function tellEnd(targets: readonly NotifyTarget[], outcome: Outcome, story: JobStory): Promise<void> {
  const job = { id: workflowInfo().workflowId, run: chainRunId() };
  const isStored = await store(job, outcome, story);
  const notice = { v: 1, job: job.id, run: job.run, result: outcome.result, outcome } as const;
  for (const told of await tellOfEnd(targets, notice)) story.note(told);
  // Once more, with the lines about the workflows that were told.
  if (targets.length > 0 && isStored) await store(job, outcome, story);
}

/**
 * A store that does not take the outcome is asked again for some hours, and the job says so. The outcome is final all the same:
 * the workflow's result and memo hold it. False: it was not stored.
 */
async function store(job: JobRef, outcome: Outcome, story: JobStory): Promise<boolean> {
  const giveUpAt = Date.now() + STORE_PATIENCE_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      await lastRecord(`store the outcome: ${outcome.result}`).recordOutcome({ job, outcome, events: story.events });
      story.trouble({ kind: 'outcome-not-stored', facts: { isOver: true } });
      return true;
    } catch (error) {
      if (!(error instanceof ActivityFailure)) throw error;
      const reason = reasonOf(error);
      const hasGivenUp = Date.now() + pauseMs > giveUpAt;
      story.trouble({ kind: 'outcome-not-stored', facts: { reason, hasGivenUp } });
      if (hasGivenUp) {
        log.error(`the outcome could not be stored: ${reason}`);
        return false;
      }
      await sleep(pauseMs, { summary: 'before the outcome is stored' });
    }
  }
}

const STORE_PATIENCE_MS = 6 * 3_600_000;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

/** A server that does not say whether the signal was taken must not keep an ended job open. */
const NOTIFY_TIMEOUT = '60s';

/**
 * Tells these workflows the end of the job, each by one signal, and returns one event for each with the result. Never throws. Call
 * it in a nonCancellable scope: the server keeps the signal with the job's history, so no crash repeats or loses it.
 */
export async function tellOfEnd(targets: readonly NotifyTarget[], notice: JobNotice): Promise<readonly Told[]> {
  if (targets.length === 0) return [];
  /** The problem; empty: it was told. */
  const became: (string | undefined)[] = targets.map(() => undefined);
  targets.forEach(({ workflow: { id, signal } }, index) => {
    getExternalWorkflowHandle(id)
      .signal(signal, notice)
      .then(
        () => (became[index] = ''),
        (error: unknown) => (became[index] = `could not be told: ${messageOf(error)}`),
      );
  });
  // The signals are not cancelled instead: one that was handed to the server cannot be taken back, and is waited for.
  await condition(() => became.every((end) => end !== undefined), NOTIFY_TIMEOUT);
  return targets.map(({ workflow: { id, signal } }, index): Told => {
    const problem = became[index] ?? `not known to be told: the server did not answer within ${NOTIFY_TIMEOUT}`;
    const target = { workflow: id, signal };
    return problem === ''
      ? { kind: 'notified', facts: target }
      : { kind: 'not-notified', facts: { ...target, problem } };
  });
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

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
