import type { StoredSource } from '../../cloud/hosts/port.js';
import type { StoredObject, StorePort } from '../../cloud/store/port.js';
import { objectOfFile } from '../../domain/local-files.js';
import { invalidJob } from '../failures.js';
import type { ModuleFiles } from '../modules/index.js';

/** Bytes up to which a file is read at once: it goes to most hosts, and stays in memory while they are set up. */
const KEPT_BYTES = 4 * 1024 * 1024;
/** Bytes of one read of a larger one. */
const PIECE_BYTES = 8 * 1024 * 1024;
/** A URL is signed when it is used, and looked at as a download begins. Time enough for clocks that differ. */
const SIGNED_MS = 10 * 60_000;

/**
 * The submitter's files, by their path as the job has it. Nothing is read before a host needs it, and of what a host reads itself
 * nothing is read here.
 * @throws InvalidJob for a file that is not in the store.
 */
export async function submittedFiles(store: StorePort, files: Readonly<Record<string, string>>): Promise<ModuleFiles> {
  const sources = Object.entries(files).map(async ([path, sha256]) => {
    const object = objectOfFile(path, sha256);
    const stored = await store.stat(object);
    if (stored) return [path, storedFile(store, stored, { called: path, sha256 })] as const;
    throw invalidJob(`${path}: its content (${object}) is not in bucket ${store.bucket}; submit the job again`);
  });
  return new Map(await Promise.all(sources));
}

function storedFile(
  store: StorePort,
  { name, size }: Pick<StoredObject, 'name' | 'size'>,
  { called, sha256 }: { readonly called: string; readonly sha256: string },
): StoredSource {
  let kept: Promise<Buffer> | undefined;
  const piece = async (start: number, end: number): Promise<Buffer> => {
    const content = await store.read(name, { start, end });
    if (content?.length === Math.min(end, size) - start) return content;
    throw new Error(`${name} in bucket ${store.bucket}: bytes ${start} to ${end} could not be read`);
  };
  const whole = (): Promise<Buffer> => (kept ??= piece(0, size).catch((error: unknown) => forget(error)));
  const forget = (error: unknown): never => {
    kept = undefined;
    throw error;
  };
  async function* pieces(start: number): AsyncGenerator<Buffer> {
    for (let at = start; at < size; at += PIECE_BYTES) yield await piece(at, Math.min(at + PIECE_BYTES, size));
  }
  async function* keptWhole(start: number): AsyncGenerator<Buffer> {
    if (size > start) yield (await whole()).subarray(start);
  }
  const read = (start: number): AsyncIterable<Buffer> => (size <= KEPT_BYTES ? keptWhole(start) : pieces(start));
  const place = `gs://${store.bucket}/${name}`;
  const stored = { called, place, url: store.downloadUrl(name), signedUrl: () => store.signedUrl(name, SIGNED_MS) };
  return { size, sha256, read, stored };
}
