import { jobOfLeaseKey } from '../../../domain/lease.js';
import { decide } from '../../../quota/decide.js';
import { canEverFit } from '../../../quota/submission.js';
import { poolAccounts } from '../../../quota/pool-accounts.js';
import type { PoolSnapshot } from '../../../quota/published-state.js';
import type { Demand } from '../../../domain/lease.js';
import type { QuotaConfig } from '../../../quota/quota-config.js';

/** A job that a new file moves. */
export interface MovedJob extends Pick<Demand, 'project' | 'user' | 'units'> {
  readonly job: string;
  /** Of a preemption: the job that its chips are for. */
  readonly for?: string;
}

/** What a pool would do at once under another configuration, as it was published last. */
export interface ApplyEffect {
  readonly preempted: readonly MovedJob[];
  readonly starts: readonly MovedJob[];
  /** Waiting jobs that can never start under it. */
  readonly stranded: readonly MovedJob[];
  /** Where more is leased than there is: it drains as leases end, nobody is stopped for it. */
  readonly over: readonly { readonly tier: number; readonly type: string; readonly units: number }[];
}

/** At the time of the state: how long leases were held is known of then. */
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
