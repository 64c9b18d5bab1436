import assert from 'node:assert/strict';
import { Client, Connection } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { LeaseOutbox } from '../../activities/lease-outbox.js';
import type { LeaseMessage } from '../../domain/lease.js';
import { quotaWorkflowId } from '../../contract/workflow-ids.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';

const message = (pool: string, index: number): LeaseMessage => ({
  lease: { pool, job: `job-${index}`, run: 'r', number: 1 },
  sender: 'job',
  sequence: 1,
  body: {
    kind: 'request',
    demand: { project: 'p', user: 'u', priority: 3, submittedAt: 0, units: { v4: 8 } },
    slices: [],
  },
});

describe('the lease outbox of a worker', function () {
  this.timeout(30_000);
  let client: Client;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    const { connection, namespace } = await testServer();
    client = new Client({ connection, namespace });
  });

  /** No worker polls these pools: the signals stay in the history, one batch each. */
  async function batches(pool: string): Promise<readonly (readonly LeaseMessage[])[]> {
    const { events } = await client.workflow.getHandle(quotaWorkflowId(pool)).fetchHistory();
    return (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) =>
      signal?.input?.payloads?.[0]
        ? [defaultPayloadConverter.fromPayload<LeaseMessage[]>(signal.input.payloads[0])]
        : [],
    );
  }

  it('carries 1,000 messages that come at once in few signals, each message once, none above 200 or 16 KB', async () => {
    const outbox = new LeaseOutbox('nobody-polls');
    await Promise.all(Array.from({ length: 1_000 }, (_, index) => outbox.send(client, message('coalesced', index))));
    const sent = await batches('coalesced');
    assert.deepEqual(new Set(sent.flat().map(({ lease }) => lease.job)).size, 1_000);
    assert.equal(sent.flat().length, 1_000);
    assert.ok(sent.length <= 30, `${sent.length} signals`);
    for (const batch of sent)
      assert.ok(
        batch.length <= 200 && JSON.stringify(batch).length <= 16_384 + batch.length + 1,
        `${batch.length} messages`,
      );
  });

  it('keeps the pools apart', async () => {
    const outbox = new LeaseOutbox('nobody-polls');
    await Promise.all([outbox.send(client, message('north', 1)), outbox.send(client, message('south', 2))]);
    assert.deepEqual(
      (await batches('north')).flat().map(({ lease }) => lease.job),
      ['job-1'],
    );
    assert.deepEqual(
      (await batches('south')).flat().map(({ lease }) => lease.job),
      ['job-2'],
    );
  });

  it('rejects every message of a batch that the server did not take, and sends the next', async () => {
    const outbox = new LeaseOutbox('nobody-polls', 500);
    const gone = new Client({ connection: Connection.lazy({ address: '127.0.0.1:9' }) });
    const failed = await Promise.allSettled([
      outbox.send(gone, message('away', 1)),
      outbox.send(gone, message('away', 2)),
    ]);
    assert.deepEqual(
      failed.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    await outbox.send(client, message('away', 3));
    assert.deepEqual(
      (await batches('away')).flat().map(({ lease }) => lease.job),
      ['job-3'],
    );
  });
});
