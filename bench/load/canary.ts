import { performance } from 'node:perf_hooks';
import { eventTime, historyOf } from './history.js';
import type { LoadStack } from './load-stack.js';

export interface CanaryFigures {
  /** From the submit to the outcome. */
  readonly totalMs: number;
  /** From the submit to the grant. */
  readonly grantMs: number;
  /** The longest wait of one of its workflow tasks or activities for the worker. */
  readonly longestScheduleToStartMs: number;
}

/** Measures one job in a pool with room: its delays are what other users notice of a full pool. */
export async function canary({ jobs, temporal }: LoadStack, name: string): Promise<CanaryFigures> {
  const start = performance.now();
  const submittedAt = Date.now();
  await jobs.submit({ job: JOB, name });
  const { result, cause } = await jobs.wait(name);
  const totalMs = performance.now() - start;
  if (result !== 'succeeded') throw new Error(`job ${name}: ${result}, expected succeeded: ${cause?.message ?? '-'}`);
  const events = await historyOf(temporal, name);
  const granted = events.find(
    ({ workflowExecutionSignaledEventAttributes: signal }) => signal?.signalName === 'granted',
  );
  if (!granted) throw new Error(`job ${name} succeeded without a grant in its history`);
  const scheduled = new Map(events.map((event) => [String(event.eventId), eventTime(event)]));
  const waits = events.flatMap((event) => {
    const id =
      event.workflowTaskStartedEventAttributes?.scheduledEventId ??
      event.activityTaskStartedEventAttributes?.scheduledEventId;
    return id === undefined || id === null ? [] : [eventTime(event) - (scheduled.get(String(id)) ?? 0)];
  });
  return { totalMs, grantMs: eventTime(granted) - submittedAt, longestScheduleToStartMs: Math.max(...waits) };
}

const JOB = {
  name: 'canary',
  pool: 'spare',
  tpu: { allocation_mode: 'queued-resources', accelerator: 'v5litepod-8', zone: 'us-central1-a', pricing: 'spot' },
  command: { run: 'true' },
};
