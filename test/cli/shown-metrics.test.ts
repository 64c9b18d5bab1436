import assert from 'node:assert/strict';
import {
  chartOf,
  lastMetricsText,
  metricsCsv,
  metricsTable,
  notesOf,
  ranked,
} from '../../cli/jobs/metrics/shown-metrics.js';
import { jobMetrics } from '../../client/job-metrics.js';
import { metricsInJson } from '../../domain/job-metrics/metric-lines.js';
import { HostMetrics } from '../../domain/job-metrics/metric-series.js';
import { hostMetricsPrefix, metricsObject } from '../../domain/store-layout.js';
import { MapStore } from './map-store.js';

const NOW = Date.UTC(2026, 10, 30);

/** The object of an attempt that told these lines, one a second. */
function objectOf(lines: readonly object[], more: object = {}): string {
  const metrics = new HostMetrics({ series: [], refused: 0, beyondNames: 0 });
  for (const [second, line] of lines.entries()) {
    const told = metricsInJson(JSON.stringify(line));
    assert.ok(told);
    metrics.take(told, NOW + second * 1000);
  }
  const { series } = metrics;
  return JSON.stringify({
    ...{ v: 1, at: NOW, read: { output: 0, file: 0 }, series, refused: 0, beyondNames: 0, missedBytes: 0 },
    ...more,
  });
}

describe('the metrics of a job in its store', () => {
  let store: MapStore;
  beforeEach(() => (store = new MapStore()));
  const put = (attempt: number, lines: readonly object[], { host = 0, ...more }: { host?: number } = {}): void =>
    store.put(metricsObject('train', attempt, host), objectOf(lines, more));

  it('are joined over its attempts, by a listing and a read for each', async () => {
    for (const attempt of [1, 2, 10]) put(attempt, [{ step: attempt, loss: attempt }]);
    put(3, [{ step: 1, loss: 99 }], { host: 1 });
    const [found, { requests }] = await store.during(() => jobMetrics(store, 'train'));
    assert.deepEqual([found.attempts, requests], [[1, 2, 10], 4]);
    assert.deepEqual(found.metrics.find(({ name }) => name === 'loss')?.points.value, [1, 2, 10]);
    assert.equal((await jobMetrics(store, 'train', { host: 1 })).metrics[0]?.last.value, 1);
    const [last] = (await jobMetrics(store, 'train', { names: ['loss'], points: 0, isLastAttempt: true })).metrics;
    assert.deepEqual([last?.last.value, last?.points.step], [10, []]);
  });

  it('are none of what others put beside them', async () => {
    put(1, [{ step: 1, loss: 1 }]);
    const prefix = hostMetricsPrefix('train', 0);
    for (const name of ['x.json', '0.json', '01.json', '2.json/x', '2.json.bak', '99999999999.json'])
      store.put(`${prefix}${name}`, objectOf([{ loss: 7 }]));
    store.put(`${prefix}3.json`, '{"v":1,"series":[');
    store.put(`${prefix}4.json`, Buffer.alloc(9 * 1024 * 1024, 32));
    assert.deepEqual((await jobMetrics(store, 'train')).attempts, [1]);
  });

  it('are of the last fifty attempts', async () => {
    for (let attempt = 1; attempt <= 60; attempt++) put(attempt, [{ step: attempt, loss: 1 }]);
    assert.deepEqual((await jobMetrics(store, 'train')).attempts.at(0), 11);
  });

  describe('for people', () => {
    const jobOf = async (lines: readonly object[], more: object = {}) => {
      store.put(metricsObject('train', 1, 0), objectOf(lines, more));
      return { id: 'train', label: 'train', found: await jobMetrics(store, 'train') };
    };

    it('are the last values of one line of the program together, with their age', async () => {
      const { found } = await jobOf([
        { step: 1, eval: 0.5 },
        { step: 2, loss: 0.3123456789, acc: null },
      ]);
      const want = 'eval 0.5 (step 1, 1m 01s ago); loss 0.312346, acc not finite (step 2, 1m 00s ago)';
      assert.equal(lastMetricsText('train', found, NOW + 61_000), want);
      const many = await jobOf([Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`m${index}`, index]))]);
      assert.match(
        lastMetricsText('train', many.found, NOW) ?? '',
        /m7 7 \(step 0, 0s ago\); and 12 more: \S*jobctl plot train/,
      );
      assert.equal(lastMetricsText('train', { ...found, metrics: [] }, NOW), undefined);
    });

    it('are a table of all', async () =>
      assert.deepEqual(
        metricsTable(
          [
            await jobOf([
              { step: 1, loss: 3 },
              { step: 5, loss: 2 },
            ]),
          ],
          NOW + 1000,
          undefined,
        ),
        [
          'METRIC  LAST  STEP  AGE     LEAST  MOST  VALUES',
          'step    5     5     0s ago  1      5     2',
          'loss    2     5     0s ago  2      3     2',
        ],
      ));

    it('are rows of CSV that no spreadsheet runs', async () =>
      assert.equal(
        metricsCsv([await jobOf([{ step: 1, '=cmd("x"),1': 3, '@a': null }])]),
        `job,metric,step,time,value
train,step,1,2026-11-30T00:00:00.000Z,1
train,"'=cmd(""x""),1",1,2026-11-30T00:00:00.000Z,3
train,'@a,1,2026-11-30T00:00:00.000Z,
`,
      ));

    it('begin at zero over time, and are ordered by their best values, those without one last', async () => {
      const [a, b, c] = [
        await jobOf([
          { step: 1, loss: 3 },
          { step: 2, loss: 9 },
        ]),
        await jobOf([{ step: 1, loss: 5 }]),
        await jobOf([{ step: 1, loss: null }]),
      ];
      assert.deepEqual(chartOf('loss', 'time', [a]).curves[0]?.x, [0, 1000]);
      assert.deepEqual(ranked([c, b, a], 'loss', 'min'), [a, b, c]);
      assert.deepEqual(ranked([c, b, a], 'loss', 'max'), [a, b, c]);
      assert.deepEqual(ranked([c, b, a], 'loss', undefined), [c, b, a]);
    });

    it('come with what was left out', async () => {
      const job = await jobOf(
        [
          { step: 2, loss: 1 },
          { step: 1, loss: null },
        ],
        { refused: 2, beyondNames: 1, missedBytes: 7 },
      );
      assert.deepEqual(notesOf([job], ['loss'], 'step'), [
        'train: 1 value NaN or infinite: a gap',
        'train: steps of loss go backwards, and of equal ones the last is shown; --x time shows all',
        'train: 2 values or lines were no metrics (docs/job-metrics.md)',
        'train: 1 value of metrics beyond the first 100 were not kept',
        'train: 7 bytes of output were not looked through, after the death of a worker',
      ]);
      assert.deepEqual(notesOf([await jobOf([{ step: 1, loss: 1 }])], ['loss'], 'step'), []);
    });
  });
});
