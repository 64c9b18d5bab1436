import { performance } from 'node:perf_hooks';
import type { Scenario } from './arguments.js';
import { canary, type CanaryFigures } from './canary.js';
import { cancelAll, fillPool, submitQueue, untilPoolKnows } from './full-pool.js';
import { listTimes, type ListTimes } from './list-times.js';
import { type LoadStack, withLoadStack } from './load-stack.js';
import { type PoolHistory, poolHistory } from './pool-history.js';
import { type ProcessMemory, processMemory } from './process-memory.js';
import { type QueryAnswer, stateQuery } from './state-query.js';

export interface ScenarioFigures {
  readonly scenario: Scenario;
  readonly startsPerSecond: number;
  /** From the first submit until the quota workflow had noted the last request. */
  readonly allKnownMs: number;
  readonly workerMemory: ProcessMemory;
  readonly serverMemory: ProcessMemory | undefined;
  readonly list: ListTimes;
  readonly pool: PoolHistory;
  readonly state: QueryAnswer;
  /** A job in another pool, before the queue exists (`canaryBefore`) and while it waits (`canaryAfter`). */
  readonly canaryBefore: CanaryFigures;
  readonly canaryAfter: CanaryFigures;
  readonly cancelMs: number;
  readonly workerPeakAfterCancel: number;
  /** History of the pool after the cancellations. */
  readonly poolAtEnd: PoolHistory;
}

/** @param tell receives each step, for a person who waits */
export function measureScenario(scenario: Scenario, tell: (step: string) => void): Promise<ScenarioFigures> {
  tell('starting a local stack');
  return withLoadStack(scenario.server, (stack) => measure(stack, scenario, tell));
}

async function measure(stack: LoadStack, scenario: Scenario, tell: (step: string) => void): Promise<ScenarioFigures> {
  await fillPool(stack);
  await canary(stack, 'canary-warm-up');
  const canaryBefore = await canary(stack, 'canary-before');
  tell(`submitting ${scenario.jobs} jobs`);
  const startedAt = Date.now();
  const { ids, startsPerSecond } = await submitQueue(stack, scenario.jobs);
  tell(`${startsPerSecond.toFixed(0)} starts/s; waiting until the pool knows all of them`);
  await untilPoolKnows(stack, scenario.jobs);
  const canaryAfter = await canary(stack, 'canary-behind');
  tell('all known; measuring');
  const figures = {
    scenario,
    startsPerSecond,
    canaryBefore,
    canaryAfter,
    list: await listTimes(stack),
    workerMemory: processMemory(stack.workerPid),
    serverMemory: stack.serverPid === undefined ? undefined : processMemory(stack.serverPid),
    pool: await poolHistory(stack.temporal),
    state: await stateQuery(stack.temporal),
  };
  tell('cancelling all');
  const cancelStart = performance.now();
  await cancelAll(stack, ids);
  const cancelMs = performance.now() - cancelStart;
  return {
    ...figures,
    allKnownMs: figures.pool.lastMessageNotedAt - startedAt,
    cancelMs,
    workerPeakAfterCancel: processMemory(stack.workerPid).peakBytes,
    poolAtEnd: await poolHistory(stack.temporal),
  };
}
