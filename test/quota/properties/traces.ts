import fc from 'fast-check';
import type { Pricing } from '../../../domain/slice.js';
import type { EpochMs } from '../../../domain/units.js';
import { decide } from '../../../quota/decide.js';
import { DEFAULT_RULES } from '../../../quota/quota-config.js';
import type { LimitedQuota, PoolRules } from '../../../quota/quota-config.js';
import { Simulation } from '../simulation.js';
import type { Ask, Instant, SimulatedJob, World } from '../simulation.js';
import type { Facts } from './oracle.js';
import { promisedTiers } from './order.js';
import { coolsDown, count, typesOf } from './oracle.js';

export const MINUTE = 60_000;
/** The hour begins before anybody: ages are never counted from 0. */
export const START = 1_000 * MINUTE;
const DEAD_ZONE = 'dead';

export const RULES: PoolRules = {
  ...DEFAULT_RULES,
  minRuntimeMs: 10 * MINUTE,
  agingMs: 30 * MINUTE,
  maxGuaranteeDelayMs: 20 * MINUTE,
  askingTimeoutMs: 15 * MINUTE,
  coolDownMs: 15 * MINUTE,
  coolDownMaxMs: 60 * MINUTE,
};

type Blow = 'cancel' | 'pause' | 'take';

/** A pool, those who come, and what happens to them. */
export interface Trace {
  readonly config: LimitedQuota & { readonly rules: PoolRules };
  readonly world: { readonly graceMs: number; readonly drainMs: number; readonly chipsMs: number };
  readonly jobs: readonly SimulatedJob[];
  readonly blows: readonly {
    readonly kind: Blow;
    readonly job: string;
    readonly at: EpochMs;
    readonly forMs: number;
  }[];
}

export interface TraceOptions {
  readonly jobs?: number;
  /** Absent: they end after a while. */
  readonly isEndless?: boolean;
  readonly withBlows?: boolean;
  readonly withDeadZone?: boolean;
}

const pricing = fc.constantFrom<(Pricing | undefined)[]>(undefined, undefined, undefined, 'spot', 'reserved');
/** What tiers are bought as: seldom anything, so that most gangs may go anywhere. */
const pricings = fc.oneof(
  { weight: 2, arbitrary: fc.constant([]) },
  {
    weight: 1,
    arbitrary: fc.array(fc.constantFrom<(Pricing | undefined)[]>(undefined, 'spot', 'reserved'), { maxLength: 3 }),
  },
);

const minutes = (min: number, max: number): fc.Arbitrary<number> =>
  fc.integer({ min, max }).map((each) => each * MINUTE);

export function trace({ jobs = 14, isEndless, withBlows, withDeadZone }: TraceOptions): fc.Arbitrary<Trace> {
  const zones = withDeadZone
    ? fc.constantFrom([DEAD_ZONE], ['z', DEAD_ZONE], [DEAD_ZONE, 'z'], ['z'])
    : fc.constant(['z']);
  const job = fc.record({
    project: fc.constantFrom('a', 'a', 'b', 'b', 'c', 'none'),
    user: fc.constantFrom('u', 'v'),
    priority: fc.integer({ min: 1, max: 5 }),
    submitAt: minutes(0, isEndless ? 20 : 150),
    units: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(2, 2, 4, 4, 8, 12, 16).map((v4) => ({ v4 })) },
      { weight: 1, arbitrary: fc.constantFrom(2, 4).map((v6e) => ({ v4: 4, v6e })) },
    ),
    workMs: minutes(1, 90),
    zones,
    pricing,
  });
  const drawn = fc.record({
    tiers: fc.array(fc.constantFrom(16, 16, 24), { minLength: 1, maxLength: 3 }),
    pricings,
    shares: fc.tuple(fc.constantFrom(0, 4, 5, 8), fc.constantFrom(0, 4, 8), fc.constantFrom(0, 2)),
    world: fc.record({ graceMs: minutes(0, 5), drainMs: minutes(0, 5), chipsMs: minutes(0, 6) }),
    jobs: fc.array(job, { minLength: 2, maxLength: jobs }),
    blows: blowsOn(jobs, withBlows ? 8 : 0),
  });
  return drawn.map((each) => traceOf(each, isEndless === true));
}

