import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';

type NamespaceServices = Pick<Connection, 'workflowService'>;

const DAY_MS = 86_400_000;
/** People look at last week's jobs, but a server keeps workflows for one to three days by default. */
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

/** The services of a server learn of a new namespace some seconds after it was created. */
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
