import { capacityOf } from '../../../quota/published-state.js';
import { type ContextFlags, resolveContext } from '../context.js';
import { ExitCode } from '../exit-codes.js';
import type { OutputFlag } from '../options.js';
import { printOut } from '../print.js';
import { publishedPool } from '../quota/published-pool.js';
import { renderCapacity } from '../render/capacity.js';
import { terminalWidth } from '../render/columns.js';

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
