import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compactReports, noteGone, storeCounted } from '../../activities/counted.js';
import { readDayFiles, readUsage } from '../../client/counted.js';
import { ensureStore, openStore } from '../../cloud/store/open-store.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { JobRecord } from '../../domain/counted/record.js';
import { NO_PARTS } from '../../domain/counted/usage.js';
import { reportDayPrefix, REPORTS_PREFIX } from '../../domain/store-layout.js';

const DAY = Date.UTC(2026, 10, 20);
const END = DAY + 3_600_000;
const NEXT_DAY = DAY + 86_400_000;

function record(job: string, more: Partial<JobRecord> = {}): JobRecord {
  return {
    ...{ v: 1, job, run: `run-${job}`, user: 'ann', project: 'vision', pool: 'default', kind: 'cloud-tpu' },
    ...{ accelerator: 'v5litepod-8', zone: 'us-central1-a', pricing: 'spot', count: 8, slices: 1, unit: 'chip' },
    ...{ result: 'succeeded', attempts: 1, preemptions: 0, lost: 'none', charged: 80, usd: 1.5 },
    ...{ submittedAt: DAY, endedAt: END, countedTo: END + 100, parts: { ...NO_PARTS, useful: 80, draining: 1 } },
    places: [{ zone: 'us-central1-a', pricing: 'spot', charged: 80, usd: 1.5 }],
    ...more,
  };
}

describe('the account of an ended job, in the store', () => {
  let folder: string;
  let store: StorePort;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'jobctl-counted-'));
    await ensureStore({ bucket: `file://${folder}` });
    store = openStore({ bucket: `file://${folder}` });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const counted = async () => (await readDayFiles(store, DAY)).records;
  const names = async () => (await store.list(REPORTS_PREFIX)).map(({ name }) => name);

  it('is counted once, however often its activity is tried', async () => {
    for (let tries = 0; tries < 3; tries++) await storeCounted(store, record('a'));
    assert.deepEqual(await counted(), [record('a')]);
  });

  it('is never replaced by an earlier one', async () => {
    const later = record('a', { countedTo: END + 5_000, charged: 90 });
    for (const each of [record('a'), later, record('a')]) await storeCounted(store, each);
    assert.deepEqual(await counted(), [later]);
    assert.deepEqual(await readUsage(store, 'a'), later);
  });

  const LEAVING = [
    { slice: 'a-s0', chips: 8 },
    { slice: 'a-s1', chips: 8 },
  ];
  const ended = record('a', { leaving: LEAVING });
  const gone = { 'a-s0': END + 1_100, 'a-s1': END + 3_100 };
  const whole = record('a', { parts: { ...NO_PARTS, useful: 80, draining: 1 + 8 + 24 } });

  it('gets the draining of its slices, which end before it is stored or after', async () => {
    await noteGone(store, 'a', 'a-s0', gone['a-s0']);
    assert.deepEqual(await counted(), []);
    await storeCounted(store, ended);
    const [half] = await counted();
    assert.deepEqual([half?.leaving, half?.parts.draining], [[LEAVING[1]], 9]);
    await noteGone(store, 'a', 'a-s1', gone['a-s1']);
    assert.deepEqual(await counted(), [whole]);
  });

  it('gets all of it if all of them end at the moment at which it is stored', async () => {
    for (let tries = 0; tries < 5; tries++) {
      const job = `a${tries}`;
      const own = (slice: string) => slice.replace('a-', `${job}-`);
      const leaving = LEAVING.map(({ slice, chips }) => ({ slice: own(slice), chips }));
      await Promise.all([
        ...Object.entries(gone).map(([slice, at]) => noteGone(store, job, own(slice), at)),
        storeCounted(store, { ...ended, job, leaving }),
      ]);
      const found = await readUsage(store, job);
      assert.deepEqual([found?.parts.draining, found?.leaving], [33, undefined], `try ${tries}`);
    }
  });

  it('ignores a slice that was gone before it was made up: that time is in it', async () => {
    await noteGone(store, 'a', 'a-s0', END - 1_000);
    await storeCounted(store, record('a', { leaving: [{ slice: 'a-s0', chips: 8 }] }));
    assert.deepEqual(await counted(), [record('a')]);
  });

  describe('compacted', () => {
    const JOBS = ['a', 'b', 'c', 'd'].map((job) => record(job));
    const sorted = async () => (await counted()).toSorted((a, b) => (a.job < b.job ? -1 : 1));
    beforeEach(async () => {
      for (const job of JOBS) await storeCounted(store, job);
    });

    it('is a line of one object, once its day is over', async () => {
      assert.equal(await compactReports(store, NEXT_DAY - 1), 0);
      assert.equal((await names()).length, JOBS.length);
      assert.equal(await compactReports(store, NEXT_DAY), JOBS.length);
      assert.equal((await names()).length, 1);
      assert.deepEqual(await sorted(), JOBS);
      assert.equal(await compactReports(store, NEXT_DAY), 0);
    });

    for (const dead of [0, 1, 3])
      it(`is counted once if the worker dies after ${dead} deletions, and the next pass ends the work`, async () => {
        let left = dead;
        const dying: StorePort = Object.assign(Object.create(store) as StorePort, {
          ...{ list: store.list.bind(store), read: store.read.bind(store), replace: store.replace.bind(store) },
          remove: (name: string) => (left-- > 0 ? store.remove(name) : Promise.reject(new Error('killed'))),
        });
        await assert.rejects(compactReports(dying, NEXT_DAY), /killed/);
        assert.ok((await names()).length > 1, String(await names()));
        assert.deepEqual(await sorted(), JOBS);
        await compactReports(store, NEXT_DAY);
        assert.deepEqual(await sorted(), JOBS);
        // A single line that was left is no reason for another object.
        assert.ok((await names()).length <= 2, String(await names()));
      });

    it('leaves the line of a job whose slices may still end, for a week', async () => {
      await storeCounted(store, record('e', { leaving: [{ slice: 'e-s0', chips: 8 }] }));
      await compactReports(store, NEXT_DAY);
      assert.deepEqual((await names()).length, 2);
      await noteGone(store, 'e', 'e-s0', END + 10_100);
      assert.equal((await sorted()).find(({ job }) => job === 'e')?.parts.draining, 81);
    });

    it('leaves what it cannot read, which the reader counts', async () => {
      await store.replace(`${reportDayPrefix('2026-11-20')}job-x-run.jsonl`, '{"v":2}\n');
      await compactReports(store, NEXT_DAY);
      const { records, unreadable } = await readDayFiles(store, DAY);
      assert.deepEqual([records.length, unreadable, (await names()).length], [4, 1, 2]);
    });
  });
});
