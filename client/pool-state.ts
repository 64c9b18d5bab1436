import { objectPlace, type StoreReader } from '../cloud/store/port.js';
import { notJson } from '../domain/error-words.js';
import { poolLineObject, poolStateObject } from '../domain/store-layout.js';
import { type PackedPoolState, type PoolSnapshot, unpackState } from '../quota/published-state.js';
import type { WaitingLine } from '../quota/waiting-line.js';

/**
 * The pool's state as a worker last published it, with one read of one object. It is some seconds old while the pool is busy,
 * otherwise as old as the pool's last change (`at`). Undefined: no state was ever published for this pool.
 * @throws RangeError if the state cannot be read or another version of jobctl wrote it; the store's errors
 */
export async function readPoolState(store: ObjectReader, pool: string): Promise<PoolSnapshot | undefined> {
  const packed = await readJson<PackedPoolState>(store, poolStateObject(pool));
  return packed && unpackState(packed);
}

/**
 * The line of the pool's waiting jobs as last published, small and made for lists. Undefined: no line was published.
 * @throws RangeError if it cannot be read; the store's errors
 */
export async function readWaitingLine(store: ObjectReader, pool: string): Promise<WaitingLine | undefined> {
  const name = poolLineObject(pool);
  const line = await readJson<Partial<WaitingLine> | null>(store, name);
  // Others may write to the bucket, so the object may hold anything. Only the reader of another version knows that version's
  // form.
  if (line === undefined || isLine(line)) return line;
  throw new RangeError(
    `${objectPlace(store, name)}: is not what a worker publishes of a pool: it has no lines of jobs`,
  );
}

const isLine = (line: Partial<WaitingLine> | null): line is WaitingLine =>
  line !== null && (line.v !== 1 ? line.v !== undefined : Array.isArray(line.rows) && Array.isArray(line.sentences));

type ObjectReader = Pick<StoreReader, 'bucket' | 'read'>;

async function readJson<Content>(store: ObjectReader, name: string): Promise<Content | undefined> {
  const content = await store.read(name);
  if (content === undefined) return undefined;
  const text = content.toString('utf8');
  try {
    return JSON.parse(text) as Content;
  } catch (error) {
    const where = objectPlace(store, name);
    const message = `${where}: is not what a worker publishes of a pool: ${notJson(error, text)}`;
    throw new RangeError(message, { cause: error });
  }
}
