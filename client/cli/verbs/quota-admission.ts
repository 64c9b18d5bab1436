import { userInfo } from 'node:os';
import type { Admission } from '../../pool-client.js';
import { ask, nothingChanged } from '../ask.js';
import { CliError } from '../cli-error.js';
import { withClient } from '../connect.js';
import { type CliContext, type ContextFlags, resolveContext } from '../context.js';
import { ExitCode } from '../exit-codes.js';
import type { OutputFlag } from '../options.js';
import { publishedPool } from '../quota/published-pool.js';
import { count } from '../render/job-header.js';

export interface QuotaAdmissionFlags extends ContextFlags, OutputFlag {
  readonly pool: string;
  readonly reason?: string;
  readonly user?: string;
  readonly yes?: true;
}

/** `quota freeze`, `drain`, `thaw`. Draining takes what runs, so it asks. */
export async function quotaAdmission(admission: Admission, flags: QuotaAdmissionFlags): Promise<number> {
  const { pool, reason, output } = flags;
  const context = resolveContext(flags);
  if (admission === 'draining' && flags.yes !== true && !(await isDrainMeant(context, pool))) return nothingChanged();
  const by = flags.user ?? userInfo().username;
  const message = await withClient(context, (client) => client.quota(pool).setAdmission(admission, by, reason));
  const text = output === 'json' ? JSON.stringify({ pool, admission, message }, null, 2) : message;
  process.stdout.write(`${text}\n`);
  return ExitCode.Done;
}

async function isDrainMeant(context: CliContext, pool: string): Promise<boolean> {
  if (!process.stdin.isTTY) {
    throw new CliError(
      ExitCode.Usage,
      'quota drain: asks every job of the pool to give its chips back, and there is no terminal to confirm it on',
      'say --yes if that is meant; `jobctl quota freeze` grants nothing new and touches nothing that runs',
    );
  }
  const { view } = await publishedPool(context, pool);
  const open = view.leases.filter(({ state }) => state !== 'draining').length;
  return ask(`Ask ${count(open, 'job')} of pool ${pool} to give their chips back? They save, and wait. [y/N] `);
}
