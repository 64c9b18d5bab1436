import { capacityOf } from '../../../quota/published-state.js';
import { type ContextFlags, resolveContext } from '../../place/context.js';
import { ExitCode } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import { printOut } from '../../terminal/print.js';
import { publishedPool } from '../quota/published-pool.js';
import { renderCapacity } from '../../terminal/render/capacity.js';
import { terminalWidth } from '../../terminal/render/columns.js';

export interface CapacityFlags extends ContextFlags, OutputFlag {
  readonly pool: string;
}

/** Reads one object of the bucket: it needs neither Temporal nor a worker. */
export async function capacity(flags: CapacityFlags): Promise<number> {
  const state = await publishedPool(resolveContext(flags), flags.pool);
  const now = Date.now();
  const text =
    flags.output === 'json'
      ? JSON.stringify({ ...capacityOf(state), ageMs: Math.max(0, now - state.at) }, null, 2)
      : renderCapacity(state, now, terminalWidth(process.stdout)).join('\n');
  printOut(`${text}\n`);
  return ExitCode.Done;
}
