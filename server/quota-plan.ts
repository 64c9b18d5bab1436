import type { StoreReader } from '../cloud/store/port.js';
import { poolStateObject } from '../domain/store-layout.js';
import type { PoolFiles } from '../quota/files/pool-files.js';
import type { ApiPlan } from './dear-tasks.js';
import { ApiError } from './problem.js';
import type { Services } from './services.js';

/**
 * Computes what one decision would do in a pool's last published state under files that are not in force. It changes nothing.
 * @throws ApiError `invalid` with every problem of the files; `not-found` if nothing was published
 */
export async function quotaPlan(
  { store, dear }: { readonly store: Pick<StoreReader, 'bucket' | 'read'>; readonly dear: Services['dear'] },
  pool: string,
  files: PoolFiles,
  subject: string,
): Promise<ApiPlan> {
  if (files.quotaFile === undefined && files.poolFile !== undefined)
    throw new ApiError(
      'invalid',
      'poolFile: needs the quota file beside it',
      'send both: the one in force, and the new one',
    );
  const published = await store.read(poolStateObject(pool));
  const found = await dear.run('plan', { pool, files, bucket: store.bucket, published }, subject);
  if ('problems' in found) throw new ApiError('invalid', found.problems);
  if ('unreadable' in found) throw new ApiError('unavailable', found.unreadable, 'a worker publishes it anew');
  if (found.plan !== undefined) return found.plan;
  throw new ApiError(
    'not-found',
    `nothing was published of pool '${pool}'`,
    'a worker publishes it from its first job on',
  );
}
