import type { StorePort } from '../../cloud/store/port.js';
import type { CliContext } from './context.js';
import { storeOf } from './context.js';

/** Google's client, which can write; loaded only where there is something to write. @param what cannot be done without a bucket */
export async function openWritableStore(context: CliContext, what: string): Promise<StorePort> {
  const place = storeOf(context, what);
  const { createStore } = await import('../../cloud/store/gcs.js');
  return createStore(place);
}

/** A store for these local files of a job; undefined where it names none. */
export async function storeForFiles(
  files: Readonly<Record<string, unknown>>,
  context: CliContext,
): Promise<StorePort | undefined> {
  const [path] = Object.keys(files);
  return path === undefined ? undefined : openWritableStore(context, `${path} cannot be brought to the hosts`);
}
