import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { JobAuthorization } from '../contract/authorization.js';
import {
  beginUpdate,
  describeGroupQuery,
  type BeginCall,
  type GroupInput,
  type GroupMemo,
  type GroupResult,
  type GroupView,
  type ResumeGroupCall,
  resumeGroupUpdate,
  type RetryCall,
  retryUpdate,
  type StopGroupCall,
  stopGroupUpdate,
} from '../contract/group.js';
import type { JobInput } from '../contract/job.js';
import { groupStart } from '../contract/job-start.js';
import { groupWorkflowId, WorkflowType } from '../contract/workflow-ids.js';
import {
  type GroupState,
  LAST_ROUND,
  nextRound,
  retriedIndexes,
  retriedState,
  retryText,
  roundPrefix,
} from '../domain/array/group-state.js';
import type { Asker } from '../domain/job-state.js';
import type { JobSpec } from '../domain/job-spec.js';
import { eachOf } from '../domain/semaphore.js';
import { GroupNotFound, JobRefused, NoWorkerAnswers } from './errors.js';
import { groupRowOf, type GroupRow } from './group-rows.js';
import { arrayOf, viewOfRows } from './group-view.js';
import { cancelOpen } from './job-calls.js';
import { readable, type TemporalAccess } from './job-executions.js';
import { findJobs } from './job-query.js';
import { type UpdateErrors, unpolled, updateAnswer } from './temporal-calls.js';

/** Signs a retry on the server. @param submission the group's input, with its own authorization */
export type AuthorizeRound = (prefix: string, submission: JobInput) => JobAuthorization;

interface GroupStart {
  readonly id: string;
  readonly input: GroupInput;
  readonly memo: GroupMemo;
  readonly spec: Pick<JobSpec, 'name' | 'pool' | 'project' | 'user'>;
}

interface GroupParts extends TemporalAccess {
  readonly taskQueue: string;
  readonly polls: (taskQueue?: string) => ReturnType<UpdateErrors['polls']>;
}

/** Members of a group that are cancelled at the same time. */
const WIDTH = 20;

/** Groups over Temporal: each call goes to the workflow `group/<id>` (docs/adr/0157). */
export class Groups {
  readonly #parts: GroupParts;

  constructor(parts: GroupParts) {
    this.#parts = parts;
  }

