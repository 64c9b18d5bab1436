import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  makeContinueAsNewFunc,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { accountQuery, describeQuery, type JobInput } from '../contract/job.js';
import type { JobRef } from '../contract/workflow-ids.js';
import { FailureType } from '../domain/errors.js';
import { JobPhase, type Outcome } from '../domain/job-state.js';
import { acceptOrFail, type Waiting } from './job/accept.js';
import { isWarmArray } from '../domain/array/array.js';
import { memberForm, ownFile } from '../contract/group-forms.js';
import { memberIn } from '../contract/group.js';
import { storeOutcome, tellEnd, tellGroup, withDoneTwice, afterHooks } from './job/end.js';
import { carryOf, type Job, openJob } from './job/parts.js';
import type { JobCarry } from './job/state.js';
import { giveBack, nextStep } from './job/steps.js';
import { viewBeforeAccepted } from './job/views.js';
import { meter } from './meter.js';

/**
 * One job, from submit to its final outcome. It is checked and accepted; then, step by step, it gets its lease, its
 * slices, their set-up, and runs its command, until it has an outcome; then it gives everything back and ends.
 *
 * It ends as Temporal's users expect: completed, failed with type `JobFailed`, or cancelled.
 */
export async function job(input: JobInput): Promise<Outcome> {
  const waiting: Waiting = {};
  const own = ownInput(input);
  setHandler(describeQuery, () => viewBeforeAccepted(own, waiting));
  setHandler(accountQuery, () => null);
  const carry = carriedBy(input) ?? (await acceptOrFail(input, waiting));
  const open = openJob(carry, own, isOfWarmArray(input));
  let cancellation: unknown;
  let outcome: Outcome | undefined;
  try {
    outcome = await untilOutcome(open);
    if (outcome) {
      outcome = await afterHooks(open, outcome);
      // It does not throw at a cancel, because a known outcome is final.
      outcome = await keepSlices(open, outcome);
    }
  } catch (error) {
    if (!isCancellation(error)) throw error;
    cancellation = error;
    outcome = open.recovery.cancelledOutcome();
  }
  if (outcome === undefined) return nextRun({ ...input, carry: carryOf(open) });
  outcome = await end(open, outcome);
  if (outcome.result === 'succeeded') return outcome;
  // A cancel that came without a cancel request, from the stored outcome, is a failure: no workflow can end as Cancelled then.
  if (cancellation !== undefined) throw cancellation;
  throw failure(outcome);
}

/**
 * The input with the job's own file. A member's file is made from its array's file here, and no later code knows of arrays. A
 * wrong input is returned as it is: `acceptOrFail` reports the problem.
 */
function ownInput(input: JobInput): JobInput {
  // A service may have sent anything, even nothing.
  const given = input as JobInput | null | undefined;
  if (given === null || given === undefined || typeof given !== 'object' || memberIn(given) === undefined) return input;
  const own = memberForm(given.member).kind === 'valid' ? ownFile(given) : undefined;
  if (own?.ok !== true) return input;
  const { source: _, ...rest } = given;
  return { ...rest, job: own.file };
}

/** Whether the job is a member of an array whose members lend each other their slices (docs/adr/0163). */
function isOfWarmArray({ job, member }: JobInput): boolean {
  return member !== undefined && member !== null && isWarmArray(job);
}

/**
 * State that the previous run left. Only a job's own continue-as-new is trusted: the second run of a cron schedule or of a retry
 * policy has the input that a client began with, whose `carry` nothing has checked.
 */
function carriedBy(input: JobInput): JobCarry | undefined {
  // A service may have sent anything, even nothing: acceptOrFail reports the problem.
  const carry = (input as JobInput | null | undefined)?.carry as JobCarry | undefined;
  const { continuedFromExecutionRunId, cronSchedule, attempt } = workflowInfo();
  return continuedFromExecutionRunId === undefined || cronSchedule || attempt > 1 ? undefined : carry;
}

/** The server gives the next run the memo that the client began with, so this run passes its present memo along. */
const nextRun = (input: JobInput): Promise<never> =>
  makeContinueAsNewFunc<typeof job>({ memo: workflowInfo().memo ?? {} })(input);

