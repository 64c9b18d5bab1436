import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Metric } from '../../domain/metric-names.js';

/** What a worker publishes under each name: test/worker/metrics.live.test.ts. */
describe('docs/metrics.md', () => {
  it('explains each metric', () => {
    const text = readFileSync('docs/metrics.md', 'utf8');
    assert.deepEqual(
      Object.values(Metric).filter((name) => !text.includes(`\`${name}\``)),
      [],
    );
  });
});
