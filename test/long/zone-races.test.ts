import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Draws } from '../../chaos/random.js';
import { TemporalUnreachable } from '../../client/errors.js';
import { readPoolHistory } from '../../client/pool-state.js';
import { leaseStories } from '../../quota/pool-history.js';
import { accountOf, slicesIn } from '../end-to-end/bill.js';
import { jobFile } from '../end-to-end/job-files.js';
import { cloudIsEmpty } from '../end-to-end/nothing-left.js';
import { mostChipsAtOnce, RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { TestStack } from '../end-to-end/test-stack.js';
import { quotaFileText } from '../quota/quota-file-text.js';
import { freePort, startTestServer, TEMPORAL_START_MS, type TestServer } from '../temporal-server.js';
import { until } from '../until.js';

const SEED = Number(process.env['JOBCTL_TEST_SEED'] ?? 29);
const JOBS = 60;
const ZONES = ['us-central1-a', 'us-west4-a', 'us-south1-a'];
/** Of one host. */
const CHIPS = 8;
/** Room for five jobs, or for fewer that ask in two zones. */
const POOL_CHIPS = 5 * CHIPS;
/** Between two blows. */
const BLOW_MS = { least: 2_000, most: 8_000 };

/**
 * Whole jobs that are asked for in several zones at once, in a pool that is too small for all: chips come and go, answers of create
 * calls are lost, the worker and Temporal's server are killed between. The model: test/workflows/pool-races.test.ts.
 */
describe(`${JOBS} jobs race through ${ZONES.length} zones while all around them is killed (seed ${SEED})`, function () {
  this.timeout(20 * 60_000);
  const draws = new Draws(SEED);
  const directory = mkdtempSync(join(tmpdir(), 'jobctl-races-'));
  const databaseFile = join(directory, 'temporal.db');
  const blows: Record<string, number> = {};
  let servers: TestServer[];
  let stack: TestStack;
  let admin: RehearsalAdmin;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    servers = [await startTestServer({ databaseFile, port: await freePort() })];
    const timings = { zonePatienceMs: 1_000, zonePatiencePreemptedMs: 1_000 };
    stack = await TestStack.start({ server: servers[0] as TestServer, timings, pool: 'races' });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    const text = quotaFileText({ v5litepod: POOL_CHIPS }, { a: { members: ['alice'], share: 1 } });
    await stack.jobs.quota('races').apply({ quotaFile: { name: 'quota.toml', text } }, 'ann');
  });
  after(async () => {
    await stack?.stop();
    for (const server of servers.toReversed()) await server.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  const means: Readonly<Record<string, () => Promise<void>>> = {
    'chips come and go': () => {
      const free = ZONES.map((zone) => [`${zone}/v5litepod`, draws.between(0, 3) * CHIPS] as const);
      return admin.post('configure', { capacity: Object.fromEntries(free) });
    },
    'answers are lost': () =>
      admin.post('refuse', {
        ...{ method: draws.pick(['CreateQueuedResource', 'CreateNode', 'Delete*']), code: 'UNAVAILABLE' },
        ...{ afterEffect: draws.chance(0.7), times: draws.between(1, 3), zone: draws.pick(ZONES) },
      }),
    'the worker is killed': async () => {
      await stack.killWorker();
      await stack.startWorker();
    },
    'the server is killed': async () => {
      const server = servers.at(-1) as TestServer;
      process.kill(server.pid as number, 'SIGKILL');
      servers.push(await startTestServer({ databaseFile, port: Number(server.address.split(':')[1]) }));
    },
  };

  async function strikeUntil(isOver: () => boolean): Promise<void> {
    const kinds = Object.keys(means);
    for (let number = 0; !isOver(); number += 1) {
      await sleep(draws.between(BLOW_MS.least, BLOW_MS.most));
      // Chips come every second time: nothing may keep the jobs for ever.
      const kind = number % 2 === 0 ? 'chips come and go' : draws.pick(kinds);
      blows[kind] = (blows[kind] ?? 0) + 1;
      await means[kind]?.();
    }
  }

  it('each has one winner, nothing is left, and the pool never has more chips than its file says', async () => {
    await means['chips come and go']?.();
    let isOver = false;
    const race = async (number: number): Promise<void> => {
      const job = jobFile('sleep 1', {
        pool: 'races',
        tpu: {
          ...{ accelerator: `v5litepod-${CHIPS}`, zone: undefined, zones: ZONES, hedge: 1 + (number % 3) },
          allocation_mode: number % 4 === 0 ? 'tpu-vm' : 'queued-resources',
        },
        retries: { preemption: 0, infrastructure: 3, task: 0 },
      });
      const { id } = await again(() => stack.jobs.submit({ job, user: 'alice', name: `race-${number}` }));
      const { result, cause } = await outcomeOf(id);
      assert.equal(result, 'succeeded', `${id}: ${cause?.message}\n${stack.tail()}`);
      assert.equal((await again(() => stack.jobs.describe(id))).slices.length, 1, id);
    };
    const outcomeOf = (id: string) => again(() => stack.jobs.wait(id));
    const races = Promise.all(Array.from({ length: JOBS }, (_, number) => race(number)));
    await Promise.all([strikeUntil(() => isOver), races.finally(() => (isOver = true))]);
    await admin.stopRefusing();
    await cloudIsEmpty(admin, 120_000);
    const journal = await admin.journal();
    const most = mostChipsAtOnce(journal);
    console.log(`blows: ${JSON.stringify(blows)}; at most ${most} of ${POOL_CHIPS} chips at once`);
    assert.ok(most <= POOL_CHIPS && most > CHIPS, `${most} chips at once, of ${POOL_CHIPS}`);
    for (const kind of Object.keys(means)) assert.ok((blows[kind] ?? 0) > 0, `${kind}: never`);

    const slices = slicesIn(journal);
    const stories = await until('every lease was returned, as the pool tells it', async () => {
      const { lines } = await readPoolHistory(stack.store, 'races', 0);
      const all = leaseStories(lines, { from: 0, to: Date.now() }, []);
      return all.every(({ freedAt }) => freedAt !== undefined) && all;
    });
    const jobOf = (slice: string): string => /^jc-(.+)-g\d+$/.exec(slice)?.[1] ?? slice;
    const { sums, counted, problems } = accountOf(slices, stories, jobOf);
    const parts = Object.entries(sums).map(([part, chipSeconds]) => `${part} ${Number(chipSeconds).toFixed(3)}`);
    console.log(
      `${slices.length} slices of ${stories.length} leases: ${counted.toFixed(3)} chip-seconds, of them ${parts.join(', ')}`,
    );
    assert.deepEqual(problems, []);
    assert.ok(slices.filter(({ billed }) => billed.length > 0).length >= JOBS);
  });

  /** The server may be killed under a call. */
  async function again<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof TemporalUnreachable)) throw error;
        await sleep(500);
      }
    }
  }
});
