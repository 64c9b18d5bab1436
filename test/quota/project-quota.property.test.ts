import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Pricing } from '../../domain/slice.js';
import { Nominal, ProjectQuota, type Workload } from '../../quota/decision/project-quota.js';
import { ShapeTable } from '../../quota/decision/shapes.js';
import { DEFAULT_RULES, NO_MEMORY } from '../../quota/quota-config.js';
import { lease, project } from './builders.js';
import { onNominal } from './properties/oracle.js';
import type { Facts } from './properties/oracle.js';

/** More in .ci/long. */
const RUNS = Number(process.env['JOBCTL_PROPERTY_RUNS'] ?? 500);
const NOW = 10;
const PRICINGS: readonly (Pricing | undefined)[] = [undefined, 'spot', 'reserved'];
const pricing = fc.constantFrom<(Pricing | undefined)[]>(undefined, undefined, 'spot', 'reserved', 'ondemand');
const drawn = fc.array(
  fc.record({
    v4: fc.integer({ min: 1, max: 8 }),
    priority: fc.integer({ min: 1, max: 3 }),
    tier: fc.nat({ max: 2 }),
    pricing,
    isDropped: fc.boolean(),
  }),
  { maxLength: 12 },
);
type Drawn = (typeof drawn extends fc.Arbitrary<infer List> ? List : never) extends (infer One)[] ? One : never;
/** One tier, or three; of each its units and what it is bought as. */
const tiers = fc.array(fc.record({ units: fc.integer({ min: 0, max: 10 }), pricing: fc.constantFrom(...PRICINGS) }), {
  minLength: 1,
  maxLength: 4,
});
interface Bought {
  readonly units: number;
  readonly pricing: Pricing | undefined;
}

function factsOf(bought: readonly Bought[], workloads: readonly Workload[]): Facts {
  const units = bought.map((each) => ({ v4: each.units }));
  const rules = bought.map((each) => (each.pricing === undefined ? {} : { pricing: each.pricing }));
  return {
    config: {
      kind: 'limited',
      tiers: units,
      projects: [project('none', units)],
      rules: { ...DEFAULT_RULES, tiers: rules },
    },
    requests: [],
    leases: workloads.flatMap(({ lease: own }) => (own === undefined ? [] : [own])),
    memory: NO_MEMORY,
  };
}

const shapes = new ShapeTable({ kind: 'limited', tiers: [{ v4: 1000 }], projects: [] }, []);
const workloadOf = (id: string, { v4, priority, tier, pricing: named }: Drawn, startedAt: number): Workload => {
  const more = named === undefined ? {} : { pricing: named };
  return {
    id,
    priority,
    startedAt,
    tier,
    shape: shapes.of({ units: { v4 }, ...more }),
    lease: lease(id, { v4 }, { priority, startedAt, tier, ...more }),
  };
};
const namesOf = (all: readonly Workload[]): readonly string[] => all.map(({ id }) => id).toSorted();

const nominalOf = (bought: readonly Bought[]): Nominal =>
  new Nominal(
    bought.map(({ units }) => [units]),
    bought.map((each) => each.pricing),
  );

describe('quota: what counts against a nominal quota (rule 3)', () => {
  it('is what some split over tiers can hold, by the oracle that tries each set of tiers', () => {
    let [within, borrowed] = [0, 0];
    fc.assert(
      fc.property(tiers, drawn, (bought, all) => {
        const workloads = all.map((each, index) => workloadOf(`l${index}`, each, index % 5));
        const quota = new ProjectQuota(nominalOf(bought), workloads);
        const on = onNominal(factsOf(bought, workloads), 'none');
        const got = namesOf(quota.usage().borrowing);
        assert.deepEqual(got, namesOf(workloads.filter(({ id }) => !on.has(id))));
        within += on.size;
        borrowed += got.length;
      }),
      { numRuns: RUNS },
    );
    assert.ok(within > RUNS && borrowed > RUNS, `${within} within, ${borrowed} borrowed`);
  });

  it('is the same brought up to date by each grant and each victim as counted anew', () => {
    let [borrowed, dropped] = [0, 0];
    fc.assert(
      fc.property(tiers, drawn, drawn, (bought, before, after) => {
        const nominal = nominalOf(bought);
        let all = before.map((each, index) => workloadOf(`l${index}`, each, index % 5));
        const quota = new ProjectQuota(nominal, all);
        after.forEach((each, index) => {
          const asked = workloadOf(`r${String(index).padStart(2, '0')}`, each, NOW);
          const anew = new ProjectQuota(nominal, all);
          assert.equal(quota.fits(asked.shape, each.priority), anew.fits(asked.shape, each.priority));
          for (const tier of bought.keys()) {
            assert.deepEqual(quota.usedBefore(each.priority, tier), anew.usedBefore(each.priority, tier));
          }
          if (!anew.fits(asked.shape, each.priority)) borrowed += 1;
          quota.add(asked);
          all = [...all, asked];
          const counted = new ProjectQuota(nominal, all).usage();
          const gone = each.isDropped ? counted.borrowing[0] : undefined;
          if (gone !== undefined) {
            quota.remove(gone);
            all = all.filter((one) => one !== gone);
            dropped += 1;
          }
          const { used, usedIn, borrowedUnits, borrowing: present } = new ProjectQuota(nominal, all).usage();
          const now = quota.usage();
          assert.deepEqual([now.used, now.usedIn, now.borrowedUnits], [used, usedIn, borrowedUnits]);
          const known = new Set(namesOf(all));
          assert.deepEqual(namesOf(now.borrowing.filter(({ id }) => known.has(id))), namesOf(present));
        });
      }),
      { numRuns: RUNS },
    );
    assert.ok(borrowed > RUNS / 2 && dropped > RUNS / 2, `${borrowed} were borrowed, ${dropped} dropped`);
  });
});
