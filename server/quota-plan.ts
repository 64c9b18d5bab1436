import { readPoolState } from '../client/pool-state.js';
import type { StoreReader } from '../cloud/store/port.js';
import { formatProblems } from '../domain/problem.js';
import { checkFiles, type PoolFiles } from '../quota/files/pool-files.js';
import type { Plan } from '../quota/plan.js';
import { publishedPlan } from '../quota/published-plan.js';
import type { PoolSnapshot } from '../quota/published-state.js';
import { ApiError } from './problem.js';

/** What `quota plan --output json` prints, and what was likely not meant. */
export interface ApiPlan extends Plan {
  readonly warnings?: readonly string[];
}

/**
 * What one decision would do in a pool as it was published last, under files that nobody has put in force. It changes nothing.
 * @throws ApiError `invalid` with every problem of the files; `not-found` where nothing was published
 */
export async function quotaPlan(
  store: Pick<StoreReader, 'bucket' | 'read'>,
  pool: string,
  files: PoolFiles,
): Promise<ApiPlan> {
  const { quotaFile, poolFile } = files;
  if (quotaFile === undefined && poolFile !== undefined)
    throw new ApiError(
      'invalid',
      'poolFile: needs the quota file beside it',
      'send both: the one in force, and the new one',
    );
  const checked = quotaFile && checkFiles(files, pool);
  if (checked?.ok === false) throw new ApiError('invalid', formatProblems(checked.problems));
  const planned = checked && { config: checked.config, hasPoolFile: poolFile !== undefined };
  const plan = publishedPlan(await published(store, pool), planned);
  const warnings = checked?.warnings ?? [];
  return { ...plan, ...(warnings.length === 0 ? {} : { warnings }) };
}

async function published(store: Pick<StoreReader, 'bucket' | 'read'>, pool: string): Promise<PoolSnapshot> {
  const state = await readPoolState(store, pool).catch((error: unknown) => {
    // Of another version, or of somebody who may write the bucket.
    if (error instanceof RangeError) throw new ApiError('unavailable', error.message, 'a worker publishes it anew');
    throw error;
  });
  if (state !== undefined) return state;
  throw new ApiError(
    'not-found',
    `nothing was published of pool '${pool}'`,
    'a worker publishes it from its first job on',
  );
}
