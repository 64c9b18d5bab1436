import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  workflowInfo,
} from '@temporalio/workflow';
import { FailureType } from '../domain/failure-types.js';
import type { Outcome } from '../domain/job-state.js';
import { acceptOrFail } from './job/accept.js';
import type { JobCarry } from './job/carry.js';
import { JobRun } from './job/job-run.js';
import type { JobInput } from './messages.js';

/**
 * One job, from submit to its final outcome (DESIGN.md 2). Thin: the run decides what comes next, this function decides how
 * the workflow ends. It ends as Temporal's users expect: completed, failed with type `JobFailed`, or cancelled.
 */
export async function job(input: JobInput): Promise<Outcome> {
  const carry = carriedBy(input) ?? (await acceptOrFail(input));
  const run = new JobRun(carry, { job: input.job, files: input.files ?? {} }, input.identityKeys ?? undefined);
  let cancellation: unknown;
  let end: Awaited<ReturnType<JobRun['live']>>;
  try {
    end = await run.live();
    if (end.kind === 'renew') await condition(allHandlersFinished);
    // It does not throw at a cancel: an outcome that is known stays.
    else await run.hold(end.outcome);
  } catch (error) {
    if (!isCancellation(error)) throw error;
    cancellation = error;
    end = { kind: 'outcome', outcome: run.cancelledOutcome() };
  }
  if (end.kind === 'renew') {
    return continueAsNew<typeof job>({ ...input, carry: run.carry() });
  }
  const { outcome } = end;
  await CancellationScope.nonCancellable(async () => {
    await run.finish(outcome);
    await condition(allHandlersFinished);
  });
  if (outcome.result === 'succeeded') return outcome;
  // Where the cancel is only in the store's outcome it is a failure: without a cancel request no workflow ends as Cancelled.
  if (cancellation !== undefined) throw cancellation;
  throw ApplicationFailure.create({
    type: FailureType.JobFailed,
    nonRetryable: true,
    message: outcome.cause?.message ?? 'failed',
    details: [outcome],
  });
}

/** What the run before left to this one. Only a job's own continue-as-new is believed. */
function carriedBy(input: JobInput): JobCarry | undefined {
  // A service may have sent anything, nothing too: acceptOrFail says what is wrong with it.
  const carry = (input as JobInput | null | undefined)?.carry as JobCarry | undefined;
  return workflowInfo().continuedFromExecutionRunId === undefined ? undefined : carry;
}