/** Gangs of best effort, so many that one reservation follows the other, and small demand in quota beside them. */
export function rowOfGangs(): fc.Arbitrary<Trace> {
  const [mostGangs, mostSmall] = [14, 14];
  const dull = {
    user: fc.constantFrom('u', 'v'),
    priority: fc.integer({ min: 1, max: 5 }),
    zones: fc.constant(['z']),
    pricing,
  };
  const gang = fc.record({
    ...dull,
    project: fc.constantFrom('none', 'c', 'a', 'b'),
    submitAt: minutes(0, 90),
    units: fc.constantFrom(8, 10, 12, 12, 14, 16).map((v4) => ({ v4 })),
    workMs: minutes(1, 40),
  });
  const small = fc.record({
    ...dull,
    project: fc.constantFrom('a', 'b'),
    submitAt: minutes(20, 240),
    units: fc.constantFrom(1, 2, 3, 4, 4, 6).map((v4) => ({ v4 })),
    workMs: minutes(1, 60),
  });
  return fc
    .record({
      tiers: fc.array(fc.constantFrom(16, 16, 24), { minLength: 1, maxLength: 3 }),
      pricings,
      shares: fc.tuple(fc.constantFrom(3, 4, 5, 8), fc.constantFrom(2, 4, 8), fc.constant(0)),
      world: fc.record({ graceMs: minutes(0, 5), drainMs: minutes(0, 5), chipsMs: minutes(0, 15) }),
      gangs: fc.array(gang, { minLength: 3, maxLength: mostGangs }),
      small: fc.array(small, { minLength: 2, maxLength: mostSmall }),
      blows: blowsOn(mostGangs + mostSmall, 6),
    })
    .map((drawn) => traceOf({ ...drawn, jobs: [...drawn.gangs, ...drawn.small] }, false));
}

interface DrawnBlow {
  readonly kind: Blow;
  readonly job: number;
  readonly at: number;
  readonly forMs: number;
}

/** @param jobs numbers of jobs are drawn below this; one that the trace has not is nobody's */
const blowsOn = (jobs: number, most: number): fc.Arbitrary<DrawnBlow[]> =>
  fc.array(
    fc.record({
      kind: fc.constantFrom<Blow[]>('cancel', 'pause', 'take', 'take'),
      job: fc.nat({ max: jobs - 1 }),
      at: minutes(0, 240),
      forMs: minutes(1, 60),
    }),
    { maxLength: most },
  );

/** Times since START, jobs by their number. */
interface Drawn {
  readonly tiers: readonly number[];
  readonly pricings: readonly (Pricing | undefined)[];
  readonly shares: readonly number[];
  readonly world: Trace['world'];
  readonly jobs: readonly (Omit<SimulatedJob, 'id' | 'pricing'> & { readonly pricing: Pricing | undefined })[];
  readonly blows: readonly DrawnBlow[];
}

function traceOf(drawn: Drawn, isEndless: boolean): Trace {
  const tiers = drawn.tiers.map((v4) => ({ v4, v6e: 8 }));
  return {
    config: { kind: 'limited', tiers, projects: projectsOf(tiers, drawn.shares), rules: rulesOf(drawn.pricings) },
    world: drawn.world,
    jobs: drawn.jobs.map(({ workMs, submitAt, pricing: named, ...each }, index) => ({
      ...each,
      ...(named !== undefined && { pricing: named }),
      id: `j${index}`,
      submitAt: START + submitAt,
      ...(!isEndless && { workMs }),
    })),
    blows: drawn.blows.map((each) => ({ ...each, job: `j${each.job}`, at: START + each.at })),
  };
}

const rulesOf = (bought: Drawn['pricings']): PoolRules => ({
  ...RULES,
  tiers: bought.map((each) => (each === undefined ? {} : { pricing: each })),
});

