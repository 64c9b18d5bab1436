import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Connection } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { newCodecKey } from '../../cloud/codec/codec-key.js';
import { openCodec } from '../../cloud/codec/payload-codec.js';
import { ensureSearchAttributes } from '../../client/namespace.js';
import { dataConverterOf } from '../../worker/workflow-code.js';
import { isFoundIn } from '../codec/marked-job.js';
import { runMarkedJobs } from '../codec/marked-run.js';
import { contentOf } from '../codec/sqlite-content.js';
import { TestStack } from '../end-to-end/test-stack.js';
import { startTestServer, type TestServer } from '../temporal-server.js';
import { GO_BUILD_MS } from './built-by-go.js';
import { type PostgresTemporal, startPostgresTemporal } from './postgres/temporal-on-postgres.js';

const KEY = 'JOBCTL_TEST_CODEC_DATABASE';
const CODEC = { key: `env:${KEY}` };

/** A Temporal server, and all that its database holds. */
interface Place {
  readonly server: TestServer;
  content(): Promise<Buffer>;
  end(): Promise<void>;
}

const PLACES: Record<string, (directory: string) => Promise<Place>> = {
  SQLite: async (directory) => {
    const databaseFile = join(directory, 'temporal.db');
    const server = await startTestServer({ databaseFile });
    return { server, content: () => contentOf(databaseFile), end: () => server.stop() };
  },
  PostgreSQL: async (directory) => {
    const temporal = await startPostgresTemporal({ directory });
    const { address, namespace } = temporal;
    const connection = await Connection.connect({ address });
    await ensureSearchAttributes(connection, namespace);
    const server: TestServer = {
      address,
      namespace,
      connection,
      uiUrl: '',
      pid: undefined,
      stop: () => temporal.stop(),
    };
    const end = async (): Promise<void> => {
      await connection.close();
      await temporal.stop();
    };
    return { server, content: () => everyRow(temporal), end };
  },
};

for (const [name, start] of Object.entries(PLACES)) {
  describe(`what Temporal keeps in ${name}`, function () {
    this.timeout(5 * 60_000);
    const directory = mkdtempSync(join(tmpdir(), 'jobctl-codec-'));
    let place: Place;

    before(async function () {
      this.timeout(GO_BUILD_MS);
      process.env[KEY] = newCodecKey(new Date(), 'test-key');
      place = await start(directory);
    });
    after(async () => {
      await place?.end();
      rmSync(directory, { recursive: true, force: true });
    });

    /** Runs the jobs on a stack of their own, then looks at the database. */
    async function searchAfterJobs(tag: string, codec?: typeof CODEC): Promise<{ found: string[]; missing: string[] }> {
      const stack = await TestStack.start({ server: place.server, ...(codec ? { codec } : {}) });
      try {
        const markers = await runMarkedJobs(stack, tag);
        if (codec) await replays(stack, `${tag}-preempted`);
        const bytes = await place.content();
        assert.ok(isFoundIn(bytes, `${tag}-preempted`), 'the job is in this database');
        const found = markers.filter((marker) => isFoundIn(bytes, marker));
        return { found, missing: markers.filter((marker) => !found.includes(marker)) };
      } finally {
        await stack.stop();
      }
    }

    it('with a key: no value but name, project, user, pool and accelerator, however the job ended', async () => {
      assert.deepEqual((await searchAfterJobs('seal', CODEC)).found, []);
    });

    it('without a key: every one of these values, so the search finds what is there', async () => {
      assert.deepEqual((await searchAfterJobs('open')).missing, []);
    });
  });
}

/** The codec changes nothing of what a workflow decides: its history replays as it was recorded. */
async function replays({ client }: TestStack, id: string): Promise<void> {
  const workflowsPath = fileURLToPath(new URL('../../workflows/index.ts', import.meta.url));
  const dataConverter = dataConverterOf(await openCodec(CODEC, { onUnknownKey: 'fail' }));
  const history = await client.workflow.getHandle(id).fetchHistory();
  await Worker.runReplayHistory({ workflowsPath, dataConverter }, history, id);
}

/** Of both databases, as text; bytes are in hexadecimal there. */
async function everyRow(temporal: PostgresTemporal): Promise<Buffer> {
  const rows: string[] = [];
  for (const database of ['temporal', 'temporal_visibility']) {
    const tables = await temporal.sql(
      "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public'",
      database,
    );
    for (const table of tables.split('\n')) rows.push(await temporal.sql(`SELECT t::text FROM ${table} t`, database));
  }
  return Buffer.from(rows.join('\n'));
}
