import { performance } from 'node:perf_hooks';
import type { Client } from '@temporalio/client';
import type { QuotaActivities } from '../../contract/quota-activities.js';
import { LeaseOutbox } from '../../activities/lease-outbox.js';
import type { LeaseMessage } from '../../domain/lease.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { DEFAULT_RULES, type QuotaConfig } from '../../quota/quota-config.js';
import { holdersQuery } from '../../contract/quota.js';
import { quotaWorkflowId } from '../../contract/workflow-ids.js';
import { until } from '../../test/until.js';
import { poolHistory } from '../load/pool-history.js';
import { BENCH_QUEUE, withPoolWorker } from '../start/pool-worker.js';
import { leaseTraffic } from './lease-traffic.js';
import type { Row } from './row.js';

const ROWS = 10_000;
const MOST_MS = 5 * 60_000;
const EVENT_LIMIT = 51_200;
const HISTORY_LIMIT = 50_000_000;
const PAYLOAD_LIMIT = 2 * 1024 * 1024;

/**
 * Measures the histories of two pools: one takes 10,000 requests of which none fits, the other grants 10,000 leases whose slices
 * become READY. Messages pass through the real outbox, server, workflow and store. There are no jobs, so activities that would
 * notify a job, or ask whether it is open, are replaced.
 */
export function poolHistories(): Promise<readonly Row[]> {
  return withPoolWorker(async (client) => {
    const waiting = await fill(client, 'waiting', [({ request }) => request]);
    const leases = await fill(client, 'leases', [({ request }) => request, ({ slice }) => slice, ({ chips }) => chips]);
    return [...waiting, ...leases];
  }, WITHOUT_JOBS);
}

const WITHOUT_JOBS: Partial<QuotaActivities> = {
  deliver: async () => ({ closedJobs: [] }),
  findStrays: async () => ({ closedJobs: [], lostSlices: [] }),
  loadPool: async (pool) => ({ config: configOf(pool), timings: { ...DEFAULT_TIMINGS, rebuildSettleMs: 1 } }),
};

/** The pool `waiting` grants nothing: it has half of the units that one job asks for. */
function configOf(pool: string): QuotaConfig {
  const units = pool === 'waiting' ? 4 : ROWS * 8;
  const projects = Array.from({ length: 20 }, (_, index) => ({
    name: `project-${index}`,
    shares: { v5litepod: 0.05 },
    nominal: [{ v5litepod: Math.floor(units / 20) }],
    members: ['.*'],
  }));
  return { kind: 'limited', tiers: [{ v5litepod: units }], projects, rules: DEFAULT_RULES };
}

type Said = (job: ReturnType<typeof leaseTraffic>[number]) => LeaseMessage;

async function fill(client: Client, pool: string, rounds: readonly Said[]): Promise<readonly Row[]> {
  const jobs = leaseTraffic(pool, ROWS, Date.now());
  const outbox = new LeaseOutbox(BENCH_QUEUE);
  const start = performance.now();
  for (const said of rounds) {
    await Promise.all(jobs.map((job) => outbox.send(client as never, said(job))));
    // The query is answered once all earlier messages are noted. That may take longer than the server lets a query wait.
    await until(`pool ${pool} has noted its messages`, () => isNoted(client, pool), MOST_MS);
  }
  const seconds = (performance.now() - start) / 1000;
  return rowsOf(client, pool, rounds.length, seconds);
}

async function isNoted(client: Client, pool: string): Promise<boolean> {
  const handle = client.workflow.getHandle(quotaWorkflowId(pool));
  return handle.query(holdersQuery, 0).then(
    () => true,
    () => false,
  );
}

async function rowsOf(client: Client, pool: string, rounds: number, seconds: number): Promise<readonly Row[]> {
  const history = await poolHistory(client, pool);
  const messages = ROWS * rounds;
  const count = messages.toLocaleString('en-US');
  return [
    {
      what: `pool of 10,000 ${pool === 'waiting' ? 'waiting requests' : 'leases'}`,
      figure: `${seconds.toFixed(1)} s`,
      note: `${count} messages in ${history.signals} signals`,
    },
    {
      what: '  most events in a run',
      figure: String(history.mostEvents),
      aim: `limit ${EVENT_LIMIT}`,
      isMet: history.mostEvents < EVENT_LIMIT,
      note: `${history.runs} runs, ${history.events} events in all`,
    },
    {
      what: '  most bytes in a run',
      figure: `${(history.mostBytes / 1000).toFixed(0)} kB`,
      aim: `limit ${HISTORY_LIMIT / 1_000_000} MB`,
      isMet: history.mostBytes < HISTORY_LIMIT,
    },
    {
      what: '  biggest payload',
      figure: `${(history.biggest.bytes / 1000).toFixed(0)} kB`,
      aim: `limit ${(PAYLOAD_LIMIT / 1000).toFixed(0)} kB`,
      isMet: history.biggest.bytes < PAYLOAD_LIMIT,
      note: history.biggest.where,
    },
    {
      what: '  workflow task, longest',
      figure: `${history.taskMs.most.toFixed(0)} ms`,
      note: `median ${history.taskMs.median.toFixed(0)} ms, ${history.lostTasks} lost`,
    },
  ];
}
