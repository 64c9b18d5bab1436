import type { QueryDefinition } from '@temporalio/common';
import { readPages, type TextPage } from '../quota/published-state.js';
import type { WorkflowClient } from './workflow-lookup.js';

/** Reads a JSON value that a workflow answers in pages. */
export function queryPages(
  temporal: WorkflowClient,
  workflowId: string,
  query: QueryDefinition<TextPage, [page: number]>,
): Promise<unknown> {
  const handle = temporal.workflow.getHandle(workflowId);
  return readPages((page) => handle.query(query, page), `query '${query.name}' of ${workflowId}`);
}
