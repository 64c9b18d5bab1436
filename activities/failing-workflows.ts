import { log } from '@temporalio/activity';
import type { FailingWorkflows } from '../contract/janitor.js';
import { failingWorkflowsObject } from '../domain/store-layout.js';
import type { ActivityDependencies } from './dependencies.js';
import { eachOf } from '../domain/each-of.js';
import { describe, type WorkflowClient } from './workflow-lookup.js';

/** Attempts of a workflow task. One fails when a worker is killed in the middle; a second failure is not such an accident. */
const FAILING_FROM_ATTEMPT = 3;
/** Calls at one time: 10,000 open workflows take seconds, and no server limits calls this low. */
const LOOKUPS_AT_A_TIME = 8;
/** Most workflows that people read, and that `list` asks about. */
const MOST_NAMED = 100;

/**
 * Finds the open workflows of this installation that stand still. A server before 1.30 does not list them, so each is described.
 * The result is kept in the store, where `jobctl list` looks which jobs to ask about.
 * @returns `ID: attempt N of its workflow task`
 */
export async function findFailingWorkflows(
  temporal: WorkflowClient,
  { installation, store }: Pick<ActivityDependencies, 'installation' | 'store'>,
): Promise<readonly string[]> {
  const open: string[] = [];
  const query = `ExecutionStatus = 'Running' AND TaskQueue = '${installation.taskQueue}'`;
  for await (const { workflowId } of temporal.workflow.list({ query, pageSize: 1000 })) open.push(workflowId);
  const attempts = new Map<string, number>();
  await eachOf(open, LOOKUPS_AT_A_TIME, async (id) => {
    const attempt = (await describe(temporal, id))?.raw.pendingWorkflowTask?.attempt ?? 0;
    if (attempt >= FAILING_FROM_ATTEMPT) attempts.set(id, Number(attempt));
  });
  const found = [...attempts].toSorted(([a], [b]) => (a < b ? -1 : 1)).slice(0, MOST_NAMED);
  const content: FailingWorkflows = { v: 1, at: Date.now(), ids: found.map(([id]) => id) };
  // A sweep matters more than its record.
  await store
    .replace(failingWorkflowsObject, JSON.stringify(content))
    .catch((error: unknown) => void log.warn('could not store which workflows stand still', { error }));
  for (const [id, attempt] of found) log.warn(`workflow ${id} stands still: attempt ${attempt} of its workflow task`);
  return found.map(([id, attempt]) => `${id}: attempt ${attempt} of its workflow task`);
}
