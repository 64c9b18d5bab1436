import type { QueryDefinition } from '@temporalio/common';
import type { TextPage } from '../workflows/messages.js';
import type { WorkflowClient } from './workflow-lookup.js';

/** A pool in motion has a new text at each message, so a text of many pages may change while it is read. */
const MOST_TRIES = 5;

/**
 * The JSON value that a workflow answers in pages.
 * @throws Error where the text changed while it was read, `MOST_TRIES` times
 */
export async function queryPages(
  temporal: WorkflowClient,
  workflowId: string,
  query: QueryDefinition<TextPage, [page: number]>,
): Promise<unknown> {
  const handle = temporal.workflow.getHandle(workflowId);
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const first = await handle.query(query, 0);
    const pages = [first];
    for (let page = 1; page < first.pages; page++) pages.push(await handle.query(query, page));
    if (pages.every(({ version }) => version === first.version))
      return JSON.parse(pages.map(({ text }) => text).join('')) as unknown;
  }
  throw new Error(`query '${query.name}' of ${workflowId}: its answer changed while it was read, ${MOST_TRIES} times`);
}
