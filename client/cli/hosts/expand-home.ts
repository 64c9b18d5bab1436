import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** A path as job files and flags write it, on this computer. */
export const expandHome = (path: string): string =>
  path.startsWith('~/') ? join(homedir(), path.slice(2)) : resolve(path);
