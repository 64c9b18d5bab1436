import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { JobEncrypted, TemporalRefused } from '../../client/errors.js';
import { JobClient } from '../../client/job-client.js';
import { newCodecKey } from '../../cloud/codec/codec-key.js';
import { TestStack } from '../end-to-end/test-stack.js';
import { startTestServer, TEMPORAL_START_MS, type TestServer } from '../temporal-server.js';
import { isFoundIn, markedJob } from './marked-job.js';
import { offerMarkedZone, runMarkedJobs } from './marked-run.js';
import { contentOf } from './sqlite-content.js';

const KEY = 'JOBCTL_TEST_ENCRYPTED_JOBS';

describe('with a codec key, what Temporal keeps on disk', function () {
  this.timeout(120_000);
  const directory = mkdtempSync(join(tmpdir(), 'jobctl-encrypted-'));
  const databaseFile = join(directory, 'temporal.db');
  let server: TestServer;
  let stack: TestStack;
  let markers: readonly string[];

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    process.env[KEY] = newCodecKey(new Date(), 'test-key');
    server = await startTestServer({ databaseFile });
    stack = await TestStack.start({ server, codec: { key: `env:${KEY}` } });
    markers = await runMarkedJobs(stack, 'seal');
  });
  after(async () => {
    await stack?.stop();
    await server?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it('holds no value of a job file but name, project, user, pool and accelerator', async () => {
    assert.ok(markers.length > 20);
    const bytes = await contentOf(databaseFile);
    assert.deepEqual(
      markers.filter((marker) => isFoundIn(bytes, marker)),
      [],
    );
    for (const readable of ['seal-good', 'alice', 'v5litepod-8', 'default', 'Encoded failure'])
      assert.ok(isFoundIn(bytes, readable), `${readable} is there: it was this database`);
  });

  it('a client without the key lists the jobs and says which key is missing', async () => {
    const blind = await JobClient.connect({ temporal: { address: server.address, namespace: server.namespace } });
    try {
      const { rows } = await blind.list();
      const row = rows.find(({ id }) => id === 'seal-good');
      assert.deepEqual([row?.phase, row?.user, row?.encryptedWith], ['succeeded', 'alice', 'test-key']);
      assert.match(
        row?.why ?? '',
        /^encrypted with key 'test-key'; name where the key is: --codec-key, JOBCTL_CODEC_KEY/,
      );
      for (const id of ['seal-good', 'seal-failed', 'seal-cancelled', 'seal-invalid'])
        await assert.rejects(blind.wait(id), JobEncrypted, id);
      await assert.rejects(blind.describe('seal-good'), JobEncrypted);
      const { job } = markedJob('seal', 'good', 'echo hi');
      await assert.rejects(blind.submit({ job, name: 'seal-good' }), JobEncrypted);
    } finally {
      await blind.close();
    }
  });

  it('a Temporal Client without any codec is told what it lacks', async () => {
    const client = new Client({ connection: server.connection, namespace: server.namespace });
    const jobs = await JobClient.connect({ client });
    await assert.rejects(jobs.list(), (error) => {
      assert.ok(error instanceof TemporalRefused);
      assert.match(error.message, /is encrypted, and the Client that was given has no codec/);
      return true;
    });
  });

  it('holds all of a job that was submitted without the key, which runs all the same', async () => {
    const plain = await JobClient.connect({
      temporal: { address: server.address, namespace: server.namespace },
      taskQueue: stack.taskQueue,
    });
    await offerMarkedZone(stack, 'open');
    const { job, source, markers: open } = markedJob('open', 'good', 'echo hi');
    try {
      await plain.submit({ job, source, user: 'alice', name: 'open-good' });
    } finally {
      await plain.close();
    }
    assert.equal((await stack.jobs.wait('open-good')).result, 'succeeded');
    const bytes = await contentOf(databaseFile);
    assert.deepEqual(
      open.filter((marker) => !isFoundIn(bytes, marker)),
      [],
      'the search would find a value that is there',
    );
  });
});