  /** @throws GroupNotFound */
  async row(id: string): Promise<GroupRow> {
    return groupRowOf(await this.#describe(id));
  }

  /**
   * An open group answers through a worker. An ended one has left its state as its result, unless it was ended from outside.
   * Without either, the view is made of the rows of its members.
   * @throws GroupNotFound; JobRefused if a worker refused its input
   */
  async view(id: string): Promise<GroupView> {
    const execution = await this.#describe(id);
    if (execution.status.name === 'FAILED') throw withoutState(id, execution);
    if (execution.status.name === 'RUNNING') {
      const { calls } = this.#parts;
      const polls = () => this.#parts.polls(execution.taskQueue);
      const asking = () =>
        calls.query(() => this.#handle(id).query(describeGroupQuery), { whom: `group ${id}`, polls });
      // A caller that may not read the polls waits for the answer.
      const isAway = (await unpolled(polls)) !== undefined;
      const view = isAway ? undefined : await asking().catch(unlessNoWorker);
      if (view !== undefined) return readable(id, view);
    }
    if (execution.status.name !== 'COMPLETED') return this.#viewOfRows(id, execution);
    const { state, notes, submission } = await this.#result(id);
    return { group: id, array: await arrayOf(id, submission), state, notes };
  }

  async #viewOfRows(id: string, execution: WorkflowExecutionDescription): Promise<GroupView> {
    const [submission, rows] = await Promise.all([this.#submission(id), findJobs(this.#parts, { group: id })]);
    const { awaited } = groupRowOf(execution);
    return { ...(await viewOfRows(id, submission, rows)), ...(awaited !== undefined && { awaited }) };
  }

  /** Waits until no member of the group waits or is open. @throws GroupNotFound */
  async wait(id: string): Promise<GroupState> {
    await this.#describe(id);
    // The group may have been ended from outside.
    await this.#handle(id)
      .result()
      .catch(() => undefined);
    const execution = await this.#describe(id);
    if (execution.status.name !== 'COMPLETED') throw withoutState(id, execution);
    return (await this.view(id)).state;
  }

  /** Cancels all members; needs no worker. Repeating is safe. @throws GroupNotFound */
  async cancel(id: string, asker?: Asker): Promise<'cancelling' | 'done'> {
    const { status } = await this.#describe(id);
    if (status.name !== 'RUNNING') return status.name === 'COMPLETED' ? 'done' : this.#cancelMembers(id, asker);
    return cancelOpen(this.#parts, groupWorkflowId(id), asker);
  }

  /** Cancels the open members one by one: a group that was ended from outside no longer does it. */
  async #cancelMembers(id: string, asker?: Asker): Promise<'cancelling' | 'done'> {
    const members = await findJobs(this.#parts, { group: id, state: 'open' });
    let state: 'cancelling' | 'done' = 'done';
    await eachOf(members, WIDTH, async (member) => {
      if ((await cancelOpen(this.#parts, member.id, asker)) === 'cancelling') state = 'cancelling';
    });
    return state;
  }

  /**
   * Runs the failed members again, as a new round. A group that has ended is started again with the state that it left.
   * @throws JobRefused if no member failed, or another retry came first; GroupNotFound
   */
  async retry(id: string, by: string, { from, authorize }: RetryOptions = {}): Promise<string> {
    const execution = await this.#describe(id);
    if (execution.status.name === 'COMPLETED') return this.#retryEnded(id, execution, authorize);
    if (execution.status.name !== 'RUNNING') return this.#beginAgain(id, execution);
    const { state } = await this.view(id);
    const round = nextRound(state);
    // The server signs the submission, which is the input of an open group.
    const authorization = authorize?.(roundPrefix({ group: id, round }), await this.#submission(id));
    const call: RetryCall = {
      ...{ v: 1, by, round },
      ...(from === undefined ? {} : { from }),
      ...(authorization && { authorization }),
    };
    return this.#update(id, execution, () => this.#handle(id).executeUpdate(retryUpdate, { args: [call] }));
  }

  /** A group that waits for others begins without them. Repeating is safe. @throws JobRefused if it has ended; GroupNotFound */
  async begin(id: string, by: string, { from }: Pick<RetryOptions, 'from'> = {}): Promise<string> {
    const execution = await this.#describe(id);
    if (execution.status.name !== 'RUNNING') throw new JobRefused(id, `group ${id} has ended: it waits for no others`);
    const call: BeginCall = { ...{ v: 1, by }, ...(from === undefined ? {} : { from }) };
    return this.#update(id, execution, () => this.#handle(id).executeUpdate(beginUpdate, { args: [call] }));
  }

  /** Stops the open members, and lets no other begin. Repeating is safe. @throws JobRefused if it has ended; GroupNotFound */
  async stop(id: string, by: string, { from, release }: StopOptions = {}): Promise<string> {
    const execution = await this.#openOne(id, 'there is nothing to stop');
    const call: StopGroupCall = {
      ...{ v: 1, by },
      ...(from !== undefined && { from }),
      ...(release === true && { release }),
    };
    return this.#update(id, execution, () => this.#handle(id).executeUpdate(stopGroupUpdate, { args: [call] }));
  }

  /** Lets a stopped group go on, and each of its members that is stopped. @throws JobRefused if it has ended; GroupNotFound */
  async resume(id: string, by: string, { from }: Pick<RetryOptions, 'from'> = {}): Promise<string> {
    const execution = await this.#openOne(id, 'there is nothing to resume');
    const call: ResumeGroupCall = { ...{ v: 1, by }, ...(from !== undefined && { from }) };
    return this.#update(id, execution, () => this.#handle(id).executeUpdate(resumeGroupUpdate, { args: [call] }));
  }

  async #openOne(id: string, nothing: string): Promise<WorkflowExecutionDescription> {
    const execution = await this.#describe(id);
    if (execution.status.name === 'RUNNING') return execution;
    if (execution.status.name !== 'COMPLETED') throw withoutState(id, execution);
    throw new JobRefused(id, `group ${id} has ended: ${nothing}`);
  }

  #update(
    id: string,
    { taskQueue }: WorkflowExecutionDescription,
    update: () => Promise<{ readonly message: string }>,
  ): Promise<string> {
    const { calls, polls } = this.#parts;
    return updateAnswer(calls, update, {
      ...{ whom: `group ${id}`, seenBy: `jobctl status ${id}`, polls: () => polls(taskQueue) },
      refused: (why) => new JobRefused(id, why),
      notFound: () => this.#notFound(id),
    });
  }

  async #retryEnded(
    id: string,
    execution: WorkflowExecutionDescription,
    authorize: AuthorizeRound | undefined,
  ): Promise<string> {
    const { state, submission, authorizations } = await this.#result(id);
    const indexes = retriedIndexes(state);
    if (indexes.length === 0) throw new JobRefused(id, `group ${id} has no failed member`);
    const round = nextRound(state);
    if (round > LAST_ROUND) throw new JobRefused(id, `group ${id} was retried ${LAST_ROUND} times, which are the most`);
    const prefix = roundPrefix({ group: id, round });
    const signed = authorize && { [round]: authorize(prefix, submission) };
    const input: GroupInput = {
      ...{ v: 1, submission, state: retriedState(state) },
      authorizations: { ...authorizations, ...signed },
    };
    if (!(await startGroup(this.#parts, startOf(id, input, execution), 'ALLOW_DUPLICATE'))) throw wasRetried(id);
    return retryText(id, round, indexes.length);
  }

  /** Starts a group again that was ended from outside and so left no state. It then finds the members that Temporal knows. */
  async #beginAgain(id: string, execution: WorkflowExecutionDescription): Promise<string> {
    const input: GroupInput = { v: 1, submission: await this.#submission(id) };
    if (!(await startGroup(this.#parts, startOf(id, input, execution), 'ALLOW_DUPLICATE'))) throw wasRetried(id);
    return `group ${id} was ended in Temporal: it begins again with the members that Temporal knows; ask again to retry those that failed`;
  }

  /** The input of a group, from the first event of its history: no worker is needed. */
  async #submission(id: string): Promise<JobInput> {
    const { temporal, calls } = this.#parts;
    const { history } = await calls.bounded(() =>
      temporal.workflowService.getWorkflowExecutionHistory({
        namespace: temporal.options.namespace,
        execution: { workflowId: groupWorkflowId(id) },
        maximumPageSize: 1,
      }),
    );
    const payloads = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    const { decodeArrayFromPayloads } = await import('@temporalio/common/lib/internal-non-workflow/index.js');
    const [input] = (await decodeArrayFromPayloads(temporal.options.loadedDataConverter, payloads)) as [GroupInput];
    return readable(id, input).submission;
  }

  async #result(id: string): Promise<GroupResult> {
    const { calls } = this.#parts;
    return readable(id, (await calls.bounded(() => this.#handle(id).result())) as GroupResult);
  }

  async #describe(id: string): Promise<WorkflowExecutionDescription> {
    const { WorkflowNotFoundError } = await import('@temporalio/common');
    try {
      return await this.#parts.calls.bounded(() => this.#handle(id).describe());
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw this.#notFound(id);
      throw error;
    }
  }

  #notFound(id: string): GroupNotFound {
    return new GroupNotFound(id, this.#parts.where);
  }

  #handle(id: string): ReturnType<Client['workflow']['getHandle']> {
    return this.#parts.temporal.workflow.getHandle(groupWorkflowId(id));
  }
}

export interface RetryOptions {
  /** Host name of the user's computer. */
  readonly from?: string;
  /** Set by `jobctl serve` (docs/adr/0080). */
  readonly authorize?: AuthorizeRound;
}

export interface StopOptions extends Pick<RetryOptions, 'from'> {
  /** Slices and leases go back too. */
  readonly release?: boolean;
}

/** @throws all other errors */
function unlessNoWorker(error: unknown): undefined {
  if (!(error instanceof NoWorkerAnswers)) throw error;
}

const wasRetried = (id: string): JobRefused =>
  new JobRefused(id, `group ${id} was retried by somebody else meanwhile: look at it, and ask again`);

const withoutState = (id: string, { status }: WorkflowExecutionDescription): JobRefused =>
  new JobRefused(
    id,
    `group ${id} was ${status.name === 'TERMINATED' ? 'terminated' : 'ended'} in Temporal, and left no state`,
    `\`jobctl status ${id}\` shows what is known of its jobs; \`jobctl retry ${id} --failed\` lets it begin again and find them`,
  );

/** The start of a group with the row that it had before. */
function startOf(id: string, input: GroupInput, execution: WorkflowExecutionDescription): GroupStart {
  const { project, user, pool } = groupRowOf(execution);
  const { name, contentHash, members, schedule } = execution.memo as unknown as GroupMemo;
  return {
    ...{ id, input, memo: { name, contentHash, members, ...(schedule !== undefined && { schedule }) } },
    spec: { name, pool, user, ...(project === '-' ? {} : { project }) },
  };
}

/** @returns false if the id is in use: by an open group, or by any group if the policy says so */
export async function startGroup(
  { temporal, calls, taskQueue }: Pick<GroupParts, 'temporal' | 'calls' | 'taskQueue'>,
  { id, input, memo, spec }: GroupStart,
  workflowIdReusePolicy: 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE',
): Promise<boolean> {
  const { WorkflowExecutionAlreadyStartedError } = await import('@temporalio/common');
  try {
    const start = { ...groupStart(id, input, memo, spec), taskQueue, workflowIdReusePolicy };
    await calls.bounded(() => temporal.workflow.start(WorkflowType.Group, start));
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}

/** The memo of an existing group. */
export async function describeGroup(
  { temporal, calls }: Pick<GroupParts, 'temporal' | 'calls'>,
  id: string,
): Promise<GroupMemo | undefined> {
  const { memo } = await calls.bounded(() => temporal.workflow.getHandle(groupWorkflowId(id)).describe());
  return memo as unknown as GroupMemo | undefined;
}
