import fc from 'fast-check';
import { leaseKey } from '../../../domain/lease.js';
import type { Pricing } from '../../../domain/slice.js';
import type { QuotaUnits } from '../../../domain/units.js';
import { DEFAULT_RULES, NO_MEMORY } from '../../../quota/quota-config.js';
import type {
  CoolDown,
  LeaseState,
  PoolRules,
  QuotaLease,
  QuotaMemory,
  QuotaRequest,
} from '../../../quota/quota-config.js';
import type { Facts } from './oracle.js';

/** A time at which everything before has happened: all times are less. In ms, as everything here. */
export const NOW = 1_000;
/** Small enough that drawn times lie on both sides. */
export const RULES: PoolRules = {
  ...DEFAULT_RULES,
  minRuntimeMs: 300,
  agingMs: 400,
  maxGuaranteeDelayMs: 300,
  askingTimeoutMs: 200,
  coolDownMs: 100,
  coolDownMaxMs: 800,
};

const idOf = (job: string): string => leaseKey({ pool: '', job, run: 'r', number: 1 });
/** Waited once, and is cancelled by now. */
const GONE = idOf('gone');
const amount = fc.constantFrom(1, 2, 2, 4, 4, 6, 8, 12);
const units: fc.Arbitrary<QuotaUnits> = fc.oneof(
  { weight: 5, arbitrary: amount.map((v4) => ({ v4 })) },
  { weight: 1, arbitrary: amount.map((v6e) => ({ v6e })) },
  { weight: 1, arbitrary: fc.tuple(amount, amount).map(([v4, v6e]) => ({ v4, v6e })) },
);
const time = fc.integer({ min: 0, max: NOW - 1 });
const pricing: fc.Arbitrary<Pricing | undefined> = fc.constantFrom(undefined, undefined, 'spot', 'ondemand');
const ZONES = ['z1', 'z2'];
const zones: fc.Arbitrary<readonly string[] | undefined> = fc.constantFrom(undefined, ['z1'], ['z2'], ZONES);
const demand = {
  project: fc.constantFrom('a', 'a', 'b', 'b', 'c', 'none'),
  user: fc.constantFrom('u', 'v'),
  priority: fc.integer({ min: 1, max: 5 }),
  submittedAt: time,
  units,
};

export interface SceneOptions {
  readonly requests: number;
  readonly leases?: number;
  readonly rules?: PoolRules;
  readonly states?: readonly LeaseState[];
  readonly tiers?: number;
  readonly withLimits?: boolean;
  readonly withCoolDowns?: boolean;
  readonly withReservations?: boolean;
}

const STATES: readonly LeaseState[] = ['held', 'held', 'held', 'asking', 'draining', 'parked'];

