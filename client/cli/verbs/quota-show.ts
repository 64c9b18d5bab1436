import { chipsOfUnits } from '../../../domain/accelerators.js';
import { poolAccounts, type PoolAccounts } from '../../../quota/pool-accounts.js';
import type { PoolSnapshot } from '../../../quota/published-state.js';
import { type CliContext, type ContextFlags, resolveContext } from '../context.js';
import { ExitCode } from '../exit-codes.js';
import type { OutputFlag } from '../options.js';
import { publishedPool } from '../quota/published-pool.js';
import { lookOf } from '../render/look.js';
import { leasesByState, renderPool } from '../render/quota-show.js';

export interface QuotaShowFlags extends ContextFlags, OutputFlag {
  readonly pool: string;
}

/** Reads one object of the bucket: it needs neither Temporal nor a worker, and disturbs nobody. */
export async function quotaShow(flags: QuotaShowFlags): Promise<number> {
  const context: CliContext = resolveContext(flags);
  const state = await publishedPool(context, flags.pool);
  const accounts = poolAccounts(state.view);
  const now = Date.now();
  const text =
    flags.output === 'json'
      ? JSON.stringify(asJson(state, accounts, now), null, 2)
      : renderPool(state, accounts, now, lookOf(process.stdout, process.env)).join('\n');
  process.stdout.write(`${text}\n`);
  return ExitCode.Done;
}

/** Units as everywhere; `chipsPerUnit` makes chips of them. */
function asJson(state: PoolSnapshot, { tiers, projects, idle }: PoolAccounts, now: number): object {
  const { view, ...head } = state;
  const types = [...new Set([...tiers, ...projects].map(({ type }) => type))];
  return {
    ...head,
    ageMs: Math.max(0, now - state.at),
    isUnlimited: view.config.kind === 'unlimited',
    chipsPerUnit: Object.fromEntries(types.map((type) => [type, chipsOfUnits(type, 1) ?? null])),
    tiers,
    projects,
    idleProjects: idle,
    jobs: { waiting: view.requests.length, ...leasesByState(view.leases) },
    reservations: view.memory?.reservations ?? [],
    coolDowns: view.memory?.coolDowns ?? [],
  };
}
