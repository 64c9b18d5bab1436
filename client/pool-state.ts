import type { StoreReader } from '../cloud/store/port.js';
import { poolStateObject } from '../domain/store-layout.js';
import { type PackedPoolState, type PoolSnapshot, unpackState } from '../quota/published-state.js';

/**
 * A pool as a worker published it last: one read of one object, some seconds old while the pool is busy and as old as its last
 * change otherwise (`at` says). Undefined: nothing was ever published for this pool.
 * @throws RangeError where it cannot be read, or was written by another version of jobctl; the store's errors
 */
export async function readPoolState(
  store: Pick<StoreReader, 'bucket' | 'read'>,
  pool: string,
): Promise<PoolSnapshot | undefined> {
  const name = poolStateObject(pool);
  const content = await store.read(name);
  if (content === undefined) return undefined;
  return unpackState(parsed(content, `gs://${store.bucket}/${name}`));
}

function parsed(content: Buffer, where: string): PackedPoolState {
  try {
    return JSON.parse(content.toString('utf8')) as PackedPoolState;
  } catch (error) {
    throw new RangeError(`${where}: is not the state of a pool: ${(error as Error).message}`, { cause: error });
  }
}
