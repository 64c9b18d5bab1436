import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Lot } from '../../quota/decision/laying.js';
import type { Laid } from '../../quota/decision/laying.js';
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
const laidOf = (id: string, v4: number, priority: number, startedAt: number): Laid => ({
  id,
  priority,
  startedAt,
  shape: shapes.of({ units: { v4 } }),
  lease: lease(id, { v4 }, { priority, startedAt }),
});
const namesOf = (all: readonly Laid[]): readonly string[] => all.map(({ id }) => id).toSorted();

describe('quota: what is laid on a nominal quota (rule 3)', () => {
  it('is the same brought up to date by each grant and each victim as laid anew', () => {
    let [borrowed, dropped] = [0, 0];
    fc.assert(
      fc.property(drawn, drawn, (before, after) => {
        let all = before.map(([v4, priority], index) => laidOf(`l${index}`, v4, priority, index % 5));
        const lot = new Lot(NOMINAL, all);
        after.forEach(([v4, priority, isDropped], index) => {
          const asked = laidOf(`r${String(index).padStart(2, '0')}`, v4, priority, NOW);
          const anew = new Lot(NOMINAL, all);
          assert.equal(lot.holds(asked.shape, priority), anew.holds(asked.shape, priority));
          if (!anew.holds(asked.shape, priority)) borrowed += 1;
          lot.lay(asked);
          all = [...all, asked];
          const laying = new Lot(NOMINAL, all).laying();
          const gone = isDropped ? laying.borrowed[0] : undefined;
          if (gone !== undefined) {
            lot.drop(gone);
            all = all.filter((laid) => laid !== gone);
            dropped += 1;
          }
          const { used, borrowedUnits, borrowed: present } = new Lot(NOMINAL, all).laying();
          assert.deepEqual([lot.laying().used, lot.laying().borrowedUnits], [used, borrowedUnits]);
          const known = new Set(namesOf(all));
          assert.deepEqual(namesOf(lot.laying().borrowed.filter(({ id }) => known.has(id))), namesOf(present));
        });
      }),
      { numRuns: RUNS },
    );
    assert.ok(borrowed > RUNS / 2 && dropped > RUNS / 2, `${borrowed} were borrowed, ${dropped} dropped`);
  });
});
