import { jobOfLeaseKey } from '../../../domain/lease.js';
import { decide } from '../../../quota/decide.js';
import { canEverFit } from '../../../quota/submission.js';
import { poolAccounts } from '../../../quota/pool-accounts.js';
import type { PoolSnapshot } from '../../../quota/published-state.js';
import type { Demand } from '../../../domain/lease.js';
import type { QuotaConfig } from '../../../quota/quota-config.js';

/** A job that a new file affects. */
export interface MovedJob extends Pick<Demand, 'project' | 'user' | 'units'> {
  readonly job: string;
  /** For a preemption: the job that gets its chips. */
  readonly for?: string;
}

/** Immediate effects of another configuration on a pool, as it was last published. */
export interface ApplyEffect {
  readonly preempted: readonly MovedJob[];
  readonly starts: readonly MovedJob[];
  /** Waiting jobs that can never start under it. */
  readonly stranded: readonly MovedJob[];
  /** Tiers with more units leased than exist: they drain as leases end, and no job is stopped for it. */
  readonly over: readonly { readonly tier: number; readonly type: string; readonly units: number }[];
}

/** Computes the effect at the time of the state, because the ages of leases are known for that time. */
export function applyEffect({ view, at }: PoolSnapshot, config: QuotaConfig): ApplyEffect {
  const after = { ...view, config };
  const { grants, preemptions } = decide(after, at);
  const demands = new Map([...view.requests, ...view.leases].map((each) => [each.id, each]));
  const moved = (id: string): MovedJob[] => {
    const demand = demands.get(id);
    return demand === undefined ? [] : [jobOf(demand)];
  };
  return {
    preempted: preemptions.flatMap((preemption) =>
      moved(preemption.id).map((job) => ({ ...job, for: jobOfLeaseKey(preemption.for) })),
    ),
    starts: grants.flatMap(({ id }) => moved(id)),
    stranded: view.requests.filter((request) => !canEverFit(config, request.units).fits).map(jobOf),
    over: poolAccounts(after).tiers.flatMap(({ tier, type, free }) => (free < 0 ? [{ tier, type, units: -free }] : [])),
  };
}

function jobOf({ id, project, user, units }: Demand & { readonly id: string }): MovedJob {
  return { job: jobOfLeaseKey(id), project, user, units };
}
