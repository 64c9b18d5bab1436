import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  sleep,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { RetryState } from '@temporalio/common';
import { NO_RETRIES } from '../../domain/recovery/budgets.js';
import { readableNotify } from '../../domain/job-file/notify.js';
import { FailureType } from '../../domain/errors.js';
import { isValidJobId, JOB_ID_RULE, isValidUser, USER_RULE } from '../../domain/identity.js';
import { beyond, inputSizeProblem, jsonBytes, MOST_MESSAGE_BYTES } from '../../domain/bounds.js';
import { formatProblems, shortened, showValue, type Problem } from '../../domain/problem.js';
import { bindJobName, resolveJob } from '../../domain/job-file/resolve.js';
import { type Asker, askerText, JobPhase, type Outcome } from '../../domain/job-state.js';
import type { AcceptedJob, AcceptJobInput } from '../../contract/job-activities.js';
import { MOST_OF_A_MESSAGE } from '../../contract/form.js';
import { cancelNoteForm } from '../../contract/job-forms.js';
import { cancelNoteSignal, type JobInput, type JobMemo, type JobNotice } from '../../contract/job.js';
import { memberForm, ownFile } from '../../contract/group-forms.js';
import { firingForm } from '../../contract/schedule-forms.js';
import { memberIn } from '../../contract/group.js';
import { type JobMember, memberId, roundPrefix } from '../../domain/array/group-state.js';
import { isScheduleName } from '../../domain/schedule/schedule.js';
import { isMapping } from '../../domain/job-file/plain-tree.js';
import { nearestWord } from '../../domain/nearest-word.js';
import { describeBy } from '../current-details.js';
import { accepting } from '../activity-options.js';
import { Inbox } from '../inbox.js';
import { NO_ATTEMPT } from './attempt.js';
import { FIRST_LEASE } from './lease.js';
import { askerOf } from './requests.js';
import type { JobCarry } from './state.js';
import { uncheckedDetails } from './details.js';
import { tellGroup, tellWorkflows } from './end.js';
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
  const own = ownFile(input);
  if (!own.ok) throw invalid(formatProblems(own.problems));
  const resolved = resolveJob(own.file);
  if (!resolved.ok) throw invalid(formatProblems(resolved.problems));
  const { workflowId, startTime } = workflowInfo();
  refuseOtherId(memberIn(input), workflowId);
  // The workflow's id is the job's id (docs/adr/0002): it goes into names and labels.
  if (!isValidJobId(workflowId)) throw invalid(`workflow id: '${workflowId}' is not ${JOB_ID_RULE}`);
  const spec = bindJobName(resolved.spec, workflowId);
  const submittedAt = startTime.getTime();
  describeBy(() => uncheckedDetails(workflowId, waiting.why));
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

/** @throws InvalidJob for a member that runs under another id: its group would not know it */
function refuseOtherId(member: JobMember | undefined, id: string): void {
  if (member === undefined || memberId(member) === id) return;
  throw invalid(
    `workflow id: '${id}' is not '${memberId(member)}', the id of member ${member.index} of ${roundPrefix(member)}`,
  );
}

/** Temporal terminates a workflow that sends a larger message, without a reason. Resolved references make a job file larger. */
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
      '  for jobs at set times: jobctl schedule create, or let a Temporal Schedule start a workflow of yours that starts the job as a child',
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
  if (!isOfKnownVersion(input)) return;
  await tellWorkflows(readableNotify(input.job, told), notice);
  const isMember = memberForm(input.member).kind === 'valid';
  await tellGroup(isMember ? memberIn(input) : undefined, notice.result);
}

const NO_ATTEMPTS = { attempts: 0, preemptions: 0 } as const;

/** Returns the note that came with a cancel, if any. Temporal delivers waiting signals inside `open`. */
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

/** The version of a job's input that this worker knows. */
const KNOWN_VERSION = 1;
const KNOWN_KEYS = [
  'v',
  'job',
  'source',
  'user',
  'files',
  'sshKey',
  'identityKeys',
  'member',
  'firing',
  'authorization',
  'carry',
] as const satisfies readonly (keyof JobInput)[];
const EXAMPLE = 'start the workflow with one argument: {"v": 1, "job": {"tpu": {..}, "command": {..}}}';
const SHA256 = /^[0-9a-f]{64}$/;
const FINGERPRINT = /^SHA256:[A-Za-z0-9+/]{43}$/;

/**
 * Problems of the input of a job's workflow, apart from the job file in it. Another service, in any language, may have sent it.
 * The check is strict, so that a key that is misspelt, or known only to a later version, is not ignored in silence.
 */
