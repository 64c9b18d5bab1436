import { performance } from 'node:perf_hooks';
import type { Client } from '@temporalio/client';
import { eachOf } from '../../domain/semaphore.js';
import { type PoolHistory, poolHistory } from '../load/pool-history.js';
import { BENCH_QUEUE, withPoolWorker } from './pool-worker.js';

/** Request and release of each job. */
const MESSAGES_PER_JOB = 2;

export interface RateOptions {
  /** Jobs in a round. */
  readonly jobs?: number;
  readonly rounds?: number;
  /** Whether each round also runs as many workflows that do nothing. */
  readonly withEmpty?: boolean;
}

export interface QuotaRates {
  /** Jobs per second, one figure per round. */
  readonly bare: number[];
  readonly quota: number[];
  /** None without `withEmpty`. */
  readonly empty: number[];
  /** Signals to the quota workflow in the last round. */
  readonly signals: number;
  readonly messages: number;
  readonly pool: PoolHistory;
  /** Events in the history of one job, without a lease and with one. */
  readonly jobEvents: { readonly bare: number; readonly quota: number };
}

/** Measures the same workflow in turn with and without a lease, on one server and one worker. */
export function quotaRates({ jobs = 500, rounds = 3, withEmpty = false }: RateOptions = {}): Promise<QuotaRates> {
  return withPoolWorker(async (client) => {
    const rates: Record<'bare' | 'quota' | 'empty', number[]> = { bare: [], quota: [], empty: [] };
    await rate(client, 'warm-up', { pool: 'default' }, 50);
    for (let round = 0; round < rounds; round++) {
      rates.bare.push(await rate(client, `bare-${round}`, {}, jobs));
      rates.quota.push(await rate(client, `quota-${round}`, { pool: `bench-${round}` }, jobs));
      if (withEmpty) rates.empty.push(await rate(client, `empty-${round}`, 'nothing', jobs));
    }
    const pool = await poolHistory(client, `bench-${rounds - 1}`);
    const jobEvents = { bare: await eventsOf(client, 'bare-0-0'), quota: await eventsOf(client, 'quota-0-0') };
    return { ...rates, signals: pool.signals, messages: jobs * MESSAGES_PER_JOB, pool, jobEvents };
  });
}

/** Workflows per second. @param input `nothing`: the workflow that does nothing */
async function rate(
  client: Client,
  name: string,
  input: { readonly pool?: string } | 'nothing',
  jobs: number,
): Promise<number> {
  const [workflow, args] = input === 'nothing' ? (['emptyJob', []] as const) : (['quickJob', [input]] as const);
  const start = performance.now();
  await eachOf(
    Array.from({ length: jobs }, (_, index) => index),
    100,
    async (index) => {
      const handle = await client.workflow.start(workflow, {
        taskQueue: BENCH_QUEUE,
        workflowId: `${name}-${index}`,
        args: [...args],
      });
      await handle.result();
    },
  );
  return (jobs * 1000) / (performance.now() - start);
}

async function eventsOf(client: Client, workflowId: string): Promise<number> {
  return (await client.workflow.getHandle(workflowId).describe()).historyLength;
}
