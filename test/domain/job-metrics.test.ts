import assert from 'node:assert/strict';
import { mergedMetrics } from '../../domain/job-metrics/merged-metrics.js';
import { metricsInJson, metricsInLine } from '../../domain/job-metrics/metric-lines.js';
import { HostMetrics, MOST_METRICS, MOST_POINTS, type MetricSeries } from '../../domain/job-metrics/metric-series.js';
import { MOST_METRICS_BYTES, readStoredMetrics } from '../../domain/job-metrics/stored-metrics.js';

const NOW = Date.UTC(2026, 10, 30);
const NONE = { series: [], refused: 0, beyondNames: 0 };

/** Metrics of one attempt, told by lines one second apart. */
const told = (...lines: readonly string[]): HostMetrics => {
  const metrics = new HostMetrics(NONE);
  for (const [second, line] of lines.entries()) {
    const read = metricsInLine(`JOBCTL_METRIC ${line}`);
    assert.ok(read, line);
    metrics.take(read, NOW + 1000 * second);
  }
  return metrics;
};
const seriesOf = (metrics: HostMetrics, name: string): MetricSeries => {
  const found = metrics.series.find((series) => series.name === name);
  assert.ok(found, name);
  return found;
};

describe('a line of output', () => {
  const cases: Record<string, readonly [line: string, want: object | undefined]> = {
    'tells names, values and the step': [
      'JOBCTL_METRIC loss=0.31 acc=0.8 step=120',
      {
        step: 120,
        values: [
          ['loss', 0.31],
          ['acc', 0.8],
        ],
        refused: 0,
      },
    ],
    'may have the prefix of a logger': [
      '2026-11-30 12:00:01,204 INFO train.py:12: JOBCTL_METRIC train/loss=1.5e-3 step=7',
      { step: 7, values: [['train/loss', 0.0015]], refused: 0 },
    ],
    'may stand in the JSON of a logger': [
      '{"level":"info","message":"JOBCTL_METRIC loss=0.25, step=3"}',
      { step: 3, values: [['loss', 0.25]], refused: 0 },
    ],
    'may have other words': [
      'JOBCTL_METRIC: rank 0 loss=2 (mean) step=4 [host0]',
      { step: 4, values: [['loss', 2]], refused: 0 },
    ],
    'may have no step': ['JOBCTL_METRIC loss=1', { values: [['loss', 1]], refused: 0 }],
    'knows the steps and times of W&B and Lightning': [
      'JOBCTL_METRIC loss=1 trainer/global_step=9 _timestamp=1764504000.5 _runtime=3',
      { step: 9, at: 1_764_504_000_500, values: [['loss', 1]], refused: 0 },
    ],
    'tells NaN and infinity': [
      'JOBCTL_METRIC a=NaN b=inf c=-Infinity d=1e400 step=1',
      {
        step: 1,
        values: [
          ['a', NaN],
          ['b', Infinity],
          ['c', -Infinity],
          ['d', Infinity],
        ],
        refused: 0,
      },
    ],
    'refuses what is no number': [
      'JOBCTL_METRIC loss=tensor(0.3) lr=1e-3 device=tpu x= y=1_000 z=0x10',
      { values: [['lr', 0.001]], refused: 5 },
    ],
    'refuses names that a terminal obeys': [
      'JOBCTL_METRIC \u001b[31mloss=1 lo\u202ess=2 "x"=3 =4 ok=5',
      { values: [['ok', 5]], refused: 3 },
    ],
    'refuses a long name': [`JOBCTL_METRIC ${'n'.repeat(129)}=1`, { values: [], refused: 1 }],
    'refuses steps that are none': [
      'JOBCTL_METRIC loss=1 step=-1 step=0.5 step=1e20 step=nan',
      { values: [['loss', 1]], refused: 4 },
    ],
    'takes a whole step in any form': [
      'JOBCTL_METRIC loss=1 step=1e3',
      { step: 1000, values: [['loss', 1]], refused: 0 },
    ],
    'is none without the word': ['METRIC loss=1 step=1', undefined],
    'is none where the word is a part of another': ['NO_JOBCTL_METRIC loss=1', undefined],
    'is none where the word goes on': ['JOBCTL_METRICS loss=1', undefined],
    'is none without a value': ['JOBCTL_METRIC is the word of jobctl', undefined],
    'that was torn by another tells no number': [
      'JOBCTL_METRIC loss=0.3JOBCTL_METRIC loss=0.31 step=2',
      { step: 2, values: [['loss', 0.31]], refused: 1 },
    ],
  };
  for (const [name, [line, want]] of Object.entries(cases)) it(name, () => assert.deepEqual(metricsInLine(line), want));
});

