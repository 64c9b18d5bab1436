import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { fileErrorWords } from '../../domain/error-words.js';

type SystemError = Error & Readonly<Partial<Record<'code' | 'syscall' | 'path', string>>>;

/**
 * The lines to print for an error of a system call on a file that no verb has explained: the operation and its place, the reason,
 * and the remedy. Undefined for any other error.
 */
export function systemErrorLines(error: Error): readonly string[] | undefined {
  const { code, syscall = '', path } = error as SystemError;
  if (code === undefined || !/^E[A-Z]+$/.test(code)) return undefined;
  if (syscall === 'uv_cwd')
    return ['the current folder does not exist any more', 'change to another one: cd "$HOME", for example'];
  if (path === undefined) return undefined;
  const words = fileErrorWords(error);
  if (syscall === 'mkdtemp' && dirname(path) === tmpdir())
    return [
      `${tmpdir()}: no temporary file can be made there: ${words}`,
      'TMPDIR names this folder: set it to another one',
    ];
  return [`${path}: cannot be ${DONE[syscall] ?? 'used'}: ${words}`];
}

const DONE: Readonly<Record<string, string>> = {
  mkdir: 'made',
  mkdtemp: 'made',
  open: 'opened',
  read: 'read',
  scandir: 'read',
  lstat: 'read',
  stat: 'read',
  unlink: 'removed',
  rename: 'replaced',
  write: 'written',
};
