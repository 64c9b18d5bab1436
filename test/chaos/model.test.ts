import assert from 'node:assert/strict';
import { runModelSeed } from '../../chaos/model/seed.js';
import { type Figures, figuresOf } from '../../chaos/oracle/figures.js';

const SEEDS = 12;

describe('the model tier of chaos', () => {
  it('tells the same story of a seed each time', () => {
    assert.deepEqual(runModelSeed(3), runModelSeed(3));
  });

  it(`meets in ${SEEDS} seeds what it is there for, and judges all of its jobs`, () => {
    const seeds = Array.from({ length: SEEDS }, (_, index) => runModelSeed(index + 1).evidence);
    const figures = seeds.map(figuresOf);
    const sum = (of: (each: Figures) => number): number => figures.reduce((total, each) => total + of(each), 0);
    assert.ok(sum(({ slicesLost }) => slicesLost) >= SEEDS, 'slices are lost');
    assert.ok(sum(({ heardSigterm }) => heardSigterm) >= SEEDS, 'commands hear SIGTERM');
    assert.ok(sum(({ attempts, jobs }) => attempts - (jobs['succeeded'] ?? 0)) >= SEEDS, 'attempts follow one another');
    const kinds = new Set(seeds.flatMap(({ deeds }) => deeds.map(({ kind }) => kind)));
    assert.ok(kinds.has('signalled') && kinds.has('preempt') && kinds.has('verb'), [...kinds].join());
    for (const result of ['succeeded', 'failed', 'cancelled'])
      assert.ok(sum(({ jobs }) => jobs[result] ?? 0) > 0, `some have ${result}`);
    assert.equal(
      sum(({ jobs }) => Object.values(jobs).reduce((a, b) => a + b, 0)),
      SEEDS * 8,
    );
  });
});
