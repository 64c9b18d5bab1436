import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import {
  ensureSearchAttributes,
  missingSearchAttributes,
  SearchAttributeTypeConflict,
} from '../../client/namespace.js';
import { JOB_SEARCH_ATTRIBUTES } from '../../domain/temporal-server.js';
import { startTestServer, TEMPORAL_START_MS, testServer, type TestServer } from '../temporal-server.js';

const DATETIME = 6;

describe('search attributes', function () {
  this.timeout(TEMPORAL_START_MS);

  describe('on a database file', () => {
    let folder: string;
    let server: TestServer | undefined;
    beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'jobctl-attributes-'))));
    afterEach(async () => {
      await server?.stop();
      rmSync(folder, { recursive: true });
    });

    it('one that is missing from an existing database is added after a restart, where the start flag is ignored', async () => {
      const databaseFile = join(folder, 'temporal.db');
      server = await startTestServer({ databaseFile });
      await server.connection.operatorService.removeSearchAttributes({
        namespace: server.namespace,
        searchAttributes: ['JobPool'],
      });
      assert.deepEqual(await missingSearchAttributes(server.connection, server.namespace), ['JobPool']);
      await server.stop();

      // It ensures them, as `dev up` does; and it takes its time to read the namespace again, as production servers do.
      const dynamicConfig = { 'system.namespaceCacheRefreshInterval': '3s' };
      server = await startTestServer({ databaseFile, dynamicConfig });
      assert.deepEqual(await missingSearchAttributes(server.connection, server.namespace), []);
      await startWith(server, { JobPool: 'a-pool' });
    });
  });

  describe('of a namespace', () => {
    let server: TestServer;
    before(async () => void (server = await testServer()));

    it('are there on the shared server, and ensuring them again adds none', async () => {
      assert.deepEqual(await ensureSearchAttributes(server.connection, server.namespace), []);
    });

    it('are each added once when two ensure them at the same time, and can be used at once', async () => {
      const namespace = await newNamespace(server);
      const added = await Promise.all([1, 2].map(() => ensureSearchAttributes(server.connection, namespace)));
      assert.ok(added.some((names) => names.length === JOB_SEARCH_ATTRIBUTES.length));
      assert.deepEqual(await missingSearchAttributes(server.connection, namespace), []);
      await startWith({ ...server, namespace }, { JobPhase: 'queued' });
    });

    it('of another type are refused with the type found, the type wanted and what to do', async () => {
      const namespace = await newNamespace(server);
      await server.connection.operatorService.addSearchAttributes({
        namespace,
        searchAttributes: { JobUser: DATETIME },
      });
      await assert.rejects(ensureSearchAttributes(server.connection, namespace), (err) => {
        assert.ok(err instanceof SearchAttributeTypeConflict);
        assert.match(
          err.message,
          /JobUser of Temporal namespace \S+: it has type Datetime, jobctl needs Keyword\. .*remove/,
        );
        return true;
      });
    });
  });
});

let serial = 0;

async function newNamespace(server: TestServer): Promise<string> {
  const namespace = `attributes-${process.pid}-${serial++}`;
  await server.connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: msToTs('1 day'),
  });
  return namespace;
}

async function startWith(
  server: Pick<TestServer, 'address' | 'namespace'>,
  attributes: Record<string, string>,
): Promise<void> {
  const connection = await Connection.connect({ address: server.address });
  const client = new Client({ connection, namespace: server.namespace });
  const handle = await client.workflow.start('none', {
    workflowId: `with-${Object.keys(attributes).join('-')}`,
    taskQueue: 'nobody-polls',
    searchAttributes: Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, [value]])),
  });
  await handle.terminate();
  await connection.close();
}
