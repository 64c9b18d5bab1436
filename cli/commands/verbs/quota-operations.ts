import { orGroup } from '../../jobs/groups/or-group.js';
import { count } from '../../../domain/units.js';
import type { Admission } from '../../../client/pool-client.js';
import { askerAt } from '../../place/asker.js';
import { ask, nothingChanged } from '../../terminal/ask.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { withClient } from '../../place/connect.js';
import { contextToChange, type CliContext, type ContextFlags } from '../../place/context.js';
import type { OutputFlag } from '../../terminal/options.js';
import { publishedPool } from './pool.js';
import { printOut } from '../../terminal/print.js';

/** Verbs with which an operator controls a pool without changing its files. The pool's quota workflow carries them out. */

export interface QuotaAdmissionFlags extends ContextFlags, OutputFlag {
  readonly pool: string;
  readonly reason?: string;
  readonly by?: string;
  readonly yes?: true;
}

/** `quota freeze`, `quota drain` and `quota thaw`. Draining evicts running jobs, so it asks for confirmation first. */
export async function quotaAdmission(admission: Admission, flags: QuotaAdmissionFlags): Promise<number> {
  const { pool, reason, output } = flags;
  const context = contextToChange(flags);
  if (admission === 'draining' && flags.yes !== true && !(await isDrainMeant(context, pool))) return nothingChanged();
  const message = await withClient(context, async (client) => {
    const { by } = await askerAt(client, flags.by, context);
    return client.quota(pool).setAdmission(admission, by, reason);
  });
  const text = output === 'json' ? JSON.stringify({ pool, admission, message }, null, 2) : message;
  printOut(`${text}\n`);
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

export interface QuotaReleaseFlags extends ContextFlags, OutputFlag {
  readonly because: string;
  /** Absent: the pool that the job was submitted to. */
  readonly pool?: string;
  readonly by?: string;
}

/** `quota release JOB --because TEXT`. Without `--pool`, Temporal must still know the job. */
export function quotaRelease(job: string, flags: QuotaReleaseFlags): Promise<number> {
  const { because, output } = flags;
  const context = contextToChange(flags);
  return withClient(context, async (client) => {
    const { by } = await askerAt(client, flags.by, context);
    const pool = flags.pool ?? (await client.row(job)).pool;
    const message = await client.quota(pool).release(job, because, by);
    printOut(`${output === 'json' ? JSON.stringify({ job, pool, because, message }, null, 2) : message}\n`);
    return ExitCode.Done;
  });
}

export interface QuotaPriorityFlags extends ContextFlags, OutputFlag {
  readonly by?: string;
}

/** `quota set-priority JOB N`, in the pool that the job was submitted to. @throws CliError if the job or group has ended */
export function quotaPriority(job: string, priority: number, flags: QuotaPriorityFlags): Promise<number> {
  const context = contextToChange(flags);
  return withClient(context, async (client) => {
    const { by } = await askerAt(client, flags.by, context);
    const told = (pool: string, message: string): number => {
      printOut(`${flags.output === 'json' ? JSON.stringify({ job, pool, priority, message }, null, 2) : message}\n`);
      return ExitCode.Done;
    };
    const ended = (how: string): CliError =>
      new CliError(ExitCode.Refused, `${job} has ended already${how}`, 'nothing was changed');
    const ofJob = async (): Promise<number> => {
      const { pool, phase, endedAt } = await client.row(job);
      if (endedAt !== undefined) throw ended(`: ${phase}`);
      return told(pool, await client.quota(pool).setPriority(job, priority, by));
    };
    return orGroup(ofJob, async (group) => {
      const { pool, endedAt } = await client.group(group);
      if (endedAt !== undefined) throw ended('');
      return told(pool, await client.quota(pool).setGroupPriority(group, priority, by));
    });
  });
}
