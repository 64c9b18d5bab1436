import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { QuotaCarry } from '../../workflows/quota/carried-state.js';
import type { BookPart, QuotaActivities } from '../../contract/quota-activities.js';
import { leasesOf } from '../../cli/doctor/audit/audit-leaks.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { UNLIMITED } from '../../quota/quota-config.js';
import { quotaStart } from '../../contract/quota.js';
import { WorkflowType } from '../../contract/workflow-ids.js';
import type { LeaseRow } from '../../workflows/quota/lease-book.js';
import { packBook } from '../../workflows/quota/packed-book.js';
import { slicePlan } from '../cloud/cloud-tpu-plan.js';
import { TEMPORAL_START_MS, type TestServer, testServer } from '../temporal-server.js';
import { until } from '../until.js';
import { workflowBundle } from '../workflow-bundle.js';
import { LOADING } from '../../worker/workflow-code.js';

const QUEUE = 'a pool of many leases';
const POOL = `many-${randomUUID().slice(0, 8)}`;
/** More than one payload of Temporal holds, and two pages. */
const LEASES = 14_000;
const PART = 900_000;

/**
 * The real workflow on a real server, handed a state as its last run would have kept it. There are no jobs behind its leases,
 * so who would look for them is answered for.
 */
describe('audit leaks beside a pool of 14,000 leases', function () {
  this.timeout(60_000);
  let book: ReadonlyMap<string, string>;
  let server: TestServer;
  let connection: NativeConnection;
  let worker: Worker;
  let running: Promise<void>;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    book = keptBook();
    server = await testServer();
    connection = await NativeConnection.connect({ address: server.address });
    worker = await Worker.create({
      connection,
      namespace: server.namespace,
      taskQueue: QUEUE,
      ...LOADING,
      workflowBundle: await workflowBundle(),
      activities: activitiesWith(book),
    });
    running = worker.run();
  });
  after(async () => {
    worker.shutdown();
    await running;
    await connection.close();
  });

  it('reads all that are held, page by page, and none that wait', async () => {
    const client = new Client({ connection: server.connection, namespace: server.namespace });
    const kept = [...book.keys()];
    const carry = {
      state: { kept, late: [] },
      settings: { admission: { kind: 'frozen' } },
      slot: 1,
      kept: [],
    } satisfies QuotaCarry;
    const pool = await client.workflow.start(WorkflowType.Quota, {
      ...quotaStart(POOL, QUEUE),
      args: [{ v: 1, pool: POOL, carry }],
    });
    try {
      const leases = await until(
        'the pool is ready',
        () => leasesOf(client, pool.workflowId).catch(() => undefined),
        30_000,
      );
      assert.equal(leases.length, LEASES);
      assert.equal(new Set(leases.map(({ lease }) => lease.job)).size, LEASES);
      assert.deepEqual(leases[7], {
        lease: { pool: POOL, job: 'train-7', run: runOf(7), number: 1 },
        state: 'held',
        slices: ['jc-train-7-g1'],
      });
    } finally {
      await pool.terminate();
    }
  });
});

const runOf = (index: number): string => `01a1fe4e-0000-7000-8000-${String(index).padStart(12, '0')}`;

function rowOf(index: number): LeaseRow {
  const isHeld = index < LEASES;
  const job = `train-${index}`;
  return {
    lease: { pool: POOL, job, run: runOf(index), number: 1 },
    demand: { project: 'a', user: 'u', priority: 3, submittedAt: index, units: { v4: 8 } },
    state: isHeld ? 'held' : 'waiting',
    tier: 0,
    ...(isHeld ? { startedAt: index, heldSince: index } : {}),
    slices: isHeld ? [slicePlan(`jc-${job}-g1`, 'queued-resources').ref] : [],
    gone: [],
    sequences: { job: index + 1 },
  };
}

/** Texts by name. */
function keptBook(): ReadonlyMap<string, string> {
  const rows = Array.from({ length: LEASES + 10 }, (_, index) => rowOf(index));
  const text = JSON.stringify({ book: packBook({ epoch: 1, rows, freed: [] }) });
  const parts = Array.from({ length: Math.ceil(text.length / PART) }, (_, part) => `1-${part}`);
  return new Map(parts.map((name, part) => [name, text.slice(part * PART, (part + 1) * PART)]));
}

function activitiesWith(parts: ReadonlyMap<string, string>): object {
  return {
    readBook: async ({ name }: BookPart) => parts.get(name),
    loadPool: async () => ({ config: UNLIMITED, timings: DEFAULT_TIMINGS }),
    findStrays: async () => ({ closedJobs: [], lostSlices: [] }),
  } satisfies Partial<QuotaActivities>;
}
