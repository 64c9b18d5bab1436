import assert from 'node:assert/strict';
import fc from 'fast-check';
import { addUnits, isWithin } from '../../domain/units.js';
import type { QuotaUnits } from '../../domain/units.js';
import { decide, passOf } from '../../quota/decide.js';
import type { QuotaConfig, QuotaLease, QuotaProject, QuotaRequest } from '../../quota/quota-config.js';
import { nominalQuota } from '../../quota/nominal-quota.js';

/** More in .ci/long. */
const RUNS = Number(process.env['JOBCTL_PROPERTY_RUNS'] ?? 400);
const NOW = 1_000;

const units = fc
  .record({ v4: fc.integer({ min: 0, max: 8 }) }, { noNullPrototype: true })
  .chain((first) =>
    fc
      .option(fc.integer({ min: 1, max: 8 }), { nil: undefined })
      .map((v6e): QuotaUnits => (v6e === undefined ? first : { ...first, v6e })),
  );
const tier = fc.record(
  { v4: fc.integer({ min: 0, max: 24 }), v6e: fc.integer({ min: 0, max: 24 }) },
  { noNullPrototype: true },
);
const demand = {
  project: fc.constantFrom('a', 'a', 'b', 'none'),
  user: fc.constant('u'),
  priority: fc.integer({ min: 1, max: 5 }),
  submittedAt: fc.integer({ min: 0, max: 5 }),
  units,
};
const share = fc.integer({ min: 0, max: 10 }).map((tenths) => tenths / 10);

interface Scene {
  readonly config: QuotaConfig & { kind: 'limited' };
  readonly requests: readonly QuotaRequest[];
  readonly leases: readonly QuotaLease[];
}

/** Ids are counters: no dimension for fuzzing. Leases may be more than the pool has, as after it was shrunk. */
const scene: fc.Arbitrary<Scene> = fc
  .record({
    tiers: fc.array(tier, { minLength: 1, maxLength: 2 }),
    shares: fc.tuple(share, share),
    requests: fc.array(fc.record(demand, { noNullPrototype: true }), { maxLength: 8 }),
    leases: fc.array(
      fc.record(
        { ...demand, tier: fc.integer({ min: 0, max: 1 }), startedAt: fc.integer({ min: 0, max: 9 }) },
        { noNullPrototype: true },
      ),
      { maxLength: 6 },
    ),
  })
  .map(({ tiers, shares: [a, b], requests, leases }) => ({
    config: { kind: 'limited', tiers, projects: projectsOf(tiers, { a, b }) },
    requests: requests.map((each, index) => ({ ...each, id: `r${index}` })),
    leases: leases.map((each, index) => ({ ...each, id: `l${index}`, tier: Math.min(each.tier, tiers.length - 1) })),
  }));

function projectsOf(tiers: readonly QuotaUnits[], shares: Record<string, number>): QuotaProject[] {
  const weights = new Map(Object.entries(shares));
  return Object.keys(shares).map((name) => ({
    name,
    shares: {},
    members: [],
    nominal: tiers.map((total) =>
      Object.fromEntries(Object.entries(total).map(([type, all]) => [type, nominalQuota(all, weights).get(name) ?? 0])),
    ),
  }));
}

const sum = (all: readonly { readonly units: QuotaUnits }[]): QuotaUnits =>
  all.map((each) => each.units).reduce(addUnits, {});

/**
 * Runs the property over many scenes until enough of them were more than trivial. How many are is chance: of 400 scenes 100 were
 * once, where more than 100 were wanted.
 * @returns the number of these
 */
function check(wanted: number, property: (scene: Scene) => boolean): number {
  let interesting = 0;
  for (let rounds = 0; rounds < 5 && interesting <= wanted; rounds++)
    fc.assert(
      fc.property(scene, (drawn) => {
        if (property(drawn)) interesting += 1;
      }),
      { numRuns: RUNS },
    );
  return interesting;
}

