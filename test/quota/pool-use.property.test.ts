import assert from 'node:assert/strict';
import fc from 'fast-check';
import { inLayingOrder, nominalLeft } from '../../quota/nominal-quota.js';
import { PoolUse } from '../../quota/pool-use.js';
import type { QuotaLease } from '../../quota/quota-config.js';
import { isWithin } from '../../quota/quota-units.js';
import { lease, pool, project, request } from './builders.js';

/** More in .ci/long. */
const RUNS = Number(process.env['JOBCTL_PROPERTY_RUNS'] ?? 500);
const NOW = 10;
const NOMINAL = { v4: 12 };
const drawn = fc.array(fc.tuple(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 3 }), fc.boolean()), {
  maxLength: 12,
});

describe('quota: what is left of a nominal quota', () => {
  it('is the same brought up to date by each grant as laid anew', () => {
    let borrowed = 0;
    fc.assert(
      fc.property(drawn, drawn, (before, after) => {
        const config = pool({ v4: 1000 }, project('own', NOMINAL));
        assert.ok(config.kind === 'limited');
        const own = { project: 'own' };
        const leases = before.map(([v4, priority], index) =>
          lease(`l${index}`, { v4 }, { ...own, priority, startedAt: index % 5 }),
        );
        const use = new PoolUse(config, leases);
        const all: QuotaLease[] = [...leases];
        after.forEach(([v4, priority, isGranted], index) => {
          const asked = request(`r${String(index).padStart(2, '0')}`, { v4 }, { ...own, priority });
          const isInQuota = isWithin({ v4 }, nominalLeft(NOMINAL, all.toSorted(inLayingOrder), priority));
          assert.equal(use.isInQuota(asked, 0), isInQuota);
          if (!isGranted) return;
          if (!isInQuota) borrowed += 1;
          const granted = { ...asked, tier: 0, startedAt: NOW };
          use.grant(granted);
          all.push(granted);
        });
      }),
      { numRuns: RUNS },
    );
    assert.ok(borrowed > RUNS / 2, `${borrowed} grants were borrowed`);
  });
});
