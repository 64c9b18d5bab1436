import type { Client } from '@temporalio/client';
import { quotaWorkflowId } from '../../contract/workflow-ids.js';
import { median } from '../start/statistics.js';
import { FULL_POOL } from './full-pool.js';
import { eventTime, type HistoryEvent, historyOf } from './history.js';
import { biggestPayload, type Payload } from './payloads.js';

/** History of the quota workflow, over all of its runs. */
export interface PoolHistory {
  readonly runs: number;
  /** Events of all runs together. */
  readonly events: number;
  readonly mostEvents: number;
  readonly mostBytes: number;
  readonly signals: number;
  /** When the workflow task that noted the last signal was completed, epoch ms of the server's clock; 0 without signals. */
  readonly lastMessageNotedAt: number;
  readonly biggest: Payload;
  /** Size of the state that the last run began with; 0 before the first continue-as-new. */
  readonly carriedBytes: number;
  /** From a workflow task's start to its completion, as the server saw it. */
  readonly taskMs: { readonly median: number; readonly most: number };
  /** Workflow tasks that timed out or failed, and were done again. */
  readonly lostTasks: number;
}

export async function poolHistory(temporal: Client, pool = FULL_POOL): Promise<PoolHistory> {
  const workflowId = quotaWorkflowId(pool);
  const runs = [];
  for (let runId = (await temporal.workflow.getHandle(workflowId).describe()).runId; runId !== '';) {
    const events = await historyOf(temporal, workflowId, runId);
    const { historySize = 0 } = await temporal.workflow.getHandle(workflowId, runId).describe();
    runs.unshift({ events, historySize });
    runId = events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '';
  }
  const all = runs.flatMap(({ events }) => events);
  const tasks = taskTimes(runs.map(({ events }) => events));
  return {
    runs: runs.length,
    events: all.length,
    mostEvents: Math.max(...runs.map(({ events }) => events.length)),
    mostBytes: Math.max(...runs.map(({ historySize }) => historySize)),
    signals: all.filter(isSignal).length,
    lastMessageNotedAt: lastNoted(all),
    biggest: biggestPayload(all),
    carriedBytes: carriedInto(runs.at(-1)?.events[0]),
    taskMs: { median: median(tasks), most: Math.max(...tasks) },
    lostTasks: all.filter(isLostTask).length,
  };
}

const isSignal = (event: HistoryEvent): boolean => Boolean(event.workflowExecutionSignaledEventAttributes);
const isLostTask = (event: HistoryEvent): boolean =>
  Boolean(event.workflowTaskTimedOutEventAttributes ?? event.workflowTaskFailedEventAttributes);

/** Size of the state that a run began with. The first run has none, only a short input. */
function carriedInto(started: HistoryEvent | undefined): number {
  const attributes = started?.workflowExecutionStartedEventAttributes;
  if (!attributes?.continuedExecutionRunId) return 0;
  return attributes.input?.payloads?.[0]?.data?.length ?? 0;
}

function lastNoted(events: readonly HistoryEvent[]): number {
  const last = events.findLastIndex(isSignal);
  if (last === -1) return 0;
  const noted = events.slice(last).find(({ workflowTaskCompletedEventAttributes: completed }) => completed);
  return noted === undefined ? 0 : eventTime(noted);
}

function taskTimes(runs: readonly (readonly HistoryEvent[])[]): readonly number[] {
  return runs.flatMap((events) => {
    const times = new Map(events.map((event) => [String(event.eventId), eventTime(event)]));
    return events.flatMap((event) => {
      const started = event.workflowTaskCompletedEventAttributes?.startedEventId;
      return started === undefined || started === null ? [] : [eventTime(event) - (times.get(String(started)) ?? 0)];
    });
  });
}
