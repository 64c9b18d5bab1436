import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { archiveOf } from '../../domain/local-files.js';
import type { LocalFile } from '../../domain/local-files.js';

/** Bytes of a file that is only read (requirements, environment.yml), so that a mistake in its name is seen. */
const MAX_FILE_BYTES = 500_000;
/** Bytes of a file or folder that is copied to every host; it is in memory while it is uploaded. */
const MAX_COPIED_BYTES = 256 * 1024 * 1024;

/** What it is called among the job's files, and its content; or what is wrong with it. */
export function readLocalFile({ path, kind }: LocalFile, resolved: string): [string, Uint8Array] | string {
  if (kind === 'copy' && statSync(resolved, { throwIfNoEntry: false })?.isDirectory()) {
    const archive = packFolder(resolved);
    return typeof archive === 'string' ? archive : [archiveOf(path), archive];
  }
  const content = readNamedFile(resolved, kind === 'copy' ? MAX_COPIED_BYTES : MAX_FILE_BYTES);
  return typeof content === 'string' ? content : [path, content];
}

/** Its content, or what is wrong with it. */
export function readNamedFile(path: string, maxBytes: number = MAX_FILE_BYTES): Uint8Array | string {
  try {
    const { size } = statSync(path);
    if (size > maxBytes) return tooLarge(`${size} bytes`, maxBytes);
    return readFileSync(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return REASONS[code ?? ''] ?? message;
  }
}

const tooLarge = (size: string, most: number): string => `has ${size}; ${most} are the most`;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EISDIR: 'is a directory',
  EACCES: 'cannot be read: permission denied',
};

/** GNU tar, so that the same files are the same bytes: names in order, no times, no owners. */
function packFolder(folder: string): Uint8Array | string {
  const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu'];
  const { error, status, stdout, stderr } = spawnSync('tar', [...same, '-C', folder, '-cf', '-', '.'], {
    maxBuffer: MAX_COPIED_BYTES,
  });
  if (error && 'code' in error && error.code === 'ENOBUFS') return tooLarge('more bytes', MAX_COPIED_BYTES);
  if (error) return `cannot be packed: ${error.message}`;
  return status === 0 ? stdout : `cannot be packed: ${stderr.toString().trim()}`;
}
