import type { FileSource } from '../../domain/file-source.js';
import type { StorePort } from '../../cloud/store/port.js';
import { fileObject } from '../../domain/store-layout.js';
import { invalidJob } from '../failures.js';
import type { ModuleFiles } from '../modules/index.js';

/** Bytes up to which a file is read at once: it goes to most hosts, and stays in memory while they are set up. */
const KEPT_BYTES = 4 * 1024 * 1024;
/** Bytes of one read of a larger one. */
const PIECE_BYTES = 8 * 1024 * 1024;

/**
 * The submitter's files, by their path as the job has it. Nothing is read before a host needs it.
 * @throws InvalidJob for a file that is not in the store.
 */
export async function submittedFiles(store: StorePort, files: Readonly<Record<string, string>>): Promise<ModuleFiles> {
  const sources = Object.entries(files).map(async ([path, sha256]) => {
    const stored = await store.stat(fileObject(sha256));
    if (stored) return [path, storedFile(store, sha256, stored.size)] as const;
    throw invalidJob(
      `${path}: its content (${fileObject(sha256)}) is not in bucket ${store.bucket}; submit the job again`,
    );
  });
  return new Map(await Promise.all(sources));
}

function storedFile(store: StorePort, sha256: string, size: number): FileSource {
  let kept: Promise<Buffer> | undefined;
  const piece = async (start: number, end: number): Promise<Buffer> => {
    const content = await store.read(fileObject(sha256), { start, end });
    if (content?.length === Math.min(end, size) - start) return content;
    throw new Error(`${fileObject(sha256)} in bucket ${store.bucket}: bytes ${start} to ${end} could not be read`);
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
  return { size, sha256, read };
}
