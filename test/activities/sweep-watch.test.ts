import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SweepWatch } from '../../activities/sweep-watch.js';
import { ensureStore, openStore } from '../../cloud/store/open-store.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { sweepLookObject } from '../../domain/store-layout.js';
import { until } from '../until.js';

describe('looks of several workers for the janitor', () => {
  let folder: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sweep-watch-'));
    await ensureStore({ bucket: `file://${folder}` });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Workers whose looks find nothing, except that `broken` ones, or all while the schedule is paused, cannot look. */
  function fleet(
    count: number,
    { isBroken = (_: number): boolean => false, isPaused = false, takesMarks = true } = {},
  ) {
    const seen = { tries: 0, looks: 0, warned: [] as string[] };
    const watches = Array.from({ length: count }, (_, worker) => {
      const schedule = {
        describe: async () => {
          seen.tries++;
          if (isBroken(worker)) throw new Error('PERMISSION_DENIED');
          return { state: { paused: isPaused } };
        },
      };
      const client = { schedule: { getHandle: () => schedule }, workflow: { list: () => [] } };
      const store = openStore({ bucket: `file://${folder}` });
      if (!takesMarks) store.write = () => Promise.reject(new Error('403'));
      const dependencies = {
        store,
        installation: { owner: 'o', taskQueue: 'q', claimedQueue: `q-${worker}`, timings: DEFAULT_TIMINGS },
        machinesOf: () => ({ listOwned: async () => [] }),
        meter: { swept: () => seen.looks++ },
      };
      return new SweepWatch(client as never, dependencies as never, {
        warn: (text: string) => void seen.warned.push(text),
      });
    });
    return { seen, watches };
  }

  /** Lets the time between two looks pass. */
  function later(): void {
    const past = (Date.now() - DEFAULT_TIMINGS.sweepLookMs) / 1000;
    utimesSync(join(folder, sweepLookObject), past, past);
  }

  it('are one look each time', async () => {
    const { seen, watches } = fleet(8);
    await Promise.all(watches.map((each) => each.look()));
    assert.equal(seen.looks, 1, String(seen.warned));
    for (const each of watches) await each.look();
    assert.equal(seen.looks, 1);
    later();
    await Promise.all(watches.map((each) => each.look()));
    assert.equal(seen.looks, 2);
  });

  for (const count of [2, 10])
    it(`go to the one of ${count} workers that can look, each time`, async () => {
      const { seen, watches } = fleet(count, { isBroken: (worker) => worker < count - 1 });
      for (let time = 1; time <= 4; time++) {
        for (const each of watches) await each.look();
        for (const each of watches) await each.look();
        assert.equal(seen.looks, time);
        later();
      }
    });

  it('are made without a mark if the store takes none, which each worker says once', async () => {
    const { seen, watches } = fleet(2, { takesMarks: false });
    for (let time = 0; time < 3; time++) for (const each of watches) await each.look();
    assert.equal(seen.looks, 6);
    assert.deepEqual(
      seen.warned.filter((text) => text.startsWith('the janitor')),
      Array(2).fill('the janitor looks on each worker, without a mark: 403'),
    );
  });

  it('say once what keeps them from looking, and are not counted then', async () => {
    const { seen, watches } = fleet(1, { isPaused: true });
    for (let time = 0; time < 3; time++) await watches[0]?.look();
    assert.deepEqual(seen.warned, ['the janitor looks at nothing: its schedule is paused']);
    assert.deepEqual([seen.tries, seen.looks], [3, 0]);
  });

  it('begin with their worker', async () => {
    const { seen, watches } = fleet(2);
    const stop = new AbortController();
    for (const each of watches) void each.run(stop.signal);
    await until('a look', () => seen.looks > 0);
    stop.abort();
    assert.equal(seen.looks, 1);
  });

  it('end with their worker', async () => {
    const { watches } = fleet(1);
    const stop = new AbortController();
    let hasEnded = false;
    void watches[0]?.run(stop.signal).then(() => (hasEnded = true));
    stop.abort();
    await until('it has ended', () => hasEnded);
  });
});
