import type { Connection } from '@temporalio/client';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  explainGaps,
  JOB_SEARCH_ATTRIBUTES,
  type JobSearchAttribute,
  KEYWORD,
  searchAttributeGaps,
} from '../domain/search-attributes.js';

/** Services of a connection that are used here; a client's `Connection` and a worker's `NativeConnection` both have them. */
export type SearchAttributeServices = Pick<Connection, 'operatorService' | 'workflowService'>;

const USABLE_TIMEOUT_MS = 30_000;
const POLL_MS = 100;

/** One of jobctl's attributes exists with a type other than Keyword. A type cannot be changed; only another namespace helps. */
export class SearchAttributeTypeConflict extends Error {
  override readonly name = 'SearchAttributeTypeConflict';
}

/**
 * jobctl's attributes that `namespace` lacks.
 * @throws SearchAttributeTypeConflict, or the server's error (no such namespace, no right to list)
 */
export async function missingSearchAttributes(
  services: SearchAttributeServices,
  namespace: string,
): Promise<readonly JobSearchAttribute[]> {
  const { customAttributes } = await services.operatorService.listSearchAttributes({ namespace });
  const gaps = searchAttributeGaps(customAttributes ?? {});
  if (gaps.otherType.length > 0) throw new SearchAttributeTypeConflict(explainGaps(gaps, namespace));
  return gaps.missing;
}

/**
 * Adds what `missingSearchAttributes` finds, and returns it once the server accepts the names in queries. Repeating is safe, even
 * concurrently from two places. The start flag of the dev server does this for a new database only.
 * @throws SearchAttributeTypeConflict, or the server's error
 */
export async function ensureSearchAttributes(
  services: SearchAttributeServices,
  namespace: string,
): Promise<readonly JobSearchAttribute[]> {
  const missing = await missingSearchAttributes(services, namespace);
  if (missing.length > 0) await add(services, namespace, missing);
  await untilUsable(services, namespace);
  return missing;
}

async function add(
  services: SearchAttributeServices,
  namespace: string,
  names: readonly JobSearchAttribute[],
): Promise<void> {
  const searchAttributes = Object.fromEntries(names.map((name) => [name, KEYWORD]));
  try {
    await services.operatorService.addSearchAttributes({ namespace, searchAttributes });
  } catch (err) {
    // Another caller may have added one meanwhile; the server then refuses the whole call.
    const still = await missingSearchAttributes(services, namespace);
    if (still.length === names.length) throw err;
    if (still.length > 0) await add(services, namespace, still);
  }
}

/** A new attribute is listed at once, but queries refuse it until the server reloads its copy of the namespace. */
async function untilUsable(services: SearchAttributeServices, namespace: string): Promise<void> {
  const query = JOB_SEARCH_ATTRIBUTES.map((name) => `${name} = 'none'`).join(' AND ');
  const deadline = Date.now() + USABLE_TIMEOUT_MS;
  for (;;) {
    try {
      await services.workflowService.countWorkflowExecutions({ namespace, query });
      return;
    } catch (err) {
      if (Date.now() > deadline) throw err;
      await sleep(POLL_MS);
    }
  }
}