/** What must not happen is in test/quota/properties. */
describe('quota: decide, liveness', () => {
  it('nobody waits who would fit into what is left, where no in-quota demand waits for those chips', () => {
    const interesting = check(RUNS / 4, ({ config, requests, leases }) => {
      const { grants } = decide({ config, requests, leases }, NOW);
      const waiting = requests.filter(({ id }) => !grants.some((grant) => grant.id === id));
      const pass = passOf({ config, requests, leases }, NOW);
      if (waiting.some(({ id }) => pass.verdictOf(id)?.isInQuota === true)) return false;
      for (const each of waiting) {
        config.tiers.forEach((total, index) => {
          const granted = grants.filter((grant) => grant.tier === index).map(({ id }) => find(requests, id));
          const with_ = sum([...leases.filter((one) => one.tier === index), ...granted, each]);
          assert.ok(!isWithin(pick(with_, each.units), total), `${each.id} fits into tier ${index}`);
        });
      }
      return waiting.length > 0 && grants.length > 0;
    });
    assert.ok(interesting > RUNS / 4, `${interesting} runs in which some waited`);
  });

  it('a job alone in an empty pool that can hold it starts', () => {
    const interesting = check(RUNS / 2, ({ config, requests }) => {
      const [only] = requests;
      if (only === undefined || !config.tiers.some((total) => isWithin(only.units, total))) return false;
      assert.equal(decide({ config, requests: [only], leases: [] }, NOW).grants.length, 1);
      return true;
    });
    assert.ok(interesting > RUNS / 2, `${interesting} runs with a job that fits`);
  });

  it('a request that lies on nominal quota is not displaced by best effort', () => {
    const interesting = check(RUNS / 50, ({ config, requests }) => {
      const own = requests.filter(({ project }) => project !== 'none');
      const guests = requests.filter(({ project }) => project === 'none').map((each) => ({ ...each, priority: 1 }));
      const alone = decide({ config, requests: own, leases: [] }, NOW).grants;
      const [first] = own.toSorted(
        (a, b) => a.priority - b.priority || a.submittedAt - b.submittedAt || (a.id < b.id ? -1 : 1),
      );
      const nominal = config.projects.find(({ name }) => name === first?.project)?.nominal[0];
      if (first === undefined || nominal === undefined || !isWithin(first.units, nominal) || guests.length === 0)
        return false;
      // Over several tiers another project's demand within its own sum may take the room (ADR 0126, "crowded out"): no best effort.
      const beside = config.tiers.length === 1 ? own : own.filter(({ project }) => project === first.project);
      const grants = decide({ config, requests: [...beside, ...guests], leases: [] }, NOW).grants;
      assert.ok(
        grants.some(({ id }) => id === first.id),
        JSON.stringify({ alone, grants }),
      );
      return true;
    });
    assert.ok(interesting > RUNS / 50, `${interesting} runs with in-quota demand beside guests`);
  });
});

describe('quota: nominal quota', () => {
  const shares = fc.array(
    fc.integer({ min: 0, max: 90 }).map((hundredths) => hundredths / 100),
    { minLength: 1, maxLength: 6 },
  );

  it('whole units never add up to more than there is, and each is within one of its exact share', () => {
    let scaled = 0;
    fc.assert(
      fc.property(fc.nat({ max: 5000 }), shares, (total, list) => {
        const weights = new Map(list.map((value, index) => [`p${index}`, value]));
        const result = nominalQuota(total, weights);
        const added = [...result.values()].reduce((a, b) => a + b, 0);
        assert.ok(added <= total, `${added} of ${total}`);
        const weight = list.reduce((a, b) => a + b, 0);
        if (weight > 1) scaled += 1;
        for (const [name, value] of weights) {
          const exact = (total * value) / Math.max(1, weight);
          assert.ok(Math.abs((result.get(name) ?? 0) - exact) < 1 + 1e-6, `${name}: ${result.get(name)} for ${exact}`);
        }
      }),
      { numRuns: RUNS },
    );
    assert.ok(scaled > RUNS / 4 && scaled < RUNS, `${scaled} runs were scaled down`);
  });
});

function find(requests: readonly QuotaRequest[], id: string): QuotaRequest {
  const found = requests.find((each) => each.id === id);
  assert.ok(found, `${id} was not asked for`);
  return found;
}

/** `all` in the types that `asked` names: a type that was overfull before is no fault of a grant of another. */
function pick(all: QuotaUnits, asked: QuotaUnits): QuotaUnits {
  return Object.fromEntries(Object.entries(all).filter(([type]) => (asked[type] ?? 0) > 0));
}
