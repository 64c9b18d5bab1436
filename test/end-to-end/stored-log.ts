import type { StorePort } from '../../cloud/store/port.js';
import { logPrefix, offsetOfChunk } from '../../domain/store-layout.js';

/** What one host printed, as it is stored; `stream` is a module's name or `command`. */
export async function storedLog(
  store: StorePort,
  { id, stream, host, attempt = 1 }: { id: string; stream: string; host: number; attempt?: number },
): Promise<string> {
  const objects = await store.list(`${logPrefix(id, attempt, stream)}host-${host}.`);
  // Without what jobctl says of a lost tail.
  const chunks = objects.filter(({ name }) => offsetOfChunk(name) !== undefined);
  const contents = await Promise.all(chunks.map(({ name }) => store.read(name)));
  return Buffer.concat(contents.map((content) => content ?? Buffer.alloc(0))).toString();
}
