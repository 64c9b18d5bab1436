import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  isCancellation,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import { FailureType } from '../../domain/failure-types.js';
import { isValidJobId, JOB_ID_RULE } from '../../domain/identity.js';
import { formatProblems } from '../../domain/problem.js';
import { bindJobName, resolveJob } from '../../domain/job-file/resolve.js';
import { readableNotify } from '../../domain/job-file/readable-notify.js';
import { JobPhase, type Outcome } from '../../domain/job-state.js';
import type { AcceptedJob, AcceptJobInput } from '../../activities/contract.js';
import { bookkeeping } from '../activity-options.js';
import type { JobInput, JobNotice } from '../messages.js';
import type { JobCarry } from './carry.js';
import { uncheckedDetails } from './details.js';
import { inputProblems, isOfKnownVersion } from './check-input.js';
import { tellOfEnd } from './notify.js';
import { chainRunId, endBeforeAccepted } from './story.js';

/**
 * Checks the job as `jobctl validate` does, then against the installation. A service that started the workflow with a bad
 * job sees it fail at once with the message that the command line would have printed.
 */
export async function acceptOrFail(input: JobInput): Promise<JobCarry> {
  try {
    return await checkAndAccept(input);
  } catch (error) {
    // Anything else is a bug of ours: it fails the workflow task, which is tried again.
    if (error instanceof ApplicationFailure || (error instanceof Error && isCancellation(error)))
      await CancellationScope.nonCancellable(() => tellOfRefusal(input, error));
    throw error;
  }
}

async function checkAndAccept(input: JobInput): Promise<JobCarry> {
  const problems = inputProblems(input);
  if (problems.length > 0) throw invalid(formatProblems(problems));
  refuseRepetition(input);
  const resolved = resolveJob(input.job);
  if (!resolved.ok) throw invalid(formatProblems(resolved.problems));
  const { workflowId, startTime } = workflowInfo();
  // The workflow's id is the job's id (docs/adr/0002): it goes into names and labels.
  if (!isValidJobId(workflowId)) throw invalid(`workflow id: '${workflowId}' is not ${JOB_ID_RULE}`);
  const spec = bindJobName(resolved.spec, workflowId);
  const submittedAt = startTime.getTime();
  setCurrentDetails(uncheckedDetails(workflowId));
  const { tpu, ...settings } = await accept({ job: { id: workflowId, run: chainRunId() }, spec, input });
  return {
    v: 1,
    spec: { ...spec, tpu: tpu ?? spec.tpu },
    settings,
    submittedAt,
    story: { phase: JobPhase.Queued, phaseSince: submittedAt, events: [{ at: submittedAt, text: 'submitted' }] },
    spent: { preemption: 0, infrastructure: 0, task: 0 },
    lease: { number: 1, epoch: 0 },
    gang: { slices: [], zoneTry: 0 },
    attempts: { attempt: 0, isOpen: false, isSetUp: false },
  };
}

async function accept(question: AcceptJobInput): Promise<AcceptedJob> {
  try {
    return await bookkeeping(`check the job against pool ${question.spec.pool}, store its spec`).acceptJob(question);
  } catch (error) {
    const cause = error instanceof ActivityFailure ? error.cause : undefined;
    // Its own words, not "Activity task failed".
    if (cause instanceof ApplicationFailure && !(cause instanceof CancelledFailure)) throw invalid(cause.message);
    throw error;
  }
}

/** A second run that no job of ours continued would find leases and slices of the first. */
function refuseRepetition(input: JobInput): void {
  const { cronSchedule, continuedFromExecutionRunId } = workflowInfo();
  if ((input.carry ?? undefined) !== undefined && continuedFromExecutionRunId === undefined)
    throw invalid('input.carry: is set by the workflow itself, when it continues as new');
  if (!cronSchedule && continuedFromExecutionRunId === undefined) return;
  throw invalid(
    "a job's workflow runs once: no cron schedule and no retry policy of its own\n" +
      '  for jobs at set times, let a Temporal Schedule start a workflow of yours that starts the job as a child',
  );
}

/** There is no run of the job that could: it was refused, or cancelled while it waited for a worker to take it. */
async function tellOfRefusal(input: JobInput, error: Error): Promise<void> {
  const of = { v: 1, job: workflowInfo().workflowId, run: chainRunId() } as const;
  const notice: JobNotice = isCancellation(error)
    ? { ...of, result: 'cancelled', outcome: cancelledBeforeAccepted() }
    : { ...of, result: 'refused', message: error.message };
  endBeforeAccepted(notice);
  if (isOfKnownVersion(input)) await tellOfEnd(readableNotify(input.job), notice);
}

function cancelledBeforeAccepted(): Outcome {
  return {
    result: 'cancelled',
    cause: { by: 'user', message: 'cancelled before a worker took it' },
    attempts: 0,
    preemptions: 0,
    submittedAt: workflowInfo().startTime.getTime(),
    endedAt: Date.now(),
  };
}

const invalid = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: FailureType.InvalidJob, nonRetryable: true, message });
