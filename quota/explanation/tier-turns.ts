import { jobOfLeaseKey } from '../../domain/lease.js';
import type { Pricing } from '../../domain/slice.js';
import type { EpochMs } from '../../domain/units.js';
import { coolsDownUntil, runningCoolDowns } from '../decision/cool-downs.js';
import { tiersFor } from '../decision/shapes.js';
import type { PoolSnapshot } from '../published-state.js';
import { askedAt, askingEndsAt, DEFAULT_RULES, NO_MEMORY, type QuotaLease, tierOf } from '../quota-config.js';
import type { CapacityRow } from '../seen-capacity.js';

/** A job that asks in one tier and may be served in others (docs/adr/0114). Tiers count from 0, the best. */
export interface TierTurns {
  readonly tier: number;
  /** Pricing of the tier. Absent: the job's own. */
  readonly pricing?: Pricing;
  readonly since: EpochMs;
  readonly others: readonly OtherTier[];
}

export interface OtherTier {
  readonly tier: number;
  readonly pricing?: Pricing;
  /** The tier cools down: it gave no chips in any of the job's zones. */
  readonly isCooling: boolean;
  /** Time at which the job asks in this tier, if its present tier has given nothing by then and this tier has room. */
  readonly at: EpochMs;
  /** The job asks here sooner if each zone has refused it in its present tier. Absent: it does not. */
  readonly orOnceRefused?: true;
  /** Last refusals of the job's type with this tier's pricing by zones of the job, latest first. */
  readonly answers: readonly { readonly zone: string; readonly at: EpochMs; readonly text: string }[];
}

/** @returns undefined if the job does not ask, if only its present tier can serve it, or if the pool grants nothing */
export function tierTurns(
  { view: { config, leases, memory = NO_MEMORY }, at, admission, capacity = [] }: PoolSnapshot,
  job: string,
  accelerator: string,
): TierTurns | undefined {
  const lease = leases.find(({ id, state }) => state === 'asking' && jobOfLeaseKey(id) === job);
  if (config.kind === 'unlimited' || lease === undefined || admission !== 'open') return undefined;
  const { rules = DEFAULT_RULES } = config;
  const pricingOf = (tier: number) => rules.tiers[tier]?.pricing;
  const own = tierOf(lease, config.tiers.length);
  const coolDowns = runningCoolDowns(memory, at);
  const hasAnswer = lease.everywhere === 'refused';
  const turn = hasAnswer ? at : askingEndsAt(lease, rules);
  const others = tiersFor(config, lease).flatMap((tier): OtherTier[] => {
    if (tier === own) return [];
    const coolsUntil = coolsDownUntil(coolDowns, lease, tier);
    const pricing = pricingOf(tier);
    return [
      {
        tier,
        ...(pricing !== undefined && { pricing }),
        isCooling: coolsUntil !== undefined,
        at: Math.max(turn, coolsUntil ?? 0),
        ...(!hasAnswer && turn > (coolsUntil ?? 0) && { orOnceRefused: true }),
        answers: answersOf(capacity, { accelerator, pricing, zones: lease.zones ?? [] }),
      },
    ];
  });
  if (others.length === 0) return undefined;
  const pricing = pricingOf(own);
  return { tier: own, ...(pricing !== undefined && { pricing }), since: askedAt(lease), others };
}

interface Asked {
  readonly accelerator: string;
  readonly pricing: Pricing | undefined;
  readonly zones: NonNullable<QuotaLease['zones']>;
}

function answersOf(rows: readonly CapacityRow[], { accelerator, pricing, zones }: Asked): OtherTier['answers'] {
  return rows
    .filter((row) => row.accelerator === accelerator && row.pricing === pricing && zones.includes(row.zone))
    .flatMap(({ zone, refusal, lastGot }) =>
      refusal === undefined || refusal.at < (lastGot?.at ?? 0) ? [] : [{ zone, at: refusal.at, text: refusal.text }],
    )
    .toSorted((a, b) => b.at - a.at);
}
