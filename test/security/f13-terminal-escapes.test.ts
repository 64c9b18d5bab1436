import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { JobClient } from '../../client/job-client.js';
import { shown } from '../../client/cli/print.js';
import { lookOf } from '../../client/cli/render/look.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import { poolHistoryObject, poolLineObject, poolStateObject } from '../../domain/store-layout.js';
import { packState } from '../../quota/published-state.js';
import { type Rehearsal, startRehearsal } from '../../rehearsal/index.js';
import { jobctl } from '../cli/command-line.js';
import { lease, request, snapshot } from '../cli/pools.js';
import { eventually } from '../cloud/eventually.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';
import { HOSTILE, OBEYED } from './hostile-strings.js';

/**
 * F13: who may start a workflow wrote the clipboard of whoever ran `jobctl list`. At 19b9c1e `list` and `status` printed id, user,
 * project, slice and label raw, `validate` echoed the escapes of a file, and JobClient's user went into a search attribute
 * unchecked: every verb of the table below but `why` fails there.
 */
describe('F13: names and messages from outside, on a terminal', function () {
  this.timeout(120_000);
  const names = Object.keys(HOSTILE);
  let folder: string;
  let rehearsal: Rehearsal;
  let environment: Record<string, string>;
  let client: Client;
  const queue = `f13-${process.pid}`;
  const idOf = (index: number): string => `f13-${process.pid}-${index}`;
  const poolOf = (index: number): string => `f13-pool-${index}`;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    folder = mkdtempSync(join(tmpdir(), 'jobctl-f13-'));
    const { address, namespace, connection } = await testServer();
    rehearsal = await startRehearsal({ stateDir: join(folder, 'rehearsal'), subnetOctet: 124, sshPort: 2296 });
    const options = { endpoint: rehearsal.endpoints.store, bucket: 'f13', projectId: 'p' };
    await ensureBucket(options);
    client = new Client({ connection, namespace });
    environment = {
      ...{ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, JOBCTL_TASK_QUEUE: queue, HOME: folder },
      ...{ JOBCTL_BUCKET: 'f13', JOBCTL_STORE_ENDPOINT: rehearsal.endpoints.store },
    };
    const store = createStore(options);
    for (const [index, { text }] of Object.values(HOSTILE).entries()) {
      await start(index, text);
      const demand = { project: text, user: text };
      const state = snapshot(
        { leases: [lease(text, demand)], requests: [request(idOf(index), demand)] },
        {
          pool: poolOf(index),
          source: text,
          problem: text,
          admissionReason: text,
          admission: 'frozen',
          at: Date.now(),
        },
      );
      await store.replace(poolStateObject(poolOf(index)), JSON.stringify(packState(state)), 'application/json');
      await store.replace(poolLineObject(poolOf(index)), JSON.stringify({ broken: text }), 'application/json');
      const line = { at: Date.now(), kind: 'applied', by: text, reason: text };
      const day = new Date().toISOString().slice(0, 10);
      await store.replace(poolHistoryObject(poolOf(index), day, '1-000'), `${JSON.stringify(line)}\n`, 'text/plain');
    }
  });
  after(async () => {
    for (const index of names.keys()) await client?.workflow.getHandle(idOf(index)).terminate('test');
    await rehearsal?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** As docs/contract.md tells services to, with all that a starter may write. Nobody polls its task queue. */
  async function start(index: number, text: string): Promise<void> {
    const attributes = {
      JobUser: text,
      JobProject: text,
      JobAccelerator: text,
      JobPool: poolOf(index),
      JobPhase: 'queued',
    };
    await client.workflow.start('job', {
      workflowId: idOf(index),
      taskQueue: queue,
      args: [{ v: 1, job: { [text]: text } }],
      memo: { name: text, slice: text, label: text, why: text, contentHash: text, run: text },
      typedSearchAttributes: Object.entries(attributes).map(([name, value]) => ({
        key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD),
        value,
      })),
    });
  }

  const verbs: Record<string, { args: (id: string, pool: string, text: string) => string[]; isBlind?: true }> = {
    list: { args: () => ['list', '--all', '--limit', '500'] },
    'list -o json': { args: () => ['list', '--all', '--limit', '500', '-o', 'json'], isBlind: true },
    status: { args: (id) => ['status', id] },
    'status -o json': { args: (id) => ['status', id, '-o', 'json'], isBlind: true },
    why: { args: (id) => ['why', id] },
    wait: { args: (id) => ['wait', id, '--timeout', '1ms'], isBlind: true },
    logs: { args: (id) => ['logs', id], isBlind: true },
    top: { args: (_, pool) => ['top', '--pool', pool] },
    'quota show': { args: (_, pool) => ['quota', 'show', '--pool', pool] },
    'quota show --jobs': { args: (_, pool) => ['quota', 'show', '--jobs', '--pool', pool] },
    'quota history': { args: (_, pool) => ['quota', 'history', '--pool', pool] },
    'cancel, which asks': { args: (id) => ['cancel', id, '--user', 'nobody'], isBlind: true },
    validate: { args: (_, __, text) => ['validate', fileWith(text)] },
    'a refused flag': {
      args: (id, __, text) => ['submit', '--tpu', 'v5litepod-1', '--user', text, '--name', id, '--', 'x'],
    },
    'a job that is not there': { args: (_, __, text) => ['status', text], isBlind: true },
    'a verb that is not there': { args: (_, __, text) => [text] },
  };

  /** YAML in double quotes reads the escapes. */
  function fileWith(text: string): string {
    const file = join(folder, 'job.yaml');
    writeFileSync(file, `tpu: { accelerator: ${JSON.stringify(text)} }\n${JSON.stringify(text)}: 1\n`);
    return file;
  }

  for (const [verb, { args, isBlind }] of Object.entries(verbs)) {
    it(`${verb}: shows them, and does nothing that they say`, async () => {
      if (verb === 'list') await eventually('all are listed', () => jobctl(args('', '', ''), environment), isWhole);
      for (const [index, { text, seen }] of Object.values(HOSTILE).entries()) {
        if (text.includes('\u0000')) continue;
        const { stdout, stderr } = await jobctl(args(idOf(index), poolOf(index), text), environment);
        const said = stdout + stderr;
        assert.doesNotMatch(said, OBEYED, `${names[index]}: ${JSON.stringify(said.slice(0, 2_000))}`);
        assert.notEqual(said, '', names[index]);
        if (isBlind !== true) assert.ok(said.includes(seen), `${names[index]} is not seen: ${said}`);
        if (verb.startsWith('list')) return;
      }
    });
  }
  const isWhole = ({ stdout }: { readonly stdout: string }): boolean =>
    [...names.keys()].every((index) => stdout.includes(idOf(index)));

  it("the library's user is checked before it is a search attribute", async () => {
    const jobs = await JobClient.connect({ client, taskQueue: queue });
    const job = { tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' }, command: { run: 'true' } };
    await assert.rejects(jobs.submit({ job, name: `${queue}-user`, user: 'a\u001b]52;c;x\u0007' }), (error: Error) => {
      assert.equal(error.name, 'JobInvalid');
      assert.match(error.message, /^user: .* is no user\n {2}1 to 100 characters, none of them a control character$/);
      return true;
    });
    await assert.rejects(client.workflow.getHandle(`${queue}-user`).describe(), /not found/);
  });

  it('colours are jobctl’s own alone, and other text is the same', () => {
    const look = lookOf({ isTTY: true, columns: 80 }, { LANG: 'C.UTF-8' });
    assert.equal(shown(`${look.paint('red', 'x')} é 日本 👩‍💻\n\ty`), '\u001b[31mx\u001b[0m é 日本 👩‍💻\n\ty');
    assert.equal(shown('\u001b[8mhidden'), String.raw`\u001b[8mhidden`);
  });

  it('no verb writes to the terminal by another way', () => {
    const root = fileURLToPath(new URL('../../client/cli', import.meta.url));
    const files = readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => join(entry.parentPath, entry.name));
    const writers = files
      .filter((file) => /process\.std(out|err)\.write\(/.test(readFileSync(file, 'utf8')))
      .map((file) => relative(root, file))
      .sort();
    assert.deepEqual(writers, OWN_WRITERS);
  });
});

/** Files that write by themselves: what they write is the user's own file, bytes of a host or a tool, or jobctl's own codes. */
const OWN_WRITERS = [
  'building/run-tool.ts',
  'main.ts',
  'operator-commands.ts',
  'print.ts',
  'verbs/codec.ts',
  'verbs/export.ts',
  'verbs/import.ts',
  'verbs/list.ts',
  'verbs/quota-files.ts',
  'verbs/submit.ts',
];
