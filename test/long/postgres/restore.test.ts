import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { outcomeObject, specObject } from '../../../domain/store-layout.js';
import { leasedUnits, poolState } from '../../end-to-end/pool-watch.js';
import { mostChipsAtOnce } from '../../end-to-end/rehearsal-admin.js';
import { cloudIsEmpty } from '../../end-to-end/nothing-left.js';
import { until } from '../../until.js';
import { GO_BUILD_MS } from '../built-by-go.js';
import { RestoredStack } from './restored-stack.js';

/** Every job has one slice of eight chips. */
const JOB_CHIPS = 8;
const POOL_CHIPS = 4 * JOB_CHIPS;
const WAIT_MS = 180_000;

/**
 * The procedure of docs/operations.md, "Restore", on the real server and PostgreSQL: the database goes back to a dump while
 * slices live on in the cloud. `stays` runs all the time; `moves` loses its slice after the dump and goes on on another; `ends`
 * and `stops` (cancelled) end after the dump; `drops` waits for its turn, and is terminated after it; `late` is submitted after
 * it. As the database has it afterwards, all but `late` are open as they were, and `late` never was.
 */
describe('a database that is restored beside live slices', function () {
  this.timeout(WAIT_MS);
  const directory = mkdtempSync(join(tmpdir(), 'jobctl-restore-'));
  const stack = new RestoredStack(directory);
  const ids = { stays: '', moves: '', ends: '', stops: '', drops: '', late: '' };
  const extra = { first: '', second: '' };

  before(async function () {
    this.timeout(GO_BUILD_MS);
    await stack.start(POOL_CHIPS);
    for (const name of ['stays', 'moves', 'ends', 'stops'] as const) ids[name] = await stack.submit(name);
    for (const name of ['stays', 'moves', 'ends', 'stops'] as const) await stack.untilPrinting(ids[name], 1);
    ids.drops = await stack.submit('drops');
    await until('`drops` waits', async () =>
      (await poolState(stack.client, 'default'))?.waiting.some(({ lease }) => lease.job === ids.drops),
    );
    await stack.temporal.dump(join(directory, 'dump'));

    await stack.terminate(ids.drops);
    stack.ledger.open('ends');
    assert.equal((await stack.jobs.wait(ids.ends)).result, 'succeeded');
    await stack.jobs.cancel(ids.stops);
    assert.equal((await stack.jobs.wait(ids.stops)).result, 'cancelled');
    await stack.admin.post('preempt', { name: `jc-${ids.moves}-g1` });
    await stack.untilPrinting(ids.moves, 2);
    ids.late = await stack.submit('late');
    await stack.untilPrinting(ids.late, 1);

    await stack.stopWorker();
    await stack.temporal.restore(join(directory, 'dump'));
  });

  after(async function () {
    this.timeout(120_000);
    await stack.leave();
    rmSync(directory, { recursive: true, force: true });
  });

  it('before any worker runs, the audit names the slice that the database knows nothing of, and that alone', async () => {
    const { code, stdout } = await stack.audit();
    assert.equal(code, 5, `${stdout}: nobody tells the leases`);
    assert.deepEqual(leaked(stdout), [`jc-${ids.late}-g1: Temporal knows no such job`]);
  });

  it('jobs that run go on with their commands, also on a slice that the database knows nothing of', async () => {
    // As before: nothing in the store says that it was.
    await stack.terminate(ids.drops);
    // What the unknown slice holds is taken out of the pool: nobody counts it.
    stack.writeQuota(POOL_CHIPS - JOB_CHIPS);
    const seen = { stays: (await stack.log(ids.stays, 1)).length, moves: (await stack.log(ids.moves, 2)).length };
    await stack.startWorker();
    await until('`stays` ships lines', async () => (await stack.log(ids.stays, 1)).length > seen.stays, WAIT_MS);
    await until('`moves` ships lines', async () => (await stack.log(ids.moves, 2)).length > seen.moves, WAIT_MS);
    assert.equal(stack.starts(ids.stays), 1);
    assert.equal(stack.starts(ids.moves), 2, 'one for each attempt');
  });

  it('jobs that had ended end again as they did, and nothing is run for them', async () => {
    for (const [id, result] of [
      [ids.ends, 'succeeded'],
      [ids.stops, 'cancelled'],
    ] as const) {
      const outcome = await stack.jobs.wait(id);
      assert.deepEqual([outcome.result, outcome.attempts], [result, 1]);
      assert.deepEqual(
        JSON.parse(String(await stack.store.read(outcomeObject(id)))),
        JSON.parse(JSON.stringify(outcome)),
      );
      assert.equal(stack.starts(id), 1);
      assert.equal((await stack.jobs.row(id)).phase, result);
    }
    const created = (await stack.admin.journal()).filter(({ details }) => details.method === 'CreateQueuedResource');
    const names = created.map(({ subject }) => subject.split('/').at(-1));
    assert.deepEqual(
      names.filter((name) => name === `jc-${ids.ends}-g2` || name === `jc-${ids.stops}-g2`),
      [],
    );
  });

  it('the janitor reports the unknown slice and deletes nothing', async () => {
    const report = await stack.sweep();
    assert.deepEqual([report.unknown, report.reclaimed], [[`jc-${ids.late}-g1`], []]);
    const alive = (await stack.admin.status()).nodes.map(({ name, state }) => `${name.split('/').at(-1)} ${state}`);
    const slices = [`jc-${ids.late}-g1`, `jc-${ids.moves}-g2`, `jc-${ids.stays}-g1`];
    assert.deepEqual(new Set(alive), new Set(slices.map((name) => `${name} READY`)));
  });

  it('with its chips out of the quota file the pool is not overcommitted; deleted by hand, they serve again', async () => {
    // The job that got lost, from the file that the store has kept, and another.
    const file = join(stack.user.home, 'lost.yaml');
    writeFileSync(file, (await stack.store.read(specObject(ids.late))) as Buffer);
    const again = await stack.user.run('submit', file);
    assert.equal(again.code, 0, again.stderr);
    extra.first = again.stdout.trim();
    await until('it runs', () => stack.starts(extra.first) === 1, WAIT_MS);
    extra.second = await stack.submit('late');
    const state = await until('the other waits', async () => {
      const pool = await poolState(stack.client, 'default');
      return pool?.waiting.some(({ lease }) => lease.job === extra.second) && pool;
    });
    assert.equal(leasedUnits(state), POOL_CHIPS - JOB_CHIPS);
    await stack.deleteByHand(`jc-${ids.late}-g1`);
    await until('the audit finds nothing', async () => (await stack.audit()).code === 0, WAIT_MS);
    stack.writeQuota(POOL_CHIPS);
    await until('the other runs', () => stack.starts(extra.second) === 1, WAIT_MS);
    const most = mostChipsAtOnce(await stack.admin.journal());
    assert.ok(most <= POOL_CHIPS, `${most} chips at once, the pool has ${POOL_CHIPS}`);
  });

  it('in the end all have ended well, each command started once per attempt, with whole logs, and nothing is left', async () => {
    for (const gate of ['stays', 'moves', 'late']) stack.ledger.open(gate);
    for (const [id, attempts] of [
      [ids.stays, 1],
      [ids.moves, 2],
      [extra.first, 1],
      [extra.second, 1],
    ] as const) {
      const outcome = await stack.jobs.wait(id);
      assert.deepEqual([id, outcome.result, outcome.attempts], [id, 'succeeded', attempts]);
      assert.equal(stack.starts(id), attempts);
      assertWhole(await stack.log(id, attempts));
    }
    assert.equal(stack.starts(ids.drops), 0);
    await cloudIsEmpty(stack.admin);
    await until('no lease is left', async () => {
      const pool = await poolState(stack.client, 'default');
      return pool !== undefined && leasedUnits(pool) === 0;
    });
  });
});

/** Lines 1 to n, each once, in order, and the last one. */
function assertWhole(log: string): void {
  const lines = log.trimEnd().split('\n');
  const count = lines.length - 1;
  assert.deepEqual(lines, [...Array.from({ length: count }, (_, n) => `line ${n + 1}`), `the end after ${count}`]);
}

function leaked(report: string): readonly string[] {
  const { leaks } = JSON.parse(report) as { leaks: readonly { name: string; why: string }[] };
  return [...new Set(leaks.map(({ name, why }) => `${name}: ${why}`))];
}
