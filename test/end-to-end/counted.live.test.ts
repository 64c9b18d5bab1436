import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readDayFiles, readUsage } from '../../client/counted.js';
import { CHARGED_PARTS, sumOf } from '../../domain/counted/usage.js';
import type { JobRecord } from '../../domain/counted/record.js';
import { sweepLookObject } from '../../domain/store-layout.js';
import { until } from '../until.js';
import { billOf } from './charged.js';
import { jobFile } from './job-files.js';
import { JobctlUser } from './jobctl-process.js';
import { cloudIsEmpty } from './nothing-left.js';
import type { RehearsalAdmin } from './rehearsal-admin.js';
import { storedLog } from './stored-log.js';
import type { TestStack } from './test-stack.js';
import { withStack } from './with-stack.js';

const SLICES = 2;
/** Chips of one slice. */
const CHIPS = 8;
const PREEMPTIONS = 3;
/** Between two listings of a zone in which nothing is brought up. Each generation begins and ends with a look. */
const LISTING_MS = 10_000;
/** Each attempt begins this many steps after the one before: its last checkpoint. */
const SAVED_EVERY = 12;

/** Of an operator. */
const PRICES = 'date = 2026-11-30\nsource = "our contract"\n[[price]]\nmachines = "v5e"\nusd_per_hour = 100\n';

/** A program that goes on from its last checkpoint, as far as its attempt's number tells it. */
const TRAINS = `
step=$(( (JOBCTL_ATTEMPT - 1) * ${SAVED_EVERY} + 1 ))
last=$(( ${PREEMPTIONS} * ${SAVED_EVERY} + 15 ))
while [ $step -le $last ]; do sleep 0.2; echo "step $step"; step=$((step + 1)); done
`;

