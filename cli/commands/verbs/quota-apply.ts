import { objectPlace, type StoreReader } from '../../../cloud/store/port.js';
import { appliedFileObject } from '../../../domain/store-layout.js';
import type { PoolSnapshot } from '../../../quota/published-state.js';
import { UNLIMITED } from '../../../quota/quota-config.js';
import type { AppliedFiles, PoolFileText } from '../../../client/pool-client.js';
import { readPoolState } from '../../../client/pool-state.js';
import { askerAt } from '../../place/asker.js';
import { ask, mustBeAskable, nothingChanged } from '../../terminal/ask.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { openReader, withClient } from '../../place/connect.js';
import { contextToChange, type ContextFlags, storeOf } from '../../place/context.js';
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
