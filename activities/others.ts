import { Context } from '@temporalio/activity';
import type { AfterActivities, LookedAt } from '../contract/after.js';
import type { GroupResult } from '../contract/group.js';
import { groupWorkflowId, WorkflowType } from '../contract/workflow-ids.js';
import type { PastState } from '../domain/after.js';
import { hasFailed, MemberMark } from '../domain/array/group-state.js';
import { eachOf } from '../domain/semaphore.js';
import { markOf } from './groups.js';
import { describe, type WorkflowClient } from './workflow-lookup.js';

/** Activities of jobs and groups that wait for others (docs/adr/0158). */
export const otherActivities = (): AfterActivities => ({
  lookAtOthers: ({ ids }) => lookAtOthers(Context.current().client, ids),
});

/** Calls at one time. */
const WIDTH = 20;

/** See `AfterActivities`. */
export async function lookAtOthers(client: WorkflowClient, ids: readonly string[]): Promise<readonly LookedAt[]> {
  const found = new Map<string, LookedAt>();
  await eachOf(ids, WIDTH, async (id) => void found.set(id, await lookAt(client, id)));
  return ids.map((id) => found.get(id) ?? { id, state: 'missing' });
}

async function lookAt(client: WorkflowClient, id: string): Promise<LookedAt> {
  const job = await describe(client, id);
  if (job?.type === WorkflowType.Job) return { id, state: stateOf(markOf(job)), workflow: id };
  const workflow = groupWorkflowId(id);
  const group = await describe(client, workflow);
  if (group?.type !== WorkflowType.Group) return { id, state: 'missing' };
  switch (group.status.name) {
    case 'COMPLETED': {
      const { state } = (await client.workflow.getHandle(workflow, group.runId).result()) as GroupResult;
      return { id, state: stateOfGroup(Array.from(state.marks)), workflow };
    }
    case 'FAILED':
      return { id, state: 'refused', workflow };
    case 'TERMINATED':
    case 'TIMED_OUT':
    case 'CANCELLED':
      return { id, state: 'terminated', workflow };
    default:
      return { id, state: 'open', workflow };
  }
}

/** A group succeeded if all of its members did. */
function stateOfGroup(marks: readonly string[]): PastState {
  if (marks.every((mark) => mark === MemberMark.Succeeded || mark === MemberMark.Gap)) return 'succeeded';
  if (marks.every((mark) => mark === MemberMark.Unbegun || mark === MemberMark.Gap)) return 'unbegun';
  return marks.some((mark) => hasFailed(mark) || mark === MemberMark.Skipped) ? 'failed' : 'cancelled';
}

/** A job's mark is that of a member that was started. */
function stateOf(mark: MemberMark): PastState {
  switch (mark) {
    case MemberMark.Succeeded:
      return 'succeeded';
    case MemberMark.Failed:
      return 'failed';
    case MemberMark.Cancelled:
      return 'cancelled';
    case MemberMark.Terminated:
      return 'terminated';
    case MemberMark.Refused:
      return 'refused';
    default:
      return 'open';
  }
}
