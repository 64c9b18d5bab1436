import assert from 'node:assert/strict';
import fc from 'fast-check';
import { TierQuota } from '../../quota/decision/tier-quota.js';
import type { Workload } from '../../quota/decision/tier-quota.js';
import { ShapeTable } from '../../quota/decision/shapes.js';
import { lease } from './builders.js';

/** More in .ci/long. */
const RUNS = Number(process.env['JOBCTL_PROPERTY_RUNS'] ?? 500);
const NOW = 10;
const NOMINAL = [12];
const drawn = fc.array(fc.tuple(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 3 }), fc.boolean()), {
  maxLength: 12,
});

const shapes = new ShapeTable({ kind: 'limited', tiers: [{ v4: 1000 }], projects: [] }, []);
const laidOf = (id: string, v4: number, priority: number, startedAt: number): Workload => ({
  id,
  priority,
  startedAt,
  shape: shapes.of({ units: { v4 } }),
  lease: lease(id, { v4 }, { priority, startedAt }),
});
const namesOf = (all: readonly Workload[]): readonly string[] => all.map(({ id }) => id).toSorted();

describe('quota: what is laid on a nominal quota (rule 3)', () => {
  it('is the same brought up to date by each grant and each victim as laid anew', () => {
    let [borrowed, dropped] = [0, 0];
    fc.assert(
      fc.property(drawn, drawn, (before, after) => {
        let all = before.map(([v4, priority], index) => laidOf(`l${index}`, v4, priority, index % 5));
        const lot = new TierQuota(NOMINAL, all);
        after.forEach(([v4, priority, isDropped], index) => {
          const asked = laidOf(`r${String(index).padStart(2, '0')}`, v4, priority, NOW);
          const anew = new TierQuota(NOMINAL, all);
          assert.equal(lot.fits(asked.shape, priority), anew.fits(asked.shape, priority));
          if (!anew.fits(asked.shape, priority)) borrowed += 1;
          lot.add(asked);
          all = [...all, asked];
          const laying = new TierQuota(NOMINAL, all).usage();
          const gone = isDropped ? laying.borrowing[0] : undefined;
          if (gone !== undefined) {
            lot.remove(gone);
            all = all.filter((laid) => laid !== gone);
            dropped += 1;
          }
          const { used, borrowedUnits, borrowing: present } = new TierQuota(NOMINAL, all).usage();
          assert.deepEqual([lot.usage().used, lot.usage().borrowedUnits], [used, borrowedUnits]);
          const known = new Set(namesOf(all));
          assert.deepEqual(namesOf(lot.usage().borrowing.filter(({ id }) => known.has(id))), namesOf(present));
        });
      }),
      { numRuns: RUNS },
    );
    assert.ok(borrowed > RUNS / 2 && dropped > RUNS / 2, `${borrowed} were borrowed, ${dropped} dropped`);
  });
});
