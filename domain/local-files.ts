import type { Path } from './problem.js';
import { bundleObject, fileObject } from './store-layout.js';

/** A file or folder of the submitter that a job names. */
export type LocalFile = {
  /** Path as in the job file. */
  readonly path: string;
  /** Its place in the job file. */
  readonly at: Path;
} & (
  | {
      /** `text`: a small file whose text is used. `copy`: a file or folder that is copied. */
      readonly kind: 'text' | 'copy';
    }
  /** A folder that is packed. */
  | { readonly kind: 'bundle'; readonly packing: Packing }
);

/** Options for packing a folder: docs/bundles.md. */
export interface Packing {
  /** Files to leave out, in .gitignore syntax. Absent: `USUAL_EXCLUDES`. */
  readonly exclude?: readonly string[];
  /** Packs also files that the folder's own .gitignore files leave out. */
  readonly withIgnored?: true;
}

/** AXLearn's list, for bundles without `exclude`. */
export const USUAL_EXCLUDES: readonly string[] = [
  'venv',
  '.venv',
  '.git',
  '.idea',
  '.cache',
  '.pytest_cache',
  '__pycache__',
  '.ruff_cache',
  '.DS_Store',
];

/** The last part of the path of a file or folder. */
export const baseName = (path: string): string => path.replace(/(?<!\/)\/+$/, '').replace(/^.*\//s, '');

/** The name of a folder's archive (tar) among a job's files. */
export const archiveOf = (folder: string): string => `tar:${folder}`;
/** The name of a bundle's archive (tar.gz). */
export const bundleOf = (folder: string): string => `bundle:${folder}`;

/** The names that the content of a file may have among a job's files. */
export function namesOf({ path, kind }: LocalFile): readonly string[] {
  if (kind === 'bundle') return [bundleOf(path)];
  return kind === 'text' ? [path] : [path, archiveOf(path)];
}

/**
 * Replaces some of a job's files. A path that was a folder and now is a file, or the reverse, is kept once.
 * @param present names -> SHA-256
 */
export function withFiles(
  present: Readonly<Record<string, string>>,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const twins = Object.keys(given).map((name) =>
    name.startsWith('tar:') ? name.slice('tar:'.length) : archiveOf(name),
  );
  const kept = Object.entries(present).filter(([name]) => !twins.includes(name));
  return { ...Object.fromEntries(kept), ...given };
}

/** The object that holds the content of a file. @param name the file's name among the job's files */
export function objectOfFile(name: string, sha256: string): string {
  return name.startsWith(bundleOf('')) ? bundleObject(sha256) : fileObject(sha256);
}

/** Bytes that can be read again from any offset, so that an interrupted copy continues where it stopped. */
export interface FileSource {
  /** Bytes. */
  readonly size: number;
  /** SHA-256 of all bytes, in lower case hex. */
  readonly sha256: string;
  read(start: number): AsyncIterable<Buffer>;
}
