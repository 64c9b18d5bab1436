import type { Client } from '@temporalio/client';
import { JANITOR_SCHEDULE_ID, type JanitorInput, TASK_QUEUE, WorkflowType } from '../workflows/messages.js';

/** Production's pace; a local stack sweeps more often. */
export const JANITOR_EVERY_MS = 5 * 60_000;

/** One for each installation of a namespace: another task queue is another installation. */
export const janitorScheduleId = (taskQueue: string): string =>
  taskQueue === TASK_QUEUE ? JANITOR_SCHEDULE_ID : `${JANITOR_SCHEDULE_ID}-${taskQueue}`;

/** The Temporal Schedule that sweeps for what no workflow looks after. An existing one is kept as operators left it. */
export async function ensureJanitorSchedule(
  client: Client,
  options: { readonly taskQueue: string; readonly everyMs?: number },
): Promise<'created' | 'exists' | 'paused'> {
  const { ScheduleAlreadyRunning } = await import('@temporalio/client');
  const input: JanitorInput = { v: 1 };
  const { taskQueue } = options;
  const scheduleId = janitorScheduleId(taskQueue);
  try {
    await client.schedule.create({
      scheduleId,
      spec: { intervals: [{ every: options.everyMs ?? JANITOR_EVERY_MS }] },
      action: {
        type: 'startWorkflow',
        workflowType: WorkflowType.Janitor,
        workflowId: taskQueue === TASK_QUEUE ? 'janitor' : `janitor-${taskQueue}`,
        taskQueue,
        args: [input],
      },
      // A sweep that takes long is not joined by another.
      policies: { overlap: 'SKIP', catchupWindow: '1 minute' },
    });
    return 'created';
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    const { state } = await client.schedule.getHandle(scheduleId).describe();
    return state.paused ? 'paused' : 'exists';
  }
}
