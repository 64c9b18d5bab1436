import { setTimeout as sleep } from 'node:timers/promises';
import type { NativeConnection } from '@temporalio/worker';
import { isDone, JobPhase } from '../domain/job-state.js';
import type { WorkerMeter } from './metrics.js';

const EVERY_MS = 60_000;
const OPEN_PHASES = Object.values(JobPhase).filter((phase) => !isDone(phase));

/**
 * Counts the open jobs of the namespace by phase, until `stop`. One count per phase and minute: a server allows ten list
 * calls a second (facts/production.md 1), so a dozen workers that count stay far below it.
 */
export async function countOpenJobs(
  { workflowService }: Pick<NativeConnection, 'workflowService'>,
  namespace: string,
  meter: Pick<WorkerMeter, 'openJobs'>,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    for (const phase of OPEN_PHASES) {
      const query = `ExecutionStatus = 'Running' AND JobPhase = '${phase}'`;
      // A count that fails leaves the one before it: the SDK's own metrics show that the server is away.
      await workflowService
        .countWorkflowExecutions({ namespace, query })
        .then(({ count }) => meter.openJobs(phase, Number(count)))
        .catch(() => undefined);
    }
    await sleep(EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
  }
}
