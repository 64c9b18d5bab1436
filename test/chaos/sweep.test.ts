import assert from 'node:assert/strict';
import { outcomeDelays, unreadEnds } from '../../chaos/oracle/ended-work.js';
import { judge } from '../../chaos/oracle/judge.js';
import { sweptInModel } from '../../chaos/sweep/model.js';
import { type Point, POINTS, pointText, SHAPES, spread } from '../../chaos/sweep/points.js';

const [ONE, , TWO] = SHAPES;

describe('the sweep of a program over a preemption', () => {
  it('has 121 x 3 x 3 x 3 points, and 120 of them meet each combination four times, on both sides', () => {
    assert.equal(POINTS.length, 3_267);
    const some = spread(120);
    assert.equal(new Set(some.map(pointText)).size, 120);
    const combinations = new Map<string, number[]>();
    for (const { offsetS, lagS, kind, shape } of some) {
      const key = `${lagS} ${kind} ${shape.name}`;
      combinations.set(key, [...(combinations.get(key) ?? []), offsetS]);
    }
    assert.equal(combinations.size, 27);
    for (const [key, offsets] of combinations) {
      assert.ok(offsets.length >= 4, key);
      assert.ok(Math.min(...offsets) < -20 && Math.max(...offsets) > 20, `${key}: ${offsets.join()}`);
    }
  });

  it('finds nothing in points of each kind, with an API that answers or not', () => {
    const points = spread(27);
    const all = points.flatMap((point, index) => [sweptInModel(point, index, false), sweptInModel(point, index, true)]);
    assert.deepEqual(all.flatMap(judge), []);
    assert.equal(all.flatMap(outcomeDelays).length, all.length, 'all succeed');
    assert.ok(
      all.some(({ told }) => told.some(({ attempt }) => attempt === 2)),
      'some run again',
    );
  });

  it('runs again what nobody had read when its VM went, and counts it', () => {
    const point: Point = { offsetS: -1, lagS: 0, kind: 'without', shape: ONE };
    const counts = Array.from({ length: 20 }, (_, seed) => sweptInModel(point, seed, false)).map(unreadEnds);
    assert.deepEqual(new Set(counts), new Set([0, 1]));
  });

  it('runs once what had ended on both slices before one was taken', () => {
    const evidence = sweptInModel({ offsetS: -10, lagS: 60, kind: 'silent', shape: TWO }, 1, true);
    assert.deepEqual([...new Set(evidence.told.map(({ attempt }) => attempt))], [1]);
  });
});
