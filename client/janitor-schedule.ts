import type { Client } from '@temporalio/client';
import { JANITOR_SCHEDULE_ID, type JanitorInput, WorkflowType } from '../workflows/messages.js';

/** Production's pace; a local stack sweeps more often. */
export const JANITOR_EVERY_MS = 5 * 60_000;

/** The Temporal Schedule that sweeps for what no workflow looks after. An existing one is kept as operators left it. */
export async function ensureJanitorSchedule(
  client: Client,
  options: { readonly taskQueue: string; readonly everyMs?: number },
): Promise<'created' | 'exists'> {
  const { ScheduleAlreadyRunning } = await import('@temporalio/client');
  const input: JanitorInput = { v: 1 };
  try {
    await client.schedule.create({
      scheduleId: JANITOR_SCHEDULE_ID,
      spec: { intervals: [{ every: options.everyMs ?? JANITOR_EVERY_MS }] },
      action: {
        type: 'startWorkflow',
        workflowType: WorkflowType.Janitor,
        workflowId: 'janitor',
        taskQueue: options.taskQueue,
        args: [input],
      },
      // A sweep that takes long is not joined by another.
      policies: { overlap: 'SKIP', catchupWindow: '1 minute' },
    });
    return 'created';
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return 'exists';
    throw error;
  }
}