/** A pool in any state that it could be in, and many that it could not: more leased than there is, say. */
export function scene(options: SceneOptions): fc.Arbitrary<Facts> {
  const { rules = RULES, states = STATES, tiers = 3 } = options;
  // Who names no zones never cools down.
  const asked = options.withCoolDowns ? zones : fc.constant(undefined);
  const request = fc.record(
    { ...demand, pricing, zones: asked, waitingSince: fc.option(time, { nil: undefined }) },
    { noNullPrototype: true },
  );
  const lease = fc.record(
    {
      ...demand,
      zone: fc.constantFrom(undefined, ...ZONES),
      tier: fc.integer({ min: 0, max: tiers - 1 }),
      startedAt: time,
      state: fc.constantFrom(...states),
      heldShare: fc.double({ min: 0, max: 1, noNaN: true }),
      isFromReservation: fc.constantFrom(undefined, undefined, true as const),
    },
    { noNullPrototype: true },
  );
  return fc
    .record({
      tiers: fc.array(tierUnits, { minLength: 1, maxLength: tiers }),
      pricings: fc.tuple(pricing, pricing, pricing),
      shares: fc.tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 2 })),
      requests: fc.array(request, { minLength: 1, maxLength: options.requests }),
      leases: fc.array(lease, { maxLength: options.leases ?? 7 }),
      limits: fc.record({ borrowing: limits, lending: limits }),
      coolDowns: fc.uniqueArray(coolDown, {
        maxLength: 4,
        selector: ({ type, tier, zone }) => `${type} ${tier} ${zone}`,
      }),
      reserved: fc.tuple(fc.nat({ max: 20 }), fc.nat({ max: 2 }), fc.integer({ min: 500, max: NOW - 1 })),
    })
    .map((drawn): Facts => {
      const requests = drawn.requests.map((each, index) => named<QuotaRequest>(each, idOf(`r${index}`)));
      const drawnTiers = drawn.pricings.slice(0, drawn.tiers.length).map((each) => (each ? { pricing: each } : {}));
      return {
        config: {
          kind: 'limited',
          tiers: drawn.tiers,
          projects: ['a', 'b', 'c'].map((name, index) => ({
            name: name === 'c' ? 'C' : name,
            shares: {},
            members: [],
            nominal: drawn.tiers.map((total) => tenths(total, drawn.shares[index] ?? 0)),
          })),
          rules: {
            ...rules,
            tiers: drawnTiers,
            ...(options.withLimits && { borrowingLimits: drawn.limits.borrowing, lendingLimits: drawn.limits.lending }),
          },
        },
        requests,
        leases: drawn.leases.map(({ heldShare, ...each }, index) => {
          const heldMs = Math.floor(heldShare * (NOW - each.startedAt));
          return named<QuotaLease>({ ...each, heldMs }, idOf(`l${index}`));
        }),
        memory: memoryOf(options, requests, drawn),
      };
    });
}

const tierUnits = fc.record(
  { v4: fc.constantFrom(8, 16, 16, 24, 32), v6e: fc.constantFrom(0, 8, 16) },
  { noNullPrototype: true },
);
const limits = fc.dictionary(
  fc.constantFrom('a', 'b', 'c', 'none'),
  fc.record({ v4: fc.integer({ min: 0, max: 12 }) }, { noNullPrototype: true }),
  { maxKeys: 3, noNullPrototype: true },
);
const coolDown: fc.Arbitrary<CoolDown> = fc.record(
  {
    type: fc.constantFrom('v4', 'v6e'),
    tier: fc.nat({ max: 2 }),
    zone: fc.constantFrom(...ZONES),
    failures: fc.integer({ min: 1, max: 4 }),
    until: fc.integer({ min: NOW - 200, max: NOW + 400 }),
  },
  { noNullPrototype: true },
);

function memoryOf(
  options: SceneOptions,
  requests: readonly QuotaRequest[],
  drawn: { readonly coolDowns: readonly CoolDown[]; readonly reserved: readonly [number, number, number] },
): QuotaMemory {
  const [index, tier, madeAt] = drawn.reserved;
  const request = requests[index];
  return {
    ...NO_MEMORY,
    ...(options.withCoolDowns && { coolDowns: drawn.coolDowns }),
    ...(options.withReservations &&
      request && {
        reservations: [
          { id: request.id, tier, madeAt },
          { id: GONE, tier, madeAt },
        ],
        dissolved: { [GONE]: madeAt },
        heldBack: { [GONE]: { ms: 1, since: madeAt } },
        winners: [GONE],
      }),
  };
}

/** Shares add up to 1 at most: 0.4 + 0.4 + 0.2. */
const tenths = (total: QuotaUnits, share: number): QuotaUnits =>
  Object.fromEntries(Object.entries(total).map(([type, all]) => [type, Math.floor((all * share) / 10)]));

/** Ids are counters: no dimension for fuzzing. Keys without a value are left out, as in JSON. */
function named<Item extends { readonly id: string }>(drawn: object, id: string): Item {
  return JSON.parse(JSON.stringify({ ...drawn, id })) as Item;
}
