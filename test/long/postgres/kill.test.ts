import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { JobClient } from '../../../client/job-client.js';
import { JobLogReader } from '../../../client/job-logs.js';
import { createStoreReader } from '../../../cloud/store/reader.js';
import { Client, Connection } from '@temporalio/client';
import { JobctlUser, type Started } from '../../end-to-end/jobctl-process.js';
import { leasedUnits, poolState } from '../../end-to-end/pool-watch.js';
import { mostChipsAtOnce } from '../../end-to-end/rehearsal-admin.js';
import { cloudIsEmpty } from '../../end-to-end/nothing-left.js';
import { until } from '../../until.js';
import { GO_BUILD_MS } from '../built-by-go.js';
import { StartLedger } from './start-ledger.js';
import { type PostgresTemporal, startPostgresTemporal } from './temporal-on-postgres.js';

const QUICK_START = fileURLToPath(new URL('../../../examples/quick-start.yaml', import.meta.url));
const JOBS = 50;
/** Every so manieth job has four hosts. */
const WIDE_EVERY = 8;
const LINES = 20;
/** About ten jobs at a time: the rest waits in the quota workflow. The cloud has no more either, so a chip that is granted twice shows. */
const POOL_CHIPS = 96;
const ALL_MS = 15 * 60_000;

const QUOTA = `[toml-schema]
version = "1"
[[total_resources]]
v5litepod = ${POOL_CHIPS}
[project_membership]
all = [".*"]
[project_resources.all]
v5litepod = 1.0
`;

