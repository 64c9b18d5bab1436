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

  function fleet(count: number) {
    const seen = { looks: 0, warned: [] as string[] };
    const schedule = {
      describe: async () => {
        seen.looks++;
        return { state: { paused: true } };
      },
    };
    const watches = Array.from({ length: count }, (_, worker) => {
      const installation = { taskQueue: 'q', claimedQueue: `q-${worker}`, timings: DEFAULT_TIMINGS };
      const store = openStore({ bucket: `file://${folder}` });
      return new SweepWatch({ schedule: { getHandle: () => schedule } } as never, { store, installation } as never, {
        warn: (text: string) => void seen.warned.push(text),
      });
    });
    return { seen, watches };
  }

  it('are one look each time', async () => {
    const { seen, watches } = fleet(8);
    await Promise.all(watches.map((each) => each.look()));
    assert.equal(seen.looks, 1, String(seen.warned));
    for (const each of watches) await each.look();
    assert.equal(seen.looks, 1);
    const past = (Date.now() - DEFAULT_TIMINGS.sweepLookMs) / 1000;
    utimesSync(join(folder, sweepLookObject), past, past);
    await Promise.all(watches.map((each) => each.look()));
    assert.equal(seen.looks, 2);
  });

  it('say once what keeps them from looking', async () => {
    const { seen, watches } = fleet(1);
    for (let look = 0; look < 3; look++) {
      await watches[0]?.look();
      const past = (Date.now() - DEFAULT_TIMINGS.sweepLookMs) / 1000;
      utimesSync(join(folder, sweepLookObject), past, past);
    }
    assert.deepEqual(seen.warned, ['the janitor looks at nothing: its schedule is paused']);
    assert.equal(seen.looks, 3);
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
