import { createHash } from 'node:crypto';
import type { StorePort } from '../cloud/store/port.js';
import { type FileSource, objectOfFile } from '../domain/local-files.js';
import { JobInvalid } from './errors.js';

/**
 * Contents of a job's local files, keyed by their names in the job: a path as the job has it, `tar:FOLDER` (tar) or
 * `bundle:FOLDER` (tar.gz). A `FileSource` is read in pieces.
 */
export type LocalContents = Readonly<Record<string, Uint8Array | FileSource>>;

/** Uploads local files to the store and returns path -> SHA-256. */
export type UploadFiles = (files: LocalContents) => Promise<Readonly<Record<string, string>>>;

/** Progress of one upload. */
export interface UploadProgress {
  readonly path: string;
  /** Bytes read of the file so far; the last few megabytes of them may still be in transit. */
  readonly sent: number;
  /** Size of the file in bytes. */
  readonly size: number;
}

export interface UploadsOptions {
  readonly store: Pick<StorePort, 'upload'> | undefined;
  /** Called for each piece; never called for a file that the store already has. */
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
}

const AT_ONCE = 4;

/**
 * Stores contents under their hash.
 * @returns `path: sha256` of each
 * @throws JobInvalid if there is no store or a file changes meanwhile; StoreUnavailable, StoreRefused
 */
export async function uploadFiles(files: LocalContents, options: UploadsOptions): Promise<Record<string, string>> {
  const sources = Object.entries(files).map(([path, content]) => [path, sourceOf(content)] as const);
  const waiting = [...sources];
  let isFailed = false;
  const next = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined && !isFailed; file = waiting.shift()) {
      await uploadOne(...file, options).catch((error: unknown) => {
        isFailed = true;
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  return Object.fromEntries(sources.map(([path, { sha256 }]) => [path, sha256]));
}

async function uploadOne(path: string, source: FileSource, { store, onProgress }: UploadsOptions): Promise<void> {
  if (!store) throw new JobInvalid(`${path}: the job names a local file, and this client has no store to put it in`);
  const watched = onProgress ? watchedSource(path, source, onProgress) : source;
  try {
    // An existing object is accepted: its name is the content's hash.
    await store.upload(objectOfFile(path, source.sha256), watched);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'SourceChanged') throw error;
    throw new JobInvalid(`${path}: ${error.message}; nothing was submitted`, { cause: error });
  }
}

export function sourceOf(content: Uint8Array | FileSource): FileSource {
  if (!(content instanceof Uint8Array)) return content;
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return {
    ...{ size: bytes.length, sha256 },
    async *read(start) {
      yield bytes.subarray(start);
    },
  };
}

export function watchedSource(
  path: string,
  source: FileSource,
  onProgress: (progress: UploadProgress) => void,
): FileSource {
  const { size, sha256 } = source;
  return {
    ...{ size, sha256 },
    async *read(start) {
      let sent = start;
      for await (const piece of source.read(start)) {
        yield piece;
        onProgress({ path, sent: (sent += piece.length), size });
      }
    },
  };
}
