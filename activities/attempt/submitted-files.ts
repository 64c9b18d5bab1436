import { createHash } from 'node:crypto';
import { type FileSource, objectOfFile } from '../../domain/local-files.js';
import type { ModuleFiles } from '../../domain/modules/module.js';
import type { StoredSource } from '../../cloud/hosts/port.js';
import { objectPlace, type StoredObject, type StorePort } from '../../cloud/store/port.js';
import { invalidJob } from '../failures.js';

/** Size in bytes up to which a file is read at once: it goes to most hosts, and stays in memory while they are set up. */
const KEPT_BYTES = 4 * 1024 * 1024;
/** Bytes of one read of a larger file. */
const PIECE_BYTES = 8 * 1024 * 1024;
/**
 * Lifetime of a signed URL. It is signed when it is used, and checked when a download begins. The time allows for clocks that
 * differ.
 */
const SIGNED_MS = 10 * 60_000;

/**
 * The submitter's files, by their path in the job. Nothing is read before a host needs it, and a file that a host reads itself is
 * not read here. Anyone who may write the bucket may have replaced an object: content that is read here is compared with its hash
 * at every size, and content that a host reads itself is compared on the host (docs/adr/0044).
 * @throws InvalidJob for a file that is not in the store; so does a read of an object whose content is not the submitter's.
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
): FileSource {
  const place = objectPlace(store, name);
  let kept: Promise<Buffer> | undefined;
  const piece = async (start: number, end: number): Promise<Buffer> => {
    const content = await store.read(name, { start, end });
    if (content?.length === Math.min(end, size) - start) return content;
    throw new Error(`${name} in bucket ${store.bucket}: bytes ${start} to ${end} could not be read`);
  };
  const checked = (found: string): void => {
    if (found === sha256) return;
    throw invalidJob(
      `${called}: ${place} is not what was submitted: its sha256 is ${found}, not ${sha256}\n` +
        `  somebody has overwritten it; remove the object and submit the job again`,
    );
  };
  const readWhole = async (): Promise<Buffer> => {
    const content = size === 0 ? Buffer.alloc(0) : await piece(0, size);
    checked(createHash('sha256').update(content).digest('hex'));
    return content;
  };
  const whole = (): Promise<Buffer> => (kept ??= readWhole().catch((error: unknown) => forget(error)));
  const forget = (error: unknown): never => {
    kept = undefined;
    throw error;
  };
  // From an offset on, the host has the rest of the sum. It removes a part that it finds wrong, and the next read is from 0.
  async function* pieces(start: number): AsyncGenerator<Buffer> {
    const hash = createHash('sha256');
    for (let at = start; at < size; at += PIECE_BYTES) {
      const content = await piece(at, Math.min(at + PIECE_BYTES, size));
      hash.update(content);
      yield content;
    }
    if (start === 0) checked(hash.digest('hex'));
  }
  async function* keptWhole(start: number): AsyncGenerator<Buffer> {
    const content = await whole();
    if (size > start) yield content.subarray(start);
  }
  const read = (start: number): AsyncIterable<Buffer> => (size <= KEPT_BYTES ? keptWhole(start) : pieces(start));
  // A host cannot reach a folder.
  if (store.bucket.startsWith('file:')) return { size, sha256, read };
  const stored: StoredSource['stored'] = {
    called,
    place,
    url: store.downloadUrl(name),
    signedUrl: () => store.signedUrl(name, SIGNED_MS),
  };
  const source: StoredSource = { size, sha256, read, stored };
  return source;
}
