import { objectPlace, type StoreReader } from '../../../cloud/store/port.js';
import { appliedFileObject } from '../../../domain/store-layout.js';
import type { PoolSnapshot } from '../../../quota/published-state.js';
import { UNLIMITED } from '../../../quota/quota-config.js';
import type { AppliedFiles, PoolFileText } from '../../../client/pool-client.js';
import { readPoolState } from '../../../client/pool-state.js';
import { PoolRefused } from '../../../client/errors.js';
import { CHANGED_MEANWHILE, NO_FILE } from '../../../contract/quota.js';
import { askerAt } from '../../place/asker.js';
import { ask, mustBeAskable, nothingChanged } from '../../terminal/ask.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { openReader, withClient } from '../../place/connect.js';
import { contextToChange, type ContextFlags, storeOf, type StorePlace } from '../../place/context.js';
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
  const place = storeOf(context, 'what a file changes cannot be known');
  const store = await openReader(place);
  const state = await readPoolState(store, pool);
  refuseElsewhere(pool, files, state?.source);
  const before = await appliedFiles(store, pool);
  const { warnings, changes, effect } = preview(state, pool, before, files);
  const isJson = output === 'json';
  for (const warning of warnings) printErr(`warning: ${warning}\n`);
  if (!isJson) {
    const width = terminalWidth(process.stdout);
    printOut(`${renderApply(pool, changes, effect, width).join('\n')}\n`);
  }
  if (yes !== true && !(await ask(`Apply to pool ${pool}? [y/N] `))) return nothingChanged();
  const message = await withClient(context, async (client) => {
    const { by } = await askerAt(client, flags.by, context);
    return client.quota(pool).apply(compared(files, before), by);
  }).catch((error: unknown) => {
    throw isOfOneBucket(place) ? withOtherBucket(error) : error;
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
function preview(state: PoolSnapshot | undefined, pool: string, before: AppliedFiles, files: AppliedFiles): Preview {
  const { config, warnings } = goodFiles({ ...before, ...files }, pool, UNCHANGED);
  const isQuotaElsewhere = config.kind === 'unlimited' && state?.view.config.kind === 'limited';
  if (isQuotaElsewhere) return { warnings: [], changes: undefined };
  const changes = configDifference(state?.view.config ?? UNLIMITED, config);
  return { warnings, changes, ...(state ? { effect: applyEffect(state, config) } : {}) };
}

/** The files that were applied before, each with its generation: an omitted file stays in force. */
async function appliedFiles(store: StoreReader, pool: string): Promise<AppliedFiles> {
  const read = async (kind: 'quota' | 'pool'): Promise<PoolFileText | undefined> => {
    const name = appliedFileObject(pool, kind);
    // First the generation: a text that is newer than it is refused when it is applied, and never the other way round.
    const replaces = (await store.stat(name))?.generation;
    const content = replaces === undefined ? undefined : await store.read(name);
    if (replaces === undefined || content === undefined) return undefined;
    return { name: objectPlace(store, name), text: content.toString('utf8'), replaces };
  };
  const [quotaFile, poolFile] = await Promise.all([read('quota'), read('pool')]);
  return { ...(quotaFile ? { quotaFile } : {}), ...(poolFile ? { poolFile } : {}) };
}

/** The files as they are sent: each over the one that the preview compared it with, and over no other (docs/adr/0176). */
function compared({ quotaFile, poolFile }: AppliedFiles, before: AppliedFiles): AppliedFiles {
  return {
    ...(quotaFile && { quotaFile: { ...quotaFile, replaces: before.quotaFile?.replaces ?? NO_FILE } }),
    ...(poolFile && { poolFile: { ...poolFile, replaces: before.poolFile?.replaces ?? NO_FILE } }),
  };
}

/** Whether the context names the job bucket alone. An installation may keep its files in a second one. */
const isOfOneBucket = (place: StorePlace): boolean => !('server' in place) && place.systemBucket === undefined;

function withOtherBucket(error: unknown): unknown {
  if (!(error instanceof PoolRefused) || !error.message.includes(CHANGED_MEANWHILE)) return error;
  return new CliError(
    ExitCode.Refused,
    error.message,
    'if nobody did: this context names no second bucket (system_bucket), and an installation that has one keeps its files there ' +
      '(docs/security.md)',
  );
}
