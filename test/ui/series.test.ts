import assert from 'node:assert/strict';
import { seriesOf } from '../../ui/series.js';

const loss = { name: 'loss', count: 3, points: { step: [1, 2, 3], time: [1, 2, 3], value: [0.5, null, 0.25] } };

describe('series of metrics that the page draws', () => {
  it('are those of the answer, with gaps where a value is none', () =>
    assert.deepEqual(seriesOf({ host: 0, attempts: [1, 2], metrics: [loss] }), [
      { name: 'loss', step: [1, 2, 3], value: [0.5, null, 0.25] },
    ]));

  it('are none of an answer of another form, and of one without points', () => {
    const points = (step: unknown, value: unknown): object => ({ name: 'x', points: { step, value } });
    for (const answer of [
      null,
      7,
      [],
      {},
      { metrics: {} },
      { metrics: [null, 1, {}, { name: 'x' }, { ...loss, name: 1 }] },
    ])
      assert.deepEqual(seriesOf(answer), []);
    for (const wrong of [points([], []), points([1], [1, 2]), points(['1'], [1]), points([1], ['1']), points(1, 1)])
      assert.deepEqual(seriesOf({ metrics: [wrong] }), []);
  });

  it('have a bound', () => assert.equal(seriesOf({ metrics: Array.from({ length: 100 }, () => loss) }).length, 24));
});