describe('a line of the metrics file', () => {
  const cases: Record<string, readonly [line: string, want: object | undefined]> = {
    'is an object of numbers': ['{"step":120,"loss":0.31}', { step: 120, values: [['loss', 0.31]], refused: 0 }],
    'may have what is no number': [
      '{"split":"train","ok":true,"h":[1,2],"n":{"x":1},"loss":2}',
      { values: [['loss', 2]], refused: 0 },
    ],
    'may have the NaN of Python': [
      '{"step": 3, "loss": NaN, "a":-Infinity, "b": null, "c": 1e400}',
      {
        step: 3,
        values: [
          ['loss', NaN],
          ['a', NaN],
          ['b', NaN],
          ['c', Infinity],
        ],
        refused: 0,
      },
    ],
    'may have spaces in names, and none that hide': [
      '{"eval loss": 1, "a\\u0000b": 2, "\\u202e": 3, " x": 4, "": 5}',
      { values: [['eval loss', 1]], refused: 4 },
    ],
    'is no prototype': ['{"__proto__": 1, "constructor": 2}', { values: [['constructor', 2]], refused: 0 }],
    'is no list': ['[1,2]', undefined],
    'is no number': ['12', undefined],
    'is no half': ['{"step":120,"lo', undefined],
  };
  for (const [name, [line, want]] of Object.entries(cases)) it(name, () => assert.deepEqual(metricsInJson(line), want));
});

describe('the metrics of a host', () => {
  it('hold each value with its step, and the steps themselves', () => {
    const metrics = told('loss=3 step=10', 'loss=2 acc=0.5 step=20', 'loss=2.5 step=30');
    const { points, last, least, most, count } = seriesOf(metrics, 'loss');
    assert.deepEqual(points, { step: [10, 20, 30], time: [NOW, NOW + 1000, NOW + 2000], value: [3, 2, 2.5] });
    assert.deepEqual([last.step, least?.step, most?.step, count], [30, 20, 10, 3]);
    assert.deepEqual(seriesOf(metrics, 'step').points.value, [10, 20, 30]);
  });

  it('give a value without a step the last one that was told, each place once', () => {
    const metrics = told('loss=1 step=5', 'eval=1', 'eval=2', 'loss=1 step=9', 'eval=3');
    assert.deepEqual(seriesOf(metrics, 'eval').points.step, [5, 6, 9]);
    assert.equal(seriesOf(metrics, 'eval').isCounted, undefined);
  });

  it('count values where no step is ever told', () => {
    const { points, isCounted } = seriesOf(told('loss=3', 'loss=2', 'loss=1'), 'loss');
    assert.deepEqual([points.step, isCounted], [[0, 1, 2], true]);
  });

  it('keep values that are no numbers as such, and out of the extremes', () => {
    const { points, last, least } = seriesOf(told('loss=3 step=1', 'loss=nan step=2', 'loss=1e999 step=3'), 'loss');
    assert.deepEqual([points.value, last.value, least?.value], [[3, null, null], null, 3]);
  });

  it('count steps that go backwards', () => {
    assert.equal(seriesOf(told('a=1 step=5', 'a=1 step=2', 'a=1 step=3', 'a=1 step=1'), 'a').falls, 2);
  });

  it('are spread evenly when there are more than are kept, with exact extremes and the last value', () => {
    const metrics = new HostMetrics(NONE);
    const many = 10 * MOST_POINTS + 1;
    for (let step = 0; step < many; step++)
      metrics.take({ step, values: [['loss', step === 777 ? -1 : step]], refused: 0 }, NOW + step);
    const { points, every, count, least, last } = seriesOf(metrics, 'loss');
    assert.ok(points.step.length < MOST_POINTS && points.step.length >= MOST_POINTS / 2);
    assert.deepEqual(
      [...points.step],
      points.step.map((_, index) => index * every),
    );
    assert.deepEqual([count, least?.step, last.step], [many, 777, many - 1]);
  });

  it('have an end, whatever names and points a program makes, and fit into their object', () => {
    const metrics = new HostMetrics(NONE);
    const value = -1.234_567_890_123_456_7e-200;
    const names = Array.from({ length: 3 * MOST_METRICS }, (_, index) => `${'ü'.repeat(120)}${index}`);
    for (let step = 0; step < MOST_POINTS; step++)
      metrics.take({ step: 1e15 + step, values: names.map((name) => [name, value]), refused: 0 }, NOW);
    assert.equal(metrics.series.length, MOST_METRICS);
    assert.equal(metrics.beyondNames, MOST_POINTS * (names.length - MOST_METRICS + 1));
    const { series, refused, beyondNames } = metrics;
    const text = JSON.stringify({
      ...{ v: 1, at: NOW, read: { output: 1, file: 2 }, series, refused, beyondNames, missedBytes: 0 },
    });
    assert.ok(Buffer.byteLength(text) < MOST_METRICS_BYTES, String(text.length));
    assert.deepEqual(readStoredMetrics(text)?.series, series);
  });

  it('go on from what was stored', () => {
    const lines = Array.from({ length: 3000 }, (_, step) => `loss=${step % 97} step=${step}`);
    const whole = told(...lines);
    const first = told(...lines.slice(0, 1700));
    const second = new HostMetrics(JSON.parse(JSON.stringify({ ...NONE, series: first.series })) as typeof NONE);
    for (const [index, line] of lines.slice(1700).entries())
      second.take(metricsInLine(`JOBCTL_METRIC ${line}`)!, NOW + 1000 * (1700 + index));
    assert.deepEqual(second.series, whole.series);
  });
});

