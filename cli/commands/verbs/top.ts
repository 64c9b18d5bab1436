import { count } from '../../../domain/units.js';
import { chipHolders, userShares } from '../../../quota/chip-holders.js';
import { type ContextFlags, resolveContext } from '../../place/context.js';
import { ExitCode } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import { publishedPool } from '../quota/published-pool.js';
import { holderLines, shareLines } from '../../terminal/render/chip-holders.js';
import { lookOf } from '../../terminal/render/look.js';
import { formatDuration } from '../../terminal/render/quantities.js';
import { printOut } from '../../terminal/print.js';

export interface TopFlags extends ContextFlags, OutputFlag {
  readonly pool: string;
  readonly limit: number;
}

/** Shows the holders of a pool's chips, as last published: one read of the bucket, and no workflow is asked. */
export async function top(flags: TopFlags): Promise<number> {
  const { pool, at, view } = await publishedPool(resolveContext(flags), flags.pool);
  const [holders, users] = [chipHolders(view), userShares(view)];
  const now = Date.now();
  const look = lookOf(process.stdout, process.env);
  const chips = holders.reduce((sum, each) => sum + (each.chips ?? 0), 0);
  const head = `pool ${pool}: ${count(chips, 'chip')} with ${count(holders.length, 'job')}, ${count(view.requests.length, 'job')} waiting, as of ${formatDuration(now - at)} ago`;
  const text =
    flags.output === 'json'
      ? JSON.stringify({ pool, at, ageMs: Math.max(0, now - at), users, jobs: holders }, null, 2)
      : [
          head,
          ...(users.length === 0 ? [] : ['', ...shareLines(users, look)]),
          '',
          ...holderLines(holders, now, look, flags.limit),
        ].join('\n');
  printOut(`${text}\n`);
  return ExitCode.Done;
}
