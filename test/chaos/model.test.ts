import assert from 'node:assert/strict';
import { runModelSeed } from '../../chaos/model/seed.js';
import { type Figures, figuresOf } from '../../chaos/oracle/figures.js';

const SEEDS = 12;

describe('the model tier of chaos', () => {
  it('tells the same story of a seed each time', () => {
    assert.deepEqual(runModelSeed(3), runModelSeed(3));
  });

  it(`meets in ${SEEDS} seeds what it is there for, and judges all of its jobs`, () => {
    const figures = Array.from({ length: SEEDS }, (_, index) => figuresOf(runModelSeed(index + 1).evidence));
    const sum = (of: (each: Figures) => number): number => figures.reduce((total, each) => total + of(each), 0);
    assert.ok(sum(({ slicesLost }) => slicesLost) >= SEEDS, 'slices are lost');
    assert.ok(sum(({ heardSigterm }) => heardSigterm) >= SEEDS, 'commands hear SIGTERM');
    assert.ok(sum(({ attempts, jobs }) => attempts - (jobs['succeeded'] ?? 0)) >= SEEDS, 'attempts follow one another');
    for (const result of ['succeeded', 'failed', 'cancelled'])
      assert.ok(sum(({ jobs }) => jobs[result] ?? 0) > 0, `some have ${result}`);
    assert.equal(
      sum(({ jobs }) => Object.values(jobs).reduce((a, b) => a + b, 0)),
      SEEDS * 8,
    );
  });
});
