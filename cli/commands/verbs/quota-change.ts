import { objectPlace, type StoreReader } from '../../../cloud/store/port.js';
import { appliedFileObject } from '../../../domain/store-layout.js';
import type { PoolSnapshot } from '../../../quota/published-state.js';
import { UNLIMITED } from '../../../quota/quota-config.js';
import type { AppliedFiles, PoolFileText, Admission } from '../../../client/pool-client.js';
import { readPoolState } from '../../../client/pool-state.js';
import { askerAt } from '../../place/asker.js';
import { ask, mustBeAskable, nothingChanged } from '../../terminal/ask.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { openReader, withClient } from '../../place/connect.js';
import { contextToChange, type ContextFlags, storeOf, type CliContext } from '../../place/context.js';
import type { OutputFlag } from '../../terminal/options.js';
import {
  type ApplyEffect,
  applyEffect,
  type ConfigChange,
  configDifference,
  renderApply,
} from '../quota/apply-preview.js';
import { goodFiles, readFiles } from './quota-files.js';
import { terminalWidth } from '../../terminal/render/columns.js';
import { printErr, printOut } from '../../terminal/print.js';
import { count } from '../../../domain/units.js';
import { publishedPool } from './pool.js';

/** Verbs that change a pool: `quota apply` by its files, the others by a request to its quota workflow. */

export interface QuotaApplyFlags extends ContextFlags, OutputFlag {
  readonly pool: string;
  readonly poolFile?: string;
  readonly by?: string;
  readonly yes?: true;
}

/** Checks the files, shows the changes and the affected jobs, asks, and applies the files. A refusal changes nothing. */
export async function quotaApply(file: string | undefined, flags: QuotaApplyFlags): Promise<number> {
  const { pool, output, yes } = flags;
  if (file === undefined && flags.poolFile === undefined) {
    throw new CliError(ExitCode.Usage, 'quota apply: no file was named', WANTED);
  }
  const files = readFiles(file, flags.poolFile, WANTED);
  // Each file is checked alone before any question; `preview` checks them with the files that stay in force.
  goodFiles(files, pool, UNCHANGED);
  mustBeAskable(
    flags,
    'quota apply: asks before it changes anything',
    '`jobctl quota plan` shows what a file would change; --yes applies it without a question',
  );
  const context = contextToChange(flags);
  const store = await openReader(storeOf(context, 'what a file changes cannot be known'));
  const state = await readPoolState(store, pool);
  refuseElsewhere(pool, files, state?.source);
  const { warnings, changes, effect } = await preview(store, state, pool, files);
  const isJson = output === 'json';
  for (const warning of warnings) printErr(`warning: ${warning}\n`);
  if (!isJson) {
    const width = terminalWidth(process.stdout);
    printOut(`${renderApply(pool, changes, effect, width).join('\n')}\n`);
  }
  if (yes !== true && !(await ask(`Apply to pool ${pool}? [y/N] `))) return nothingChanged();
  const message = await withClient(context, async (client) => {
    const { by } = await askerAt(client, flags.by, context);
    return client.quota(pool).apply(files, by);
  });
  printOut(`${isJson ? JSON.stringify({ pool, message, warnings, changes, effect }, null, 2) : message}\n`);
  return ExitCode.Done;
}

const WANTED = 'jobctl quota apply takes the path of a quota file (TOML), and of a pool file with --pool-file';
const UNCHANGED = 'nothing was changed';

/** Refuses a quota file that is configured elsewhere. The pool would refuse it too, but after the question. */
function refuseElsewhere(pool: string, { quotaFile }: AppliedFiles, source: string | undefined): void {
  if (quotaFile === undefined || source === undefined || source.startsWith('applied by ')) return;
  throw new CliError(
    ExitCode.Refused,
    `the quota file of pool ${pool} is ${source}, by the workers' configuration: nothing was changed`,
    'change it there: it is read again by itself; `jobctl quota plan` shows what a change would do',
  );
}

interface Preview {
  readonly warnings: readonly string[];
  /** Undefined: only a pool file is applied, and only the workers can read the quota file. */
  readonly changes: readonly ConfigChange[] | undefined;
  /** Undefined: the pool never ran. */
  readonly effect?: ApplyEffect;
}

/** @throws CliError with every problem of the files */
async function preview(
  store: StoreReader,
  state: PoolSnapshot | undefined,
  pool: string,
  files: AppliedFiles,
): Promise<Preview> {
  const before = await appliedFiles(store, pool);
  const { config, warnings } = goodFiles({ ...before, ...files }, pool, UNCHANGED);
  const isQuotaElsewhere = config.kind === 'unlimited' && state?.view.config.kind === 'limited';
  if (isQuotaElsewhere) return { warnings: [], changes: undefined };
  const changes = configDifference(state?.view.config ?? UNLIMITED, config);
  return { warnings, changes, ...(state ? { effect: applyEffect(state, config) } : {}) };
}

/** The files that were applied before: an omitted file stays in force. */
async function appliedFiles(store: StoreReader, pool: string): Promise<AppliedFiles> {
  const read = async (kind: 'quota' | 'pool'): Promise<PoolFileText | undefined> => {
    const name = appliedFileObject(pool, kind);
    const content = await store.read(name);
    return content && { name: objectPlace(store, name), text: content.toString('utf8') };
  };
  const [quotaFile, poolFile] = await Promise.all([read('quota'), read('pool')]);
  return { ...(quotaFile ? { quotaFile } : {}), ...(poolFile ? { poolFile } : {}) };
}

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

/** `quota set-priority JOB N`, in the pool that the job was submitted to. @throws CliError if the job has ended */
export function quotaPriority(job: string, priority: number, flags: QuotaPriorityFlags): Promise<number> {
  const context = contextToChange(flags);
  return withClient(context, async (client) => {
    const { by } = await askerAt(client, flags.by, context);
    const { pool, phase, endedAt } = await client.row(job);
    if (endedAt !== undefined) {
      throw new CliError(ExitCode.Refused, `${job} has ended already: ${phase}`, 'nothing was changed');
    }
    const message = await client.quota(pool).setPriority(job, priority, by);
    const text = flags.output === 'json' ? JSON.stringify({ job, pool, priority, message }, null, 2) : message;
    printOut(`${text}\n`);
    return ExitCode.Done;
  });
}
