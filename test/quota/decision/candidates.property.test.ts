import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Candidates } from '../../../quota/decision/candidates.js';
import { ShapeTable } from '../../../quota/decision/shapes.js';
import { Nominal, ProjectQuota, type Workload } from '../../../quota/decision/project-quota.js';
import { DEFAULT_RULES } from '../../../quota/quota-config.js';
import type { LeaseState } from '../../../quota/quota-config.js';
import { lease } from '../builders.js';

/** More in .ci/long. */
const RUNS = Number(process.env['JOBCTL_PROPERTY_RUNS'] ?? 400);
const MINUTE = 60_000;
const NOW = 1_000 * MINUTE;
const table = new ShapeTable({ kind: 'limited', tiers: [{ v4: 1_000, v6e: 1_000 }], projects: [] }, []);
const unitsOf = (v4: number, v6e: number): Record<string, number> =>
  v6e === 0 ? { v4 } : v4 === 0 ? { v6e } : { v4, v6e };
const units = fc
  .tuple(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 3 }))
  .map(([v4, v6e]) => unitsOf(v4 === 0 && v6e === 0 ? 1 : v4, v6e));
const drawnLease = fc.record({
  of: fc.constantFrom(0, 1),
  units,
  priority: fc.integer({ min: 1, max: 3 }),
  age: fc.constantFrom(1, 5, 20, 60),
  state: fc.constantFrom<LeaseState>('held', 'held', 'asking', 'parked'),
});
const asked = fc.record({ of: fc.constantFrom(0, 1), units, priority: fc.integer({ min: 1, max: 3 }) });
const short = fc.tuple(fc.integer({ min: -2, max: 8 }), fc.integer({ min: -2, max: 4 }));

interface Scene {
  readonly nominal: readonly number[];
  readonly leases: readonly {
    of: number;
    units: Record<string, number>;
    priority: number;
    age: number;
    state: LeaseState;
  }[];
}
const scene: fc.Arbitrary<Scene> = fc.record({
  nominal: fc.tuple(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 6 })),
  leases: fc.array(drawnLease, { minLength: 2, maxLength: 9 }),
});

function workloadsOf({ leases }: Scene, project: number): Workload[] {
  return leases.flatMap(({ of, units: demand, priority, age, state }, index) => {
    if (of !== project) return [];
    const startedAt = NOW - age * MINUTE;
    const held = lease(`l${index}`, demand, { priority, startedAt, state });
    return [{ id: held.id, priority, startedAt, shape: table.of({ units: demand }), tier: 0, lease: held }];
  });
}

/** What a list would do that looks at every borrowed lease each time: rule 6, word by word. */
function expectedTargets(
  borrowed: readonly Workload[],
  own: readonly Workload[],
  types: readonly number[],
  lack: readonly number[],
): readonly Workload[] | undefined {
  const rank = ({ lease: of }: Workload): number => ['asking', 'parked', 'held'].indexOf(of?.state ?? 'held');
  const order = [...borrowed, ...own]
    .filter((each) => !isProtected(each))
    .toSorted(
      (a, b) => rank(a) - rank(b) || b.priority - a.priority || b.startedAt - a.startedAt || (a.id < b.id ? -1 : 1),
    );
  const has = ({ shape }: Workload, type: number): number => shape.amounts[shape.types.indexOf(type)] ?? 0;
  const isEnough = (targets: readonly Workload[]): boolean =>
    types.every((type, at) => targets.reduce((sum, each) => sum + has(each, type), 0) >= (lack[at] ?? 0));
  let targets: readonly Workload[] = [];
  for (const each of order) {
    const lacks = (type: number, at: number): boolean =>
      has(each, type) > 0 && targets.reduce((sum, one) => sum + has(one, type), 0) < (lack[at] ?? 0);
    if (types.some(lacks)) targets = [...targets, each];
    if (isEnough(targets)) break;
  }
  if (targets.length === 0 || !isEnough(targets)) return undefined;
  for (const each of targets.toReversed()) {
    const without = targets.filter((one) => one !== each);
    if (isEnough(without)) targets = without;
  }
  return targets;
}

