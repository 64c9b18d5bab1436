import { userInfo } from 'node:os';
import { withClient } from '../connect.js';
import { CliError } from '../cli-error.js';
import { type ContextFlags, resolveContext } from '../context.js';
import { ExitCode } from '../exit-codes.js';
import type { OutputFlag } from '../options.js';

export interface QuotaPriorityFlags extends ContextFlags, OutputFlag {
  readonly user?: string;
}

/** `quota set-priority JOB N`: the pool is the job's own. */
export function quotaPriority(job: string, priority: number, flags: QuotaPriorityFlags): Promise<number> {
  const by = flags.user ?? userInfo().username;
  return withClient(resolveContext(flags), async (client) => {
    const { pool, phase, endedAt } = await client.row(job);
    if (endedAt !== undefined) {
      throw new CliError(ExitCode.Refused, `${job} has ended already: ${phase}`, 'nothing was changed');
    }
    const message = await client.quota(pool).setPriority(job, priority, by);
    const text = flags.output === 'json' ? JSON.stringify({ job, pool, priority, message }, null, 2) : message;
    process.stdout.write(`${text}\n`);
    return ExitCode.Done;
  });
}
