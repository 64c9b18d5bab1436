import { readPoolState } from '../../../client/pool-state.js';
import type { PoolSnapshot } from '../../../quota/published-state.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { openReader } from '../../place/connect.js';
import { type CliContext, storeOf } from '../../place/context.js';

/** @throws CliError if no bucket is known, or the pool was never published */
export async function publishedPool(context: CliContext, pool: string): Promise<PoolSnapshot> {
  const store = storeOf(context, `nothing is known of pool '${pool}'`);
  const state = await readPoolState(await openReader(store), pool);
  if (state) return state;
  throw new CliError(
    ExitCode.NotFound,
    `no pool '${pool}' ${'server' in store ? `on ${store.server.url}` : `in bucket ${store.bucket}`}: nothing was published of it`,
    'a pool is published by a worker, from its first job on, or from `jobctl quota apply`',
    `is it another pool (--pool), or another ${'server' in store ? 'server' : 'bucket (--bucket)'}?`,
  );
}