describe('what a job used, beside the bill of its cloud', function () {
  this.timeout(240_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;
  let user: JobctlUser;
  withStack((...own) => {
    [stack, admin] = own;
    user = JobctlUser.of(stack);
  });
  after(() => user?.leave());

  const stepsOf = async (id: string, attempt: number): Promise<readonly number[]> =>
    [...(await storedLog(stack.store, { id, stream: 'command', host: 0, attempt })).matchAll(/^step (\d+)$/gm)].map(
      ([, step]) => Number(step),
    );

  let id: string;
  let record: JobRecord;
  const prices = join(tmpdir(), `prices-${process.pid}.toml`);
  after(() => rmSync(prices, { force: true }));

  before(async function () {
    this.timeout(240_000);
    writeFileSync(prices, PRICES);
    stack.workerConfig = { priceFile: prices };
    await stack.stopWorker();
    await stack.startWorker();
    // A deletion takes a while, for which nothing is charged.
    await admin.post('configure', { deletingMs: 1_500 });
    const job = jobFile(TRAINS, { tpu: { accelerator: 'v5litepod-8' }, slices: SLICES, max_cost: 0.000_001 });
    ({ id } = await stack.jobs.submit({ job, user: 'ann' }));
    for (let attempt = 1; attempt <= PREEMPTIONS; attempt++) {
      // Past the next checkpoint: some steps are lost.
      await until(
        `attempt ${attempt} has lost steps to lose`,
        async () => ((await stepsOf(id, attempt)).at(-1) ?? 0) > attempt * SAVED_EVERY + 4,
        60_000,
      );
      const [node] = (await admin.status()).nodes.filter(({ state }) => state === 'READY');
      await admin.post('preempt', { name: node?.name, mode: attempt === 2 ? 'vanish' : 'preempted' });
    }
    const outcome = await stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.preemptions], ['succeeded', PREEMPTIONS], stack.tail());
    await cloudIsEmpty(admin);
    const settledRecord = async (): Promise<JobRecord | undefined> => {
      const found = await readUsage(stack.store, id);
      return found?.leaving === undefined ? found : undefined;
    };
    record = await until<JobRecord>('its account is complete', settledRecord, 30_000);
  });

  it('is the bill, within a listing period for each generation', async () => {
    const bill = billOf(await admin.journal());
    const generations = SLICES + PREEMPTIONS;
    assert.equal(bill.length, generations, JSON.stringify(bill));
    const billed = bill.reduce((sum, { chipMs }) => sum + chipMs, 0);
    const charged = record.charged * 1000;
    console.log(
      `bill ${billed} chip-ms, counted ${charged}, difference ${charged - billed} over ${generations} generations`,
    );
    assert.ok(Math.abs(charged - billed) <= generations * LISTING_MS * CHIPS, `${charged} of ${billed}`);
    // Not by its sum alone: a part of every kind that this job had.
    const { parts } = record;
    const sum = CHARGED_PARTS.reduce((total, part) => total + parts[part], 0);
    assert.equal(Math.round(sum * 1000), Math.round(charged));
    for (const part of ['waiting', 'setUp', 'useful', 'lost', 'restart', 'draining'] as const)
      assert.ok(parts[part] > 0, `${part}: ${JSON.stringify(parts)}`);
  });

  it('has all of the time of its lease in one part or another', async () => {
    const outcome = await stack.jobs.wait(id);
    // The lease of a pool without quota begins right after the submission, and its chips are counted until they are gone.
    const most = ((record.countedTo - outcome.submittedAt) / 1000) * SLICES * CHIPS + record.parts.draining;
    const all = sumOf(record.parts);
    assert.ok(all <= most && all > most * 0.8, `${all} of ${most} chip-seconds`);
  });

  it('loses the steps that the program itself did again', async () => {
    let again = 0;
    const done = new Set<number>();
    for (let attempt = 1; attempt <= PREEMPTIONS + 1; attempt++)
      for (const step of await stepsOf(id, attempt)) {
        if (done.has(step)) again += 1;
        done.add(step);
      }
    assert.ok(again > PREEMPTIONS, String(again));
    assert.deepEqual([record.lost, record.lostMarks], ['counted', again]);
  });

  it('is in the day file, once, and in the report', async () => {
    const { records, unreadable } = await readDayFiles(stack.store, record.endedAt - 1);
    assert.deepEqual([records, unreadable], [[record], 0]);
    const { stdout, stderr } = await user.run('report', 'goodput', '--by', 'user', '-o', 'json');
    assert.ok(stdout !== '', stderr);
    const { rows, notes } = JSON.parse(stdout) as {
      rows: { key: string; jobs: number; charged: number }[];
      notes: string[];
    };
    assert.deepEqual(
      rows.map(({ key, jobs, charged }) => [key, jobs, charged]),
      [['ann', 1, record.charged]],
    );
    assert.ok(notes.some((note) => note.startsWith('REHEARSAL')));
  });

  it('costs what the price file of the operator says', () => {
    assert.deepEqual(record.prices, ['our contract, 2026-11-30']);
    assert.ok(Math.abs((record.usd ?? 0) - (record.charged / 3600) * 100) < 0.001, `${record.usd}`);
  });

  it('told once that it was over its budget', async () => {
    const { events } = await stack.jobs.describe(id);
    assert.equal(events.filter(({ kind }) => kind === 'over-budget').length, 1);
  });

  it('is known of a job that is terminated, from its workflow, up to then', async () => {
    const job = jobFile('sleep 600', { tpu: { accelerator: 'v5litepod-8' } });
    const { id: dies } = await stack.jobs.submit({ job, user: 'bob' });
    await until('it runs', async () => (await stack.jobs.row(dies)).phase === 'running', 60_000);
    await stack.client.workflow.getHandle(dies).terminate('by a test');
    await until('its slice is gone', async () => (await stack.jobs.openSlices(dies)).length === 0, 60_000);
    await stack.killWorker();
    // The look of this worker was minutes ago.
    await stack.store.remove(sweepLookObject);
    await stack.startWorker();
    const found = await until('it is counted', async () => readUsage(stack.store, dies), 60_000);
    const [bill] = billOf(await admin.journal()).filter(({ name }) => name.includes(`-${dies}-`));
    assert.deepEqual([found.result, found.user, found.leaving], ['terminated', 'bob', undefined]);
    const difference = Math.abs(found.charged * 1000 - (bill?.chipMs ?? 0));
    console.log(`terminated: bill ${bill?.chipMs} chip-ms, counted ${found.charged * 1000}`);
    assert.ok(found.charged > 0 && difference <= LISTING_MS * CHIPS, `${found.charged} beside ${bill?.chipMs}`);
    const { records } = await readDayFiles(stack.store, found.endedAt - 1);
    assert.equal(records.filter((each) => each.job === dies).length, 1);
  });
});