describe('jobctl on PostgreSQL', function () {
  this.timeout(ALL_MS);
  const user = new JobctlUser();
  const directory = mkdtempSync(join(tmpdir(), 'jobctl-postgres-'));
  let ledger: StartLedger;
  let temporal: PostgresTemporal;
  let jobs: JobClient;

  before(async function () {
    this.timeout(GO_BUILD_MS);
    ledger = await StartLedger.start();
    temporal = await startPostgresTemporal({ directory });
    const quota = join(user.home, 'quota.toml');
    writeFileSync(quota, QUOTA);
    const up = await user.run('dev', 'up', '--temporal-address', temporal.address, '--quota', quota);
    assert.equal(up.code, 0, up.stderr);
    jobs = await JobClient.connect({ temporal: { address: temporal.address, namespace: temporal.namespace } });
  });

  after(async function () {
    this.timeout(120_000);
    await jobs?.close();
    await user.leave();
    await temporal?.stop();
    await ledger?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it('the quick start of the README ends well', async () => {
    const { code, stdout, stderr } = await user.run('submit', '--local', '--wait', '--host', 'all', QUICK_START);
    assert.equal(code, 0, stderr);
    for (const host of [0, 1, 2, 3]) assert.match(stdout + stderr, new RegExp(`host ${host}: done: y = `));
    assert.equal(await temporal.sql('SELECT count(*) > 0 FROM executions'), 't', 'it ran on this database');
  });

  it(`kill -9 of server, database and worker in turn: ${JOBS} jobs end well, each command once per attempt and host`, async () => {
    const report = new Recovery();
    await user.admin().post('configure', {
      capacity: { 'us-central1-a/v5litepod': POOL_CHIPS },
    });
    const watchers = [0, 1].map((n) => watcher(n));
    const ids = await Promise.all(Array.from({ length: JOBS - watchers.length }, (_, n) => submit(n)));

    const outages: readonly Outage[] = [
      { what: 'the Temporal server', afterEnds: 6, parts: [server] },
      { what: 'every PostgreSQL process', afterEnds: 20, parts: [database] },
      { what: 'the worker', afterEnds: 34, parts: [worker] },
      { what: 'all three at once', afterEnds: 46, parts: [database, server, worker] },
    ];
    for (const outage of outages) await report.measure(outage, ledger);

    const outcomes = await Promise.all(ids.map(async (id) => ({ id, ...(await jobs.wait(id)) })));
    report.finish();
    for (const { id, result, attempts } of outcomes) {
      assert.deepEqual({ id, result, attempts }, { id, result: 'succeeded', attempts: 1 });
    }
    for (const { finished } of watchers) {
      const { code, stderr } = await finished;
      assert.equal(code, 0, `submit --wait through the outages: ${stderr}`);
    }
    assertOnceEach();
    for (const { id } of outcomes) await assertWholeLogs(id);
  });

  it('leaves nothing in the cloud and no lease, and never had more chips than the pool', async () => {
    const admin = user.admin();
    await cloudIsEmpty(admin);
    const connection = await Connection.connect({ address: temporal.address });
    try {
      const client = new Client({ connection, namespace: temporal.namespace });
      await until('no lease is left', async () => {
        const state = await poolState(client, 'default');
        return state !== undefined && leasedUnits(state) === 0;
      });
    } finally {
      await connection.close();
    }
    const most = mostChipsAtOnce(await admin.journal());
    assert.ok(most <= POOL_CHIPS, `${most} chips at once, the pool has ${POOL_CHIPS}`);
    assert.equal((await user.run('audit', 'leaks', '--grace', '0')).code, 0);
  });

  function jobOf(n: number): object {
    const isWide = n % WIDE_EVERY === 0;
    return {
      name: isWide ? 'wide' : 'narrow',
      tpu: {
        accelerator: isWide ? 'v5litepod-16' : 'v5litepod-8',
        allocation_mode: n % 2 === 0 ? 'queued-resources' : 'tpu-vm',
        pricing: 'spot',
        zone: 'us-central1-a',
      },
      command: { run: ledger.command(LINES) },
    };
  }

  async function submit(n: number): Promise<string> {
    return (await jobs.submit({ job: jobOf(n), user: 'somebody' })).id;
  }

  /** A user at a terminal who waits through it all. */
  function watcher(n: number): Started {
    const file = join(user.home, `watched-${n}.json`);
    // YAML holds JSON. The last in the queue, so that it sees every outage.
    writeFileSync(file, JSON.stringify({ ...jobOf(1), name: `watched-${n}`, priority: 5 }));
    return user.start('submit', '--wait', file);
  }

  const server: Part = { kill: () => temporal.kill('server'), restart: () => temporal.restart('server') };
  const database: Part = { kill: () => temporal.kill('database'), restart: () => temporal.restart('database') };
  const worker: Part = {
    kill: async () => void process.kill(user.pid('worker'), 'SIGKILL'),
    restart: async () => {
      const up = await user.run('dev', 'up');
      assert.equal(up.code, 0, up.stderr);
    },
  };

  function assertOnceEach(): void {
    const counts = new Map<string, number>();
    for (const { what, job, attempt, host } of ledger.entries()) {
      const key = `${what} ${job} attempt ${attempt} host ${host}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    assert.deepEqual(
      [...counts].filter(([, count]) => count !== 1),
      [],
    );
    const wide = Math.ceil((JOBS - 2) / WIDE_EVERY);
    assert.equal(counts.size, 2 * (JOBS + 3 * wide), 'a start and an end on each host of each job');
  }

  /** Each host's output is there whole, in order, once. */
  async function assertWholeLogs(id: string): Promise<void> {
    const { store } = JSON.parse(readFileSync(join(user.home, 'context.json'), 'utf8')) as {
      store: Parameters<typeof createStoreReader>[0];
    };
    const perHost = new Map<number, string>();
    const reader = new JobLogReader(createStoreReader(store), id, { attempt: 1, stream: 'command' });
    for await (const { host, bytes } of reader.unread())
      perHost.set(host, (perHost.get(host) ?? '') + bytes.toString());
    const want = Array.from({ length: LINES }, (_, n) => `line ${n + 1}\n`).join('');
    for (const [host, text] of perHost) assert.equal(text, want, `log of ${id}, host ${host}`);
    assert.equal(perHost.size, id.startsWith('wide') ? 4 : 1, `hosts with a log of ${id}`);
  }
});

interface Part {
  readonly kill: () => Promise<void>;
  /** Returns when the part answers. */
  readonly restart: () => Promise<void>;
}

interface Outage {
  readonly what: string;
  /** Ends of commands to wait for before the kill. */
  readonly afterEnds: number;
  /** Killed together, started again one after the other. */
  readonly parts: readonly Part[];
}

/** Kills in the middle, and prints how long it took until commands started again. Figures are told, never judged. */
class Recovery {
  readonly #began = Date.now();

  async measure({ what, afterEnds, parts }: Outage, ledger: StartLedger): Promise<void> {
    await until(`${afterEnds} commands have ended`, () => ledger.count('end') >= afterEnds, ALL_MS);
    await until('several commands run', () => ledger.running() >= 4, ALL_MS);
    const killedAt = Date.now();
    const wantedEnds = ledger.count('end') + Math.ceil(ledger.running() / 2);
    await Promise.all(parts.map((part) => part.kill()));
    await until(`commands end without ${what}`, () => ledger.count('end') >= wantedEnds, ALL_MS);
    const backAt = Date.now();
    for (const part of parts) await part.restart();
    const upAt = Date.now();
    const starts = ledger.count('start');
    await until(`commands start after ${what} came back`, () => ledger.count('start') > starts, ALL_MS);
    const times = [backAt - killedAt, upAt - backAt, Date.now() - upAt].map(seconds);
    console.log(`    ${what}: away ${times[0]}, started again in ${times[1]}, the next command ${times[2]} later`);
  }

  finish(): void {
    console.log(`    ${JOBS} jobs in ${seconds(Date.now() - this.#began)}`);
  }
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