/** Lease, slices, set-up, command: one step after the other. Undefined: the history is long enough for a new run. */
async function untilOutcome(open: Job): Promise<Outcome | undefined> {
  const { jobHistoryEvents } = open.settings.timings;
  const { requestedSetUp } = open;
  for (;;) {
    const outcome = await nextStep(open);
    if (outcome) return outcome;
    if (open.interruptions.isUnwanted() || workflowInfo().historyLength < jobHistoryEvents) continue;
    // A requested set-up ends with its run, and the person who asked for it was promised its end.
    if (requestedSetUp.isUnderWay) continue;
    await open.lease.settled();
    await open.notices.settled();
    await condition(allHandlersFinished);
    if (!requestedSetUp.isUnderWay) return undefined;
  }
}

/** The outcome is stored and told, and the slices stay: for people to look at (`keep`), or for the next member of its group. */
async function keepSlices(open: Job, known: Outcome): Promise<Outcome> {
  const isKept = open.keeper.keepsAfter(known);
  if (!isKept && !(await open.landlord.lends(known))) return known;
  const outcome = await withDoneTwice(open, known);
  if (isKept) await open.keeper.hold(outcome, () => conclude(open, outcome));
  else await open.landlord.lend(outcome, () => conclude(open, outcome, open.job));
  return outcome;
}

/**
 * Runs the hooks that have not run yet, gives slices and lease back, then stores and tells the outcome. It does not wait for the
 * clean-up of the slices (docs/design.md, "The outcome is final").
 */
function end(open: Job, known: Outcome): Promise<Outcome> {
  const { story, attempts, slices } = open;
  return CancellationScope.nonCancellable(async () => {
    const isConcluded = story.phase === JobPhase.Holding;
    const finishing = { kind: 'finishing', facts: {} } as const;
    story.move(JobPhase.Finishing, finishing);
    if (known.result === 'cancelled') await attempts.stopUnwatched(slices.ready);
    // Outputs of a command that was stopped just now.
    const { outputs } = open.attempt;
    const concluded = await afterHooks(open, outputs === undefined ? known : { ...known, outputs });
    if (concluded.hooks !== known.hooks) story.move(JobPhase.Finishing, finishing);
    // A lodger that succeeded leaves its landlord's slices as it has found them.
    const lends = concluded.result === 'succeeded' ? open.lease.landlord : undefined;
    const isBare = slices.present.length === 0 && !open.lease.isHeld;
    const isGivenBack = giveBack(open, concluded);
    // A job that only waits in line holds nothing. Its end is told beside: thousands may be cancelled at once (docs/adr/0172).
    if (!isBare) await isGivenBack;
    await open.lodging.ends();
    const outcome = isConcluded ? concluded : await withDoneTwice(open, concluded);
    story.end(outcome);
    // The outcome of a job that kept its slices was told before. It is stored once more, with later events.
    if (isConcluded) await storeOutcome(open, outcome);
    else await conclude(open, outcome, lends);
    await isGivenBack;
    await condition(allHandlersFinished);
    // Some may have asked since. One that asks in this very task makes the server run the task again.
    await open.followers.tell();
    return outcome;
  });
}

/** @param lends the job that lends the slices of this one to the next member of its group. Absent: none does */
async function conclude(open: Job, outcome: Outcome, lends?: JobRef): Promise<void> {
  meter.ended(outcome);
  // The next member may begin on the slices of this one: then its outcome is stored first (docs/adr/0163).
  if (lends !== undefined) await tellEnd(open, outcome);
  await Promise.all([
    lends === undefined ? tellEnd(open, outcome) : undefined,
    tellGroup(open.member, outcome.result, lends),
  ]);
  await open.followers.tell();
}

const failure = (outcome: Outcome): ApplicationFailure =>
  ApplicationFailure.create({
    type: FailureType.JobFailed,
    nonRetryable: true,
    message: outcome.cause?.message ?? 'failed',
    details: [outcome],
  });
