import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { createNamespace, retentionOf, missingSearchAttributes } from '../../client/namespace.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import { changesObject, ownerObject } from '../../domain/store-layout.js';
import type { Rehearsal } from '../../rehearsal/index.js';
import { startTestRehearsal } from '../../rehearsal/test/test-rehearsal.js';
import { jobctl } from '../cli/command-line.js';
import { TEMPORAL_START_MS, testServer, type TestServer } from '../temporal-server.js';

const DAY_MS = 86_400_000;

describe('jobctl setup server', function () {
  this.timeout(60_000);
  let folder: string;
  let server: TestServer;
  let rehearsal: Rehearsal;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    server = await testServer();
    folder = mkdtempSync(join(tmpdir(), 'jobctl-setup-'));
    rehearsal = await startTestRehearsal({ stateDir: folder });
    await ensureBucket({ bucket: 'jobs', endpoint: rehearsal.endpoints.store, projectId: 'p' });
  });
  after(async () => {
    await rehearsal.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const setUp = (namespace: string, ...more: string[]) =>
    jobctl(
      [
        ...['setup', 'server', '--temporal-address', server.address, '--namespace', namespace, '--bucket', 'jobs'],
        ...['--store-endpoint', rehearsal.endpoints.store, '--google-project', 'p', '--task-queue', namespace, ...more],
      ],
      { HOME: folder },
    );

  const buckets: Readonly<Record<string, readonly string[]>> = {
    'the second bucket': ['--system-bucket', 'no-such'],
    'the first bucket': ['--bucket', 'no-such'],
    both: ['--bucket', 'no-such', '--system-bucket', 'no-such-either'],
  };
  for (const [what, flags] of Object.entries(buckets))
    it(`refuses, before it does anything, where ${what} does not exist, with the command that makes it`, async () => {
      const namespace = `missing-${process.pid}`;
      const { exitCode, stdout, stderr } = await setUp(namespace, ...flags);
      assert.deepEqual([exitCode, stdout], [2, ''], stderr);
      const lines = stderr.trim().split('\n').slice(1);
      const command = (name: string): string =>
        `gs://${name} does not exist (is the name right?); to make it: curl -H 'content-type: application/json' -d '{"name":"${name}"}' '${rehearsal.endpoints.store}/storage/v1/b?project=p'`;
      const named = flags.flatMap((flag, at) => (at % 2 === 0 ? [`${flag}: ${command(flags[at + 1] ?? '')}`] : []));
      assert.deepEqual(
        lines.map((line) => line.trim()),
        [...named, 'nothing was changed'],
      );
      assert.equal(await retentionOf(server.connection, namespace), undefined);
    });

  it('makes a namespace ready, and run again changes nothing', async () => {
    const namespace = `setup-${process.pid}`;
    const first = await setUp(namespace);
    assert.equal(first.exitCode, 0, first.stderr);
    assert.match(
      first.stdout,
      new RegExp(
        `^ok +Temporal server: version \\S+\ndone +namespace ${namespace}: made; keeps closed workflows 30 days\n`,
      ),
    );
    assert.match(
      first.stdout,
      /\ndone +search attributes: added JobProject, JobUser, JobPhase, JobAccelerator, JobPool, JobGroup\n/,
    );
    assert.match(first.stdout, /\ndone +owner id: [0-9a-f]{12}, in gs:\/\/jobs/);
    assert.match(first.stdout, /\nadvice +visibility rate: .*\n +frontend\.namespaceRPS\.visibility: /);
    assert.deepEqual(await missingSearchAttributes(server.connection, namespace), []);
    const owner = await ownerId();

    const again = await setUp(namespace);
    assert.equal(again.exitCode, 0, again.stderr);
    assert.doesNotMatch(again.stdout, /^done/m);
    assert.equal(await ownerId(), owner);
    const schedules = [];
    for await (const { scheduleId } of clientOf(namespace).schedule.list()) schedules.push(scheduleId);
    assert.deepEqual(schedules.toSorted(), [`jobctl-installation-${namespace}`, `jobctl-janitor-${namespace}`]);
  });

  it('keeps a longer retention, raises a shorter one, and says so', async () => {
    const namespace = `setup-retention-${process.pid}`;
    await createNamespace(server.connection, namespace, 60 * DAY_MS);
    assert.match((await setUp(namespace)).stdout, /\nok +namespace \S+: keeps closed workflows 60 days\n/);
    assert.match(
      (await setUp(namespace, '--retention', '90d')).stdout,
      /\ndone +namespace \S+: keeps closed workflows 90 days \(before: 60\)\n/,
    );
    assert.equal(await retentionOf(server.connection, namespace), 90 * DAY_MS);
  });

  it('on Temporal Cloud prints what its own tools must do, does none of it, and exits 1', async () => {
    const namespace = `setup-cloud-${process.pid}`;
    await createNamespace(server.connection, namespace, DAY_MS);
    const { exitCode, stdout } = await setUp(namespace, '--temporal-cloud');
    assert.equal(exitCode, 1);
    assert.match(stdout, /BY HAND +namespace \S+: keeps closed workflows 1 days, 30 are wanted\n/);
    assert.match(stdout, /tcld namespace search-attributes add --namespace \S+ --search-attribute "JobPool=Keyword"/);
    assert.equal((await missingSearchAttributes(server.connection, namespace)).length, 6);
    assert.equal(await retentionOf(server.connection, namespace), DAY_MS);
  });

  it('says that a paused janitor looks for nothing', async () => {
    const namespace = `setup-paused-${process.pid}`;
    await setUp(namespace);
    await clientOf(namespace).schedule.getHandle(`jobctl-janitor-${namespace}`).pause();
    const { exitCode, stdout } = await setUp(namespace, '--output', 'json');
    assert.equal(exitCode, 1);
    const { steps } = JSON.parse(stdout) as { steps: { what: string; state: string; commands?: string[] }[] };
    assert.deepEqual(
      steps.filter(({ state }) => state === 'by-hand').map(({ commands }) => commands),
      [[`temporal schedule toggle --schedule-id jobctl-janitor-${namespace} --unpause`]],
    );
  });

  it("a switch is moved by the context's user", async () => {
    const namespace = `setup-user-${process.pid}`;
    mkdirSync(join(folder, '.config/jobctl'), { recursive: true });
    const context = `current = "prod"\n\n[contexts.prod]\naddress = "${server.address}"\nuser = "alice"\n`;
    writeFileSync(join(folder, '.config/jobctl/contexts.toml'), context);
    const store = createStore({ bucket: 'jobs', endpoint: rehearsal.endpoints.store, projectId: 'p' });
    const switches = { v: 1, changes: { 'older-change': { activeFrom: 1, by: 'bob' } } };
    await store.write(changesObject, JSON.stringify(switches), 'absent', 'application/json');
    const { exitCode, stderr } = await setUp(namespace, '--deactivate', 'older-change');
    assert.equal(exitCode, 0, stderr);
    const { changes } = JSON.parse(String(await store.read(changesObject))) as {
      changes: Record<string, { inactiveFrom?: number; by: string }>;
    };
    assert.ok(changes['older-change']?.inactiveFrom);
    assert.equal(changes['older-change'].by, 'alice');
  });

  const clientOf = (namespace: string): Client => new Client({ connection: server.connection, namespace });
  const ownerId = async (): Promise<string | undefined> =>
    (
      await createStore({ bucket: 'jobs', endpoint: rehearsal.endpoints.store, projectId: 'p' }).read(ownerObject)
    )?.toString();
});
