import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { JobClient } from '../../client/job-client.js';
import { painted } from '../../cli/terminal/print.js';
import { lookOf } from '../../cli/terminal/render/look.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import { poolHistoryObject, poolLineObject, poolStateObject } from '../../domain/store-layout.js';
import { packState } from '../../quota/published-state.js';
import type { Rehearsal } from '../../rehearsal/index.js';
import { startTestRehearsal } from '../../rehearsal/test/test-rehearsal.js';
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
  /** All of them in one value: each verb is one process. */
  const text = Object.values(HOSTILE)
    .map((each) => each.text)
    .join(' ');
  const id = `f13-${process.pid}`;
  const pool = `f13-pool-${process.pid}`;
  let folder: string;
  let rehearsal: Rehearsal;
  let environment: Record<string, string>;
  let client: Client;
  const queue = `f13-${process.pid}`;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    folder = mkdtempSync(join(tmpdir(), 'jobctl-f13-'));
    const { address, namespace, connection } = await testServer();
    rehearsal = await startTestRehearsal({ stateDir: join(folder, 'rehearsal') });
    const options = { endpoint: rehearsal.endpoints.store, bucket: 'f13', projectId: 'p' };
    await ensureBucket(options);
    client = new Client({ connection, namespace });
    environment = {
      ...{ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, JOBCTL_TASK_QUEUE: queue, HOME: folder },
      ...{ JOBCTL_BUCKET: 'f13', JOBCTL_STORE_ENDPOINT: rehearsal.endpoints.store },
    };
    const store = createStore(options);
    await start();
    const demand = { project: text, user: text };
    const state = snapshot(
      { leases: [lease(text, demand)], requests: [request(id, demand)] },
      { pool, source: text, problem: text, admissionReason: text, admission: 'frozen', at: Date.now() },
    );
    await store.replace(poolStateObject(pool), JSON.stringify(packState(state)), 'application/json');
    await store.replace(poolLineObject(pool), JSON.stringify({ broken: text }), 'application/json');
    const line = { at: Date.now(), kind: 'applied', by: text, reason: text };
    const day = new Date().toISOString().slice(0, 10);
    await store.replace(poolHistoryObject(pool, day, '1-000'), `${JSON.stringify(line)}\n`, 'text/plain');
  });
  after(async () => {
    await client?.workflow.getHandle(id).terminate('test');
    await rehearsal?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** As docs/contract.md tells services to, with all that a starter may write. Nobody polls its task queue. */
  async function start(): Promise<void> {
    const attributes = { JobUser: text, JobProject: text, JobAccelerator: text, JobPool: pool, JobPhase: 'queued' };
    await client.workflow.start('job', {
      workflowId: id,
      taskQueue: queue,
      args: [{ v: 1, job: { [text]: text } }],
      memo: { name: text, slice: text, label: text, why: text, contentHash: text, run: text },
      typedSearchAttributes: Object.entries(attributes).map(([name, value]) => ({
        key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD),
        value,
      })),
    });
  }

  /** `isBlind`: nothing that came from outside is printed, or what is printed is JSON, which has its own escapes. */
  const verbs: Record<string, { readonly args: readonly string[]; readonly isBlind?: true }> = {
    list: { args: ['list', '--all', '--limit', '500'] },
    'list -o json': { args: ['list', '--all', '--limit', '500', '-o', 'json'], isBlind: true },
    status: { args: ['status', id] },
    'status -o json': { args: ['status', id, '-o', 'json'], isBlind: true },
    why: { args: ['why', id] },
    wait: { args: ['wait', id, '--timeout', '1s'], isBlind: true },
    logs: { args: ['logs', id], isBlind: true },
    capacity: { args: ['capacity', '--pool', pool], isBlind: true },
    top: { args: ['top', '--pool', pool] },
    'quota show': { args: ['quota', 'show', '--pool', pool] },
    'quota show --jobs': { args: ['quota', 'show', '--jobs', '--pool', pool] },
    'quota history': { args: ['quota', 'history', '--pool', pool] },
    'cancel, which asks': { args: ['cancel', id], isBlind: true },
    validate: { args: ['validate', 'FILE'] },
    'a refused flag': {
      args: ['submit', '--tpu', 'v5litepod-1', '--user', text, '--name', 'x', '--', 'x'],
      isBlind: true,
    },
    'a job that is not there': { args: ['status', text] },
    'a verb that is not there': { args: [text] },
  };

  /** YAML in double quotes reads the escapes. */
  function fileWith(): string {
    const file = join(folder, 'job.yaml');
    const keys = Object.values(HOSTILE).map((each) => `${JSON.stringify(each.text)}: 1\n`);
    writeFileSync(file, `tpu: { accelerator: v5litepod-1, zone: a }\n${keys.join('')}`);
    return file;
  }

  for (const [verb, { args, isBlind }] of Object.entries(verbs)) {
    it(`${verb}: shows them, and does nothing that they say`, async () => {
      const words = args.map((word) => (word === 'FILE' ? fileWith() : word));
      if (verb === 'list')
        await eventually(
          'it is listed',
          () => jobctl(words, environment),
          ({ stdout }) => stdout.includes(id),
        );
      const { stdout, stderr } = await jobctl(words, environment);
      const said = stdout + stderr;
      assert.doesNotMatch(said, OBEYED, JSON.stringify(said.slice(0, 3_000)));
      assert.notEqual(said, '');
      if (isBlind === true) return;
      for (const [name, { seen }] of Object.entries(HOSTILE))
        assert.ok(said.includes(seen), `${name} is not seen: ${said}`);
    });
  }

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
    assert.equal(painted(`${look.paint('red', 'x')} é 日本 👩‍💻\n\ty`), '\u001b[31mx\u001b[0m é 日本 👩‍💻\n\ty');
    assert.equal(painted('\u001b[8mhidden'), String.raw`\u001b[8mhidden`);
  });

  it('no verb writes to the terminal by another way', () => {
    const root = fileURLToPath(new URL('../../cli', import.meta.url));
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
  'commands/operating.ts',
  'commands/verbs/codec.ts',
  'commands/verbs/import.ts',
  'commands/verbs/list.ts',
  'commands/verbs/quota-files.ts',
  'commands/verbs/submit.ts',
  'job/building/builders.ts',
  'main.ts',
  'place/context.ts',
  'terminal/print.ts',
];
