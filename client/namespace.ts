import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';

type NamespaceServices = Pick<Connection, 'workflowService'>;

const DAY_MS = 86_400_000;
/** People look at last week's jobs; a server's own default is a day or three. */
export const DEFAULT_RETENTION_MS = 30 * DAY_MS;

const USABLE_TIMEOUT_MS = 60_000;
const POLL_MS = 200;

const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;

/** How long closed workflows of a namespace are kept, in ms; undefined where there is no such namespace. */
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

/** Returns when the server takes calls for it. One that was made in between is as good. */
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

/** The parts of a server read a new namespace some seconds after it was made. */
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

/** Raises the retention to `retentionMs`; a longer one stays. @returns what it was before, in ms */
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
