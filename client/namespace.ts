import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';
import {
  explainGaps,
  JOB_SEARCH_ATTRIBUTES,
  type JobSearchAttribute,
  KEYWORD,
  searchAttributeGaps,
} from '../domain/temporal-server.js';

type NamespaceServices = Pick<Connection, 'workflowService'>;

const DAY_MS = 86_400_000;
/** Retention of a new namespace, long enough for a look at last month's jobs. A server's own default is one to three days. */
export const DEFAULT_RETENTION_MS = 30 * DAY_MS;

const USABLE_TIMEOUT_MS = 60_000;
const POLL_MS = 200;

const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;

/** Retention of the namespace in milliseconds, or undefined if the namespace does not exist. */
export async function retentionOf(
  { workflowService }: NamespaceServices,
  namespace: string,
): Promise<number | undefined> {
  try {
    const { config } = await workflowService.describeNamespace({ namespace });
    return Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) * 1_000;
  } catch (error) {
    if ((error as { code?: number }).code === NOT_FOUND) return undefined;
    throw error;
  }
}

/** Creates a namespace and returns once the server accepts calls for it. A namespace that was created meanwhile is accepted. */
export async function createNamespace(
  { workflowService }: NamespaceServices,
  namespace: string,
  retentionMs: number,
): Promise<void> {
  const { msToTs } = await import('@temporalio/common/lib/time.js');
  try {
    await workflowService.registerNamespace({
      namespace,
      description: 'jobctl: jobs on Cloud TPUs',
      workflowExecutionRetentionPeriod: msToTs(retentionMs),
    });
  } catch (error) {
    if ((error as { code?: number }).code !== ALREADY_EXISTS) throw error;
  }
  await untilUsable({ workflowService }, namespace);
}

/** Waits until the server's services know a new namespace, which takes some seconds. */
async function untilUsable({ workflowService }: NamespaceServices, namespace: string): Promise<void> {
  const deadline = Date.now() + USABLE_TIMEOUT_MS;
  for (;;) {
    try {
      await workflowService.countWorkflowExecutions({ namespace, query: '' });
      return;
    } catch (error) {
      if ((error as { code?: number }).code !== NOT_FOUND || Date.now() > deadline) throw error;
      await sleep(POLL_MS);
    }
  }
}

/** Raises the retention to `retentionMs`; a longer one is kept. @returns the retention before, in milliseconds */
export async function raiseRetention(
  services: NamespaceServices,
  namespace: string,
  retentionMs: number,
): Promise<number> {
  const before = (await retentionOf(services, namespace)) ?? 0;
  if (before >= retentionMs) return before;
  const { msToTs } = await import('@temporalio/common/lib/time.js');
  const config = { workflowExecutionRetentionTtl: msToTs(retentionMs) };
  await services.workflowService.updateNamespace({ namespace, config });
  return before;
}

/** Services of a connection that are used here; a client's `Connection` and a worker's `NativeConnection` both have them. */
type SearchAttributeServices = Pick<Connection, 'operatorService' | 'workflowService'>;

const QUERYABLE_TIMEOUT_MS = 30_000;
const QUERY_POLL_MS = 100;

/** One of jobctl's attributes exists with a type other than Keyword. A type cannot be changed, so another namespace is needed. */
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
  await untilQueryable(services, namespace);
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

/** Waits until queries accept a new attribute. It is listed at once, but the server must first reload the namespace. */
async function untilQueryable(services: SearchAttributeServices, namespace: string): Promise<void> {
  const query = JOB_SEARCH_ATTRIBUTES.map((name) => `${name} = 'none'`).join(' AND ');
  const deadline = Date.now() + QUERYABLE_TIMEOUT_MS;
  for (;;) {
    try {
      await services.workflowService.countWorkflowExecutions({ namespace, query });
      return;
    } catch (err) {
      if (Date.now() > deadline) throw err;
      await sleep(QUERY_POLL_MS);
    }
  }
}