/** In 16 of the pool: 8 + 8 + 0 at most. */
function projectsOf(tiers: LimitedQuota['tiers'], shares: readonly number[]): LimitedQuota['projects'] {
  return ['a', 'b', 'C'].map((name, index) => ({
    name,
    shares: {},
    members: [],
    nominal: tiers.map((tier) =>
      Object.fromEntries(
        Object.entries(tier).map(([type, all]) => [type, Math.floor((all * (shares[index] ?? 0)) / 16)]),
      ),
    ),
  }));
}

export const isDead = (zone: string | undefined): boolean => zone === DEAD_ZONE;

/** The trace about to begin, under `decide`. */
export function simulationOf({ config, world, jobs, blows }: Trace): Simulation {
  const { graceMs, drainMs, chipsMs } = world;
  const chipsAfterMs = ({ zone }: Ask): number | undefined => (zone === DEAD_ZONE ? undefined : chipsMs);
  const manners: World = { graceMs, drainMs, chipsAfterMs, graceOf: ({ id }) => (id.length % 2) * graceMs };
  const simulation = new Simulation(decide, config, manners);
  for (const job of jobs) simulation.submit(job);
  for (const { kind, job, at, forMs } of blows) {
    if (kind === 'cancel') simulation.cancel(job, at);
    else if (kind === 'take') simulation.takeChips(job, at);
    else {
      simulation.pause(job, at);
      simulation.resume(job, at + forMs);
    }
  }
  return simulation;
}

/** Whether some place of the pool and every zone could give it its chips: a simulated lease asks in one zone and stays. */
export function canEverRun({ config }: Trace, { units, pricing: named, zones = [] }: SimulatedJob): boolean {
  const fits = config.tiers.some((tier, index) => {
    const bought = config.rules.tiers[index]?.pricing;
    const serves = bought === undefined || named === undefined || bought === named;
    return serves && typesOf(units).every((type) => count(units, type) <= count(tier, type));
  });
  return fits && zones.every((zone) => zone !== DEAD_ZONE);
}

export const factsOf = ({ pool }: Instant): Facts => pool as Facts;

/** The most that was leased at once of a tier and type, by the stays alone: from the grant until the slices were seen gone. */
export function mostLeased(simulation: Simulation, tier: number, type: string): bigint {
  const changes = simulation.stories().flatMap(({ job, stays }) =>
    stays
      .filter((stay) => stay.tier === tier)
      .flatMap(({ grantedAt, goneAt = Number.MAX_SAFE_INTEGER }) => [
        { at: grantedAt, units: count(job.units, type) },
        { at: goneAt, units: -count(job.units, type) },
      ]),
  );
  // What falls free at a time may be granted at that time.
  changes.sort((a, b) => a.at - b.at || (a.units < b.units ? -1 : a.units > b.units ? 1 : 0));
  let leased = 0n;
  let most = 0n;
  for (const { units } of changes) {
    leased += units;
    if (leased > most) most = leased;
  }
  return most;
}

/** Follows for how long each waiting request has lain on nominal quota without a break, cooling down nowhere. */
export class InQuotaClock {
  readonly #since = new Map<string, EpochMs>();
  longestMs = 0;
  longest = '';

  note(instant: Instant): void {
    const facts = factsOf(instant);
    const waits = new Set(facts.requests.map(({ id }) => id));
    for (const id of this.#since.keys()) if (!waits.has(id)) this.#since.delete(id);
    for (const request of facts.requests) {
      const own = promisedTiers(facts, request, instant.at);
      const isIn = own.length > 0 && !own.some((tier) => coolsDown(facts, request, tier, instant.at));
      if (!isIn || facts.isFrozen) this.#since.delete(request.id);
      else if (!this.#since.has(request.id)) this.#since.set(request.id, instant.at);
      const ms = instant.at - (this.#since.get(request.id) ?? instant.at);
      if (ms <= this.longestMs) continue;
      this.longestMs = ms;
      this.longest = `${request.id} at ${(instant.at - START) / MINUTE} min`;
    }
  }
}
