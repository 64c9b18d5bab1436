import { NO_RETRIES } from '../../domain/recovery/budgets.js';
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  setCurrentDetails,
  sleep,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { RetryState } from '@temporalio/common';
import { readableNotify } from '../../domain/job-file/notify.js';
import { FailureType } from '../../domain/failure-types.js';
import { isValidJobId, JOB_ID_RULE } from '../../domain/identity.js';
import { beyond } from '../../domain/bounds.js';
import { inputSizeProblem, jsonBytes, MOST_MESSAGE_BYTES } from '../../domain/job-input-size.js';
import { formatProblems, shortened } from '../../domain/problem.js';
import { bindJobName, resolveJob } from '../../domain/job-file/resolve.js';
import { type Asker, askerText, JobPhase, type Outcome } from '../../domain/job-state.js';
import type { AcceptedJob, AcceptJobInput } from '../../contract/job-activities.js';
import { accepting } from '../activity-options.js';
import { MOST_OF_A_MESSAGE } from '../../contract/form.js';
import { cancelNoteForm } from '../../contract/job-forms.js';
import { cancelNoteSignal, type JobInput, type JobMemo, type JobNotice } from '../../contract/job.js';
import { Inbox } from '../inbox.js';
import { NO_ATTEMPT } from './attempt.js';
import { FIRST_LEASE } from './lease.js';
import { askerOf } from './requests.js';
import type { JobCarry } from './state.js';
import { uncheckedDetails } from './details.js';
import { inputProblems, isOfKnownVersion } from './check-input.js';
import { tellWorkflows } from './end.js';
import { chainRunId, endBeforeAccepted } from './story.js';

/**
 * Checks the job as `jobctl validate` does, then against the installation. A service that started the workflow with a bad job
 * sees it fail at once with the message that the command line would have printed. A cause that is not the job's fault, such as a
 * store that refuses or a wrong quota file, is waited out.
 * @param waiting gets the cause
 */
export async function acceptOrFail(input: JobInput, waiting: Waiting): Promise<JobCarry> {
  try {
    return await checkAndAccept(input, waiting);
  } catch (error) {
    // Anything else is a bug of ours: it fails the workflow task, which is tried again.
    if (error instanceof ApplicationFailure || (error instanceof Error && isCancellation(error)))
      await CancellationScope.nonCancellable(() => tellOfRefusal(input, error));
    throw error;
  }
}

async function checkAndAccept(input: JobInput, waiting: Waiting): Promise<JobCarry> {
  refuseBeyond(input);
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
  const question = { job: { id: workflowId, run: chainRunId() }, spec, input };
  refuseTooLarge(question);
  const { machines, ...settings } = await accept(question, waiting);
  return {
    v: 1,
    spec: { ...spec, ...machines },
    settings,
    submittedAt,
    story: {
      phase: JobPhase.Queued,
      phaseSince: submittedAt,
      events: [{ at: submittedAt, kind: 'submitted', facts: {} }],
    },
    spent: NO_RETRIES,
    lease: FIRST_LEASE,
    gang: { slices: [], zoneTry: 0 },
    attempt: NO_ATTEMPT,
  };
}

async function accept(question: AcceptJobInput, waiting: Waiting): Promise<AcceptedJob> {
  const summary = `check the job against pool ${question.spec.pool}, store its spec`;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await accepting(summary).acceptJob(question);
    } catch (error) {
      if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
      const message = error.cause?.message ?? error.message;
      // The message of the cause, not "Activity task failed".
      if (error.retryState === RetryState.NON_RETRYABLE_FAILURE) throw invalid(message);
      waiting.why = `it cannot be accepted yet: ${message}`;
      upsertMemo({ why: waiting.why } satisfies Partial<JobMemo>);
      setCurrentDetails(uncheckedDetails(question.job.id, waiting.why));
      await sleep(pauseMs, { summary: 'before it is tried again to accept the job' });
    }
  }
}

/** The reason why a job is not accepted yet, for its query. */
export interface Waiting {
  why?: string;
}

const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

/**
 * Refuses an input that is too deep or too large before anything else reads it. The script of a workflow task is stopped after 5
 * s, and a job whose task is stopped again and again takes the thread of all other workflows of its worker. No pool takes a
 * larger input (`MOST_INPUT_BYTES`).
 */
function refuseBeyond(input: JobInput): void {
  const tooDeep = beyond(input, MOST_OF_A_MESSAGE);
  if (tooDeep !== undefined) throw invalid(`input: ${tooDeep}`);
  const size = inputSizeProblem(input);
  if (size !== undefined) throw invalid(size);
}

/** Temporal terminates a workflow that sends a larger message, without a word. References multiply the size of a job file. */
function refuseTooLarge(question: AcceptJobInput): void {
  if (jsonBytes(question) >= MOST_MESSAGE_BYTES)
    throw invalid('input: the job is too large once its references are resolved');
}

/** A second run that is not a job's own continuation would find leases and slices of the first. */
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

/**
 * Tells the end of a job that has no run to tell it: it was refused, or cancelled while it waited for a worker to take it. Only
 * workflows are told: no pool has said that the job may use another target.
 */
async function tellOfRefusal(input: JobInput, error: Error): Promise<void> {
  const of = { v: 1, job: workflowInfo().workflowId, run: chainRunId() } as const;
  const notice: JobNotice = isCancellation(error)
    ? { ...of, result: 'cancelled', outcome: cancelledBeforeAccepted(noteOfCancel()) }
    : { ...of, result: 'refused', message: error.message };
  endBeforeAccepted(notice);
  const told = { kind: notice.result === 'cancelled' ? 'cancelled' : 'failed', facts: NO_ATTEMPTS } as const;
  if (isOfKnownVersion(input)) await tellWorkflows(readableNotify(input.job, told), notice);
}

const NO_ATTEMPTS = { attempts: 0, preemptions: 0 } as const;

/** Temporal hands over a waiting signal inside `open`. */
function noteOfCancel(): Asker | undefined {
  let asker: Asker | undefined;
  new Inbox().on(cancelNoteSignal, cancelNoteForm, (note) => (asker = askerOf(note))).open();
  return asker;
}

function cancelledBeforeAccepted(asker: Asker | undefined): Outcome {
  const by = asker === undefined ? '' : ` by ${askerText(asker)}`;
  return {
    result: 'cancelled',
    cause: {
      by: 'user',
      message: `cancelled before a worker took it${by}`,
      ...(asker === undefined ? {} : { asker }),
    },
    attempts: 0,
    preemptions: 0,
    submittedAt: workflowInfo().startTime.getTime(),
    endedAt: Date.now(),
  };
}

const invalid = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: FailureType.InvalidJob, nonRetryable: true, message: shortened(message) });
