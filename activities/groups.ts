import { Context } from '@temporalio/activity';
import {
  WorkflowExecutionAlreadyStartedError,
  type WorkflowExecutionInfo,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { ownFile } from '../contract/group-forms.js';
import {
  type AskedMembers,
  type AskMembersInput,
  type GroupActivities,
  type MemberNews,
  memberNewsSignal,
  type MemberNote,
  type StartedMembers,
  type StartMembersInput,
  UNSEEN,
} from '../contract/group.js';
import { jobStart, keywords } from '../contract/job-start.js';
import { JOB_UPDATES } from '../contract/job-requests.js';
import { cancelNoteSignal, type JobInput, type JobMemo } from '../contract/job.js';
import { groupWorkflowId, WorkflowType } from '../contract/workflow-ids.js';
import {
  type GroupState,
  type JobMember,
  markOfResult,
  memberId,
  MemberMark,
  memberWithId,
  roundAt,
} from '../domain/array/group-state.js';
import { contentHash } from '../domain/content-hash.js';
import { messageOf } from '../domain/errors.js';
import { resolveJob } from '../domain/job-file/resolve.js';
import { JobPhase } from '../domain/job-state.js';
import { formatProblems } from '../domain/problem.js';
import { eachOf } from '../domain/semaphore.js';
import { queryText, REFUSED_PHASE } from '../domain/temporal-server.js';
import type { Installation } from './dependencies.js';
import { Outbox, SIGNAL_DEADLINE_MS } from './outbox.js';
import { describe, type WorkflowClient } from './workflow-lookup.js';

/** Calls at one time. The server's own limit per namespace is far above it. */
const WIDTH = 20;

/** Activities of the workflow `group`, and of its members (docs/adr/0157). */
export function groupActivities({
  installation,
}: {
  readonly installation: Pick<Installation, 'taskQueue'>;
}): GroupActivities {
  const outbox = new Outbox(tellGroup);
  const client = (): WorkflowClient => Context.current().client;
  return {
    startMembers: (input) => startMembers(client(), installation.taskQueue, input),
    cancelMembers: (input) => cancelMembers(client(), input),
    askMembers: (input) => askMembers(client(), input),
    compareMembers: ({ group, state }) => compareMembers(client(), group, state),
    tellGroup: ({ group, news }) => outbox.send(client(), group, news),
  };
}

export const cancelMembers = (
  client: WorkflowClient,
  { ids, asker }: Parameters<GroupActivities['cancelMembers']>[0],
): Promise<void> =>
  eachOf(ids, WIDTH, (id) =>
    unlessGone(async () => {
      const handle = client.workflow.getHandle(id);
      if (asker !== undefined) await handle.signal(cancelNoteSignal, { v: 1, verb: 'cancel', ...asker });
      await handle.cancel();
    }),
  );

/** Members that are asked at the same time. So 100 members take less than the activity's 30 s even if none answers. */
const ASKED_AT_ONCE = 25;
const ANSWER_MS = 5_000;

/** See `GroupActivities`. */
export async function askMembers(
  client: WorkflowClient,
  { members, verb, call, updateId }: AskMembersInput,
): Promise<AskedMembers> {
  const done: number[] = [];
  const unanswered: MemberNote[] = [];
  await eachOf(members, ASKED_AT_ONCE, async ({ index, id }) => {
    const asked = { args: [call] as [typeof call], updateId };
    try {
      await client.withDeadline(Date.now() + ANSWER_MS, () =>
        client.workflow.getHandle(id).executeUpdate(JOB_UPDATES[verb], asked),
      );
      done.push(index);
    } catch (error) {
      // The job has ended, or is not stopped: it has nothing to do.
      if (error instanceof WorkflowUpdateFailedError || error instanceof WorkflowNotFoundError) return;
      unanswered.push([index, noteOf(`no answer to ${verb}: ${messageOf(error)}`)]);
    }
  });
  return { done, unanswered };
}

/** Hands a batch over. A group that has ended needs no news. */
export function tellGroup(client: WorkflowClient, group: string, news: readonly MemberNews[]): Promise<void> {
  return unlessGone(() =>
    client.withDeadline(Date.now() + SIGNAL_DEADLINE_MS, () =>
      client.workflow.getHandle(groupWorkflowId(group)).signal(memberNewsSignal, news),
    ),
  );
}

/** A workflow that has ended needs no message. */
async function unlessGone(call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

// Starting ------------------------------------------------------------------------------------------------------------

/** See `GroupActivities`. */
export async function startMembers(
  client: WorkflowClient,
  taskQueue: string,
  { group, round, indexes, submission, landlords = [] }: StartMembersInput,
): Promise<StartedMembers> {
  const landlordOf = new Map(landlords);
  const marks = new Map<number, MemberMark>();
  const notes: MemberNote[] = [];
  await eachOf(indexes, WIDTH, async (index) => {
    const landlord = landlordOf.get(index);
    const member = { group, index, ...(round > 0 && { round }), ...(landlord && { landlord }) };
    const { mark, note } = await startMember(client, taskQueue, { ...submission, member });
    marks.set(index, mark);
    if (note !== undefined) notes.push([index, note]);
  });
  return { marks: indexes.map((index) => marks.get(index) ?? MemberMark.Open).join(''), notes };
}

interface Started {
  readonly mark: MemberMark;
  readonly note?: string;
}

async function startMember(
  client: WorkflowClient,
  taskQueue: string,
  input: JobInput & { readonly member: JobMember },
): Promise<Started> {
  const own = ownFile(input);
  const resolved = own.ok ? resolveJob(own.file) : own;
  if (!own.ok || !resolved.ok)
    return { mark: MemberMark.Refused, note: noteOf(formatProblems(resolved.ok ? [] : resolved.problems)) };
  const id = memberId(input.member);
  const hash = contentHash({ job: own.file, files: input.files ?? {} });
  const { memo, attributes, summary } = jobStart(resolved.spec, input, hash);
  try {
    await client.workflow.start(WorkflowType.Job, {
      workflowId: id,
      taskQueue,
      args: [input],
      memo: { ...memo },
      typedSearchAttributes: keywords(attributes),
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      workflowIdConflictPolicy: 'FAIL',
      staticSummary: summary,
    });
    return { mark: MemberMark.Open };
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return startedBefore(client, id, { group: input.member.group, hash });
  }
}

/** The activity ran before, or its group was reset: then the workflow of that id is the member. Any other workflow is foreign. */
async function startedBefore(
  client: WorkflowClient,
  id: string,
  { group, hash }: { readonly group: string; readonly hash: string },
): Promise<Started> {
  const execution = await describe(client, id);
  // Gone between two calls, by its retention.
  if (execution === undefined) return { mark: MemberMark.Terminated };
  const { contentHash: known } = (execution.memo ?? {}) as Partial<JobMemo>;
  const isMember = execution.type === WorkflowType.Job && groupOf(execution) === group && known === hash;
  if (isMember) return { mark: markOf(execution) };
  return { mark: MemberMark.Taken, note: `another ${execution.type} has the id ${id}` };
}

const noteOf = (text: string): string => (text.length <= MOST_NOTE ? text : `${text.slice(0, MOST_NOTE)} ..`);
const MOST_NOTE = 500;

// Comparing -----------------------------------------------------------------------------------------------------------

type Execution = Pick<WorkflowExecutionInfo, 'status' | 'searchAttributes' | 'memo'>;

const groupOf = ({ searchAttributes }: Pick<Execution, 'searchAttributes'>): unknown =>
  searchAttributes['JobGroup']?.[0];

/** The mark of a member, or of any job, from its workflow as Temporal shows it. */
export function markOf({ status, searchAttributes, memo }: Execution): MemberMark {
  switch (status.name) {
    case 'COMPLETED':
      return MemberMark.Succeeded;
    case 'CANCELLED':
      return MemberMark.Cancelled;
    case 'TERMINATED':
    case 'TIMED_OUT':
      return MemberMark.Terminated;
    case 'FAILED':
      if (searchAttributes['JobPhase']?.[0] === REFUSED_PHASE) return MemberMark.Refused;
      // Without a request to cancel it no workflow ends as cancelled: one that others kept from beginning failed.
      return searchAttributes['JobPhase']?.[0] === JobPhase.Cancelled ? MemberMark.Cancelled : MemberMark.Failed;
    default: {
      const { outcome } = (memo ?? {}) as Partial<JobMemo>;
      const isHolding = searchAttributes['JobPhase']?.[0] === JobPhase.Holding;
      return isHolding && outcome !== undefined ? markOfResult(outcome.result) : MemberMark.Open;
    }
  }
}

/** See `GroupActivities`. */
export async function compareMembers(client: WorkflowClient, group: string, state: GroupState): Promise<GroupState> {
  const marks = Array.from<string>({ length: state.marks.length }).fill(UNSEEN);
  const rounds = Array.from(state.rounds);
  const seen = new Set<string>();
  const query =
    `JobGroup = ${queryText(group)} AND WorkflowType = '${WorkflowType.Job}'` +
    " AND ExecutionStatus != 'ContinuedAsNew'";
  for await (const execution of client.workflow.list({ query, pageSize: 1_000 })) {
    const { workflowId: id } = execution;
    const member = memberWithId(group, id);
    // Open workflows come first: an operator's reset leaves the run before it behind, closed.
    if (member === undefined || marks[member.index] === undefined || seen.has(id)) continue;
    seen.add(id);
    const isLast = marks[member.index] === UNSEEN || member.round > Number.parseInt(rounds[member.index] ?? '0', 36);
    if (!isLast) continue;
    marks[member.index] = markOf(execution);
    rounds[member.index] = member.round.toString(36);
  }
  await eachOf(missing(state, { marks, rounds }), WIDTH, async (index) => {
    const round = roundAt(state, index);
    const execution = await describe(client, memberId({ group, index, round }));
    marks[index] = execution === undefined ? MemberMark.Terminated : markOf(execution);
    rounds[index] = round.toString(36);
  });
  return { marks: marks.join(''), rounds: rounds.join('') };
}

/** Visibility lags, and a member may have been deleted. */
const missing = (
  state: GroupState,
  { marks, rounds }: { readonly marks: readonly string[]; readonly rounds: readonly string[] },
): readonly number[] =>
  Array.from(state.marks).flatMap((mark, index) =>
    mark === MemberMark.Open && (marks[index] === UNSEEN || rounds[index] !== state.rounds[index]) ? [index] : [],
  );
