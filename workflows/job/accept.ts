import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import type { AcceptJobInput } from '../../activities/contract.js';
import { FailureType } from '../../domain/failure-types.js';
import { isValidJobId, JOB_ID_RULE } from '../../domain/identity.js';
import { formatProblems } from '../../domain/problem.js';
import { bindJobName, resolveJob } from '../../domain/job-file/resolve.js';
import { JobPhase } from '../../domain/job-state.js';
import { bookkeeping } from '../activity-options.js';
import type { JobInput, JobSettings } from '../messages.js';
import type { JobCarry } from './carry.js';
import { uncheckedDetails } from './details.js';
import { chainRunId } from './story.js';

/**
 * Checks the job as `jobctl validate` does, then against the installation. A service that started the workflow with a bad
 * job sees it fail at once with the message that the command line would have printed.
 */
export async function acceptOrFail(input: JobInput): Promise<JobCarry> {
  const resolved = resolveJob(input.job);
  if (!resolved.ok) throw invalid(formatProblems(resolved.problems));
  const { workflowId, startTime } = workflowInfo();
  // The workflow's id is the job's id (docs/adr/0002): it goes into names and labels.
  if (!isValidJobId(workflowId)) throw invalid(`workflow id: '${workflowId}' is not ${JOB_ID_RULE}`);
  const spec = bindJobName(resolved.spec, workflowId);
  const submittedAt = startTime.getTime();
  setCurrentDetails(uncheckedDetails(workflowId));
  const settings = await accept({ job: { id: workflowId, run: chainRunId() }, spec, input });
  return {
    v: 1,
    spec,
    settings,
    submittedAt,
    story: { phase: JobPhase.Queued, phaseSince: submittedAt, events: [{ at: submittedAt, text: 'submitted' }] },
    spent: { preemption: 0, infrastructure: 0, task: 0 },
    lease: { number: 1, epoch: 0 },
    gang: { slices: [], zoneTry: 0 },
    attempts: { attempt: 0, isOpen: false, isSetUp: false },
  };
}

async function accept(question: AcceptJobInput): Promise<JobSettings> {
  try {
    return await bookkeeping(`check the job against pool ${question.spec.pool}, store its spec`).acceptJob(question);
  } catch (error) {
    const cause = error instanceof ActivityFailure ? error.cause : undefined;
    // Its own words, not "Activity task failed".
    if (cause instanceof ApplicationFailure && !(cause instanceof CancelledFailure)) throw invalid(cause.message);
    throw error;
  }
}

const invalid = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: FailureType.InvalidJob, nonRetryable: true, message });