const isProtected = ({ lease: of }: Workload): boolean =>
  of?.state === 'held' && NOW - of.startedAt < DEFAULT_RULES.minRuntimeMs;
const namesOf = (all: readonly Workload[] | undefined): readonly string[] | undefined => all?.map(({ id }) => id);
const leasesOf = (all: readonly Workload[]): Workload[] => all.filter(({ lease: of }) => of !== undefined);

describe('quota: rule 6, candidates and targets', () => {
  it('are those of the rule, also after grants and targets of the same pass', () => {
    const seen = { some: 0, several: 0, none: 0 };
    fc.assert(
      fc.property(scene, fc.array(fc.tuple(asked, short), { minLength: 2, maxLength: 8 }), (drawn, steps) => {
        const workloads = [workloadsOf(drawn, 0), workloadsOf(drawn, 1)];
        const quotas = workloads.map((each) => new ProjectQuota(new Nominal([drawn.nominal]), each));
        const candidates = new Candidates(quotas, 0, DEFAULT_RULES, NOW);
        steps.forEach(([{ of, units: demand, priority }, lack], index) => {
          const shape = table.of({ units: demand });
          const byType = shape.types.map((type) => lack[type] ?? 0);
          const own1 = quotas[of] as ProjectQuota;
          // Only in-quota requests have targets. Without a shortage they start, and what they push out becomes a candidate.
          if (!own1.fits(shape, priority)) return;
          const fresh = (): ProjectQuota[] =>
            workloads.map((each) => new ProjectQuota(new Nominal([drawn.nominal]), each));
          const hasShortage = byType.some((each) => each > 0);
          const others = leasesOf(fresh()[1 - of]?.usage().borrowing ?? []);
          const own = leasesOf(fresh()[of]?.usageWith(shape, priority).borrowing ?? []);
          const want = hasShortage ? expectedTargets(others, own, shape.types, byType) : [];
          const got = hasShortage ? candidates.targets(shape, priority, own1, byType) : [];
          assert.deepEqual(namesOf(got), namesOf(want));
          if (hasShortage) {
            seen[want === undefined ? 'none' : want.length > 1 ? 'several' : 'some'] += 1;
            const canLater = expectedLater([...others, ...own], shape.types, byType);
            assert.equal(candidates.isEnoughLater(shape, priority, own1, byType), canLater);
          }
          // As a pass does: the request counts first, and then its targets are told to go.
          const asking: Workload = { id: `r${index}`, priority, startedAt: NOW, shape, tier: 0 };
          own1.add(asking);
          workloads[of] = [...(workloads[of] ?? []), asking];
          if (own1.hasLeases) candidates.changed(own1);
          const borrowing = leasesOf(fresh().flatMap((quota) => quota.usage().borrowing));
          const isShort = ({ shape: { types } }: Workload): boolean =>
            shape.types.some((type, at) => types.includes(type) && (byType[at] ?? 0) > 0);
          const protectedNow = borrowing.filter((each) => isShort(each) && isProtected(each));
          assert.deepEqual(namesOf(candidates.protected(shape, byType))?.toSorted(), namesOf(protectedNow)?.toSorted());
          for (const target of got ?? []) {
            candidates.take(target);
            for (const project of [0, 1])
              workloads[project] = (workloads[project] ?? []).filter((each) => each !== target);
          }
        });
      }),
      { numRuns: RUNS * 4 },
    );
    for (const count of Object.values(seen)) assert.ok(count >= RUNS / 100, JSON.stringify(seen));
  });
});

/** Whether all borrowed leases together, protected ones too, would be enough. */
function expectedLater(borrowed: readonly Workload[], types: readonly number[], lack: readonly number[]): boolean {
  return types.every((type, at) => {
    const there = borrowed.reduce((sum, { shape }) => sum + (shape.amounts[shape.types.indexOf(type)] ?? 0), 0);
    return borrowed.length > 0 && there >= (lack[at] ?? 0);
  });
}