export function inputProblems(input: unknown): readonly Problem[] {
  if (isAbsent(input)) return [problem([], undefined, 'is missing', EXAMPLE)];
  if (!isMapping(input)) return [problem([], input, `${showValue(input)} is not the input of a job`, EXAMPLE)];
  // Nothing else can be judged in a version that is not known.
  const version = versionProblem(input['v']);
  if (version) return [version];
  return [
    ...Object.keys(input).flatMap((key) => unknownKey(key, input[key])),
    ...(isAbsent(input['job']) ? [problem(['job'], undefined, 'is missing', EXAMPLE)] : []),
    ...textProblems(input),
    ...fileProblems(input['files']),
    ...keyProblems(input['identityKeys']),
    ...memberProblems(input['member']),
    ...firingProblems(input['firing']),
  ];
}

/** Whether the input has the known version. Only such an input says which workflows to tell. */
const isOfKnownVersion = (input: unknown): input is JobInput => isMapping(input) && input['v'] === KNOWN_VERSION;

function versionProblem(v: unknown): Problem | undefined {
  if (v === KNOWN_VERSION) return undefined;
  if (isAbsent(v)) return problem(['v'], undefined, 'is missing', EXAMPLE);
  const hint = `known: ${KNOWN_VERSION}, a whole number; a later one needs later workers (docs/contract.md, "Versions")`;
  return problem(['v'], v, `${showValue(v)} is not a version of a job's input that this worker knows`, hint);
}

function unknownKey(key: string, value: unknown): Problem[] {
  if (KNOWN_KEYS.some((known) => known === key)) return [];
  const shown = KNOWN_KEYS.filter((known) => known !== 'carry');
  const nearest = nearestWord(key, shown);
  const hint = [...(nearest === undefined ? [] : [`did you mean ${nearest}?`]), `known here: ${shown.join(', ')}`];
  return [problem([key], value, "no such key in a job's input", hint.join('\n'))];
}

function textProblems({ source, user, sshKey }: Readonly<Record<string, unknown>>): Problem[] {
  const problems: Problem[] = [...fingerprintProblems(['sshKey'], sshKey)];
  if (!isAbsent(source) && typeof source !== 'string')
    problems.push(problem(['source'], source, `${showValue(source)} is not text`));
  if (isAbsent(user)) return problems;
  if (typeof user !== 'string') problems.push(problem(['user'], user, `${showValue(user)} is not text`));
  else if (!isValidUser(user)) problems.push(problem(['user'], user, `${showValue(user)} is no user`, USER_RULE));
  return problems;
}

function fileProblems(files: unknown): Problem[] {
  if (isAbsent(files)) return [];
  if (!isMapping(files)) return [problem(['files'], files, `${showValue(files)} is not a section of PATH: SHA-256`)];
  return Object.entries(files).flatMap(([path, sha256]) =>
    typeof sha256 === 'string' && SHA256.test(sha256)
      ? []
      : [problem(['files', path], sha256, `${showValue(sha256)} is no SHA-256`, '64 hex digits, in small letters')],
  );
}

function keyProblems(keys: unknown): Problem[] {
  if (isAbsent(keys)) return [];
  if (isMapping(keys))
    return Object.entries(keys).flatMap(([path, key]) => fingerprintProblems(['identityKeys', path], key));
  return [problem(['identityKeys'], keys, `${showValue(keys)} is not a section of PATH: fingerprint`)];
}

function memberProblems(member: unknown): Problem[] {
  if (isAbsent(member)) return [];
  const checked = memberForm(member);
  if (checked.kind === 'valid') return [];
  const why = checked.kind === 'malformed' ? checked.reason : `version ${checked.version} is not known`;
  return [problem(['member'], member, `is no place in an array: ${why}`, 'such as {"group": "exp", "index": 0}')];
}

function firingProblems(firing: unknown): Problem[] {
  if (isAbsent(firing)) return [];
  const checked = firingForm(firing);
  if (checked.kind === 'valid' && isScheduleName(checked.value.schedule)) return [];
  const why = checked.kind === 'malformed' ? `: ${checked.reason}` : '';
  const hint = 'such as {"schedule": "nightly", "at": 1796000400000}, as its schedule sets it';
  return [problem(['firing'], firing, `is no firing of a schedule${why}`, hint)];
}

function fingerprintProblems(path: readonly string[], value: unknown): Problem[] {
  if (isAbsent(value) || (typeof value === 'string' && FINGERPRINT.test(value))) return [];
  return [problem(path, value, `${showValue(value)} is no fingerprint of a key`, 'as `ssh-keygen -l` shows it')];
}

/** `null`, Python's None, counts as absent, as in a job file. */
const isAbsent = (value: unknown): boolean => value === undefined || value === null;

function problem(path: readonly string[], value: unknown, message: string, hint?: string): Problem {
  return { path: ['input', ...path], value, message, ...(hint === undefined ? {} : { hint }) };
}