describe('a stored object of metrics', () => {
  const good = {
    ...{ v: 1, at: NOW, read: { output: 1, file: 0 }, refused: 0, beyondNames: 0, missedBytes: 0 },
    series: told('loss=3 step=10', 'loss=2 step=20').series,
  };
  it('is read', () => assert.deepEqual(readStoredMetrics(JSON.stringify(good)), good));
  const [, loss] = good.series;
  const bad: Record<string, unknown> = {
    'no JSON': 'x',
    'another version': { ...good, v: 2 },
    'lists of different lengths': { ...good, series: [{ ...loss, points: { ...loss?.points, step: [1] } }] },
    'a name that a terminal obeys': { ...good, series: [{ ...loss, name: '\u001b[2J' }] },
    'a name twice': { ...good, series: [loss, loss] },
    'too many metrics': { ...good, series: Array.from({ length: 101 }, (_, n) => ({ ...loss, name: `m${n}` })) },
    'a value that is a text': { ...good, series: [{ ...loss, last: { ...loss?.last, value: '1' } }] },
    'a negative step': { ...good, series: [{ ...loss, last: { ...loss?.last, step: -1 } }] },
  };
  for (const [name, object] of Object.entries(bad))
    it(`is none with ${name}`, () => assert.equal(readStoredMetrics(JSON.stringify(object)), undefined));
});

describe('metrics over the attempts of a job', () => {
  const merge = (attempts: readonly HostMetrics[], more: Partial<Parameters<typeof mergedMetrics>[1]> = {}) =>
    mergedMetrics(
      attempts.map(({ series }) => series),
      { axis: 'step', points: 1000, names: ['loss'], ...more },
    )[0];
  const first = told('loss=5 step=1', 'loss=4 step=2', 'loss=0 step=3', 'loss=2 step=4');

  it('are those of the later attempt from its first step on', () => {
    const later = told('loss=3 step=3', 'loss=2.5 step=4', 'loss=2 step=5');
    const found = merge([first, later]);
    assert.deepEqual(found?.points.step, [1, 2, 3, 4, 5]);
    assert.deepEqual(found?.points.value, [5, 4, 3, 2.5, 2]);
    assert.deepEqual([found?.least?.value, found?.most?.value, found?.last.step, found?.count], [2, 5, 5, 7]);
  });

  it('end where the later attempt is, though the earlier one had come further', () =>
    assert.deepEqual(merge([first, told('loss=3 step=2')])?.points.step, [1, 2]));

  it('are taken back by every later attempt', () =>
    assert.deepEqual(merge([first, told('loss=3 step=1'), told('loss=9 step=4')])?.points, {
      ...{ step: [1, 4], time: [NOW, NOW], value: [3, 9] },
    }));

  it('stay where a later attempt told nothing of them', () =>
    assert.deepEqual(merge([first, told('acc=3 step=1')])?.points.step, [1, 2, 3, 4]));

  it('are counted on where no step was told', () =>
    assert.deepEqual(merge([told('loss=3', 'loss=2'), told('loss=1', 'loss=0')])?.points, {
      ...{ step: [0, 1, 2, 3], time: [NOW, NOW + 1000, NOW, NOW + 1000], value: [3, 2, 1, 0] },
    }));

  it('have each step once, as told last, and in order', () => {
    const found = merge([told('loss=1 step=5', 'loss=2 step=1', 'loss=3 step=5')]);
    assert.deepEqual([found?.points.step, found?.points.value, found?.falls], [[1, 5], [2, 3], 1]);
  });

  it('have all values in the order of time over the other axis', () => {
    const found = merge([told('loss=1 step=5', 'loss=2 step=1', 'loss=3 step=5')], { axis: 'time' });
    assert.deepEqual(found?.points.value, [1, 2, 3]);
  });

  it('are thinned evenly to what is asked for, with both ends', () => {
    const found = merge([told(...Array.from({ length: 100 }, (_, step) => `loss=${step} step=${step}`))], {
      points: 12,
    });
    assert.deepEqual(found?.points.step, [0, 9, 18, 27, 36, 45, 54, 63, 72, 81, 90, 99]);
    assert.equal(found?.isThinned, true);
  });
});
