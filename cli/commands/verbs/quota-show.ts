import { chipsOfUnits } from '../../../domain/accelerators.js';
import { chipHolders } from '../../../quota/chip-holders.js';
import { poolAccounts, type PoolAccounts } from '../../../quota/pool-accounts.js';
import type { PoolSnapshot } from '../../../quota/published-state.js';
import { type CliContext, type ContextFlags, resolveContext } from '../../place/context.js';
import { ExitCode } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import { publishedPool } from '../quota/published-pool.js';
import { holderLines } from '../../terminal/render/chip-holders.js';
import { lookOf } from '../../terminal/render/look.js';
import { leasesByState, renderPool } from '../../terminal/render/quota-show.js';
import { printPainted } from '../../terminal/print.js';

export interface QuotaShowFlags extends ContextFlags, OutputFlag {
  readonly pool: string;
  /** Also shows every job with a lease. */
  readonly jobs?: true;
}

/** Reads one object of the bucket: needs neither Temporal nor a worker, and disturbs no workflow. */
export async function quotaShow(flags: QuotaShowFlags): Promise<number> {
  const context: CliContext = resolveContext(flags);
  const state = await publishedPool(context, flags.pool);
  const accounts = poolAccounts(state.view);
  const now = Date.now();
  const look = lookOf(process.stdout, process.env);
  const holders = flags.jobs === true ? chipHolders(state.view) : undefined;
  const text =
    flags.output === 'json'
      ? JSON.stringify({ ...asJson(state, accounts, now), ...(holders && { holders }) }, null, 2)
      : [...renderPool(state, accounts, now, look), ...(holders ? ['', ...holderLines(holders, now, look)] : [])].join(
          '\n',
        );
  printPainted(`${text}\n`);
  return ExitCode.Done;
}

/** The JSON form, in quota units; `chipsPerUnit` converts them to chips. */
function asJson(state: PoolSnapshot, { tiers, projects, idle }: PoolAccounts, now: number): object {
  const { view, unstored: _, ...head } = state;
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
