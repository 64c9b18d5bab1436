import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { acquireLock } from '../../../place/stack/file-lock.js';
import { cacheFolder, type Environment } from '../../../terminal/home.js';

/** The version that jobctl gets if needed: the last that `go install` can build (docs/facts.md, "Temporal"). */
export const PINNED_CLI_VERSION = '1.5.1';
/** A build takes about three minutes on two cores. */
const OTHER_RESOLVER_TIMEOUT_MS = 15 * 60_000;

const executable = process.platform === 'win32' ? 'temporal.exe' : 'temporal';

/** Path of the cached Temporal CLI in its pinned version, shared by all state folders of this user. */
export function cachedCliPath(env: Environment): string {
  return join(cacheFolder(env), 'temporal', PINNED_CLI_VERSION, executable);
}

/**
 * Moves the file at the path that `make` returns into the cache by one rename, so that an interrupted download or build leaves no
 * partial executable. One process at a time; `isThere` is asked again after waiting for another one.
 */
export async function fillCache(
  path: string,
  isThere: () => Promise<boolean>,
  make: (scratch: string) => Promise<string>,
  onProgress: (line: string) => void,
): Promise<void> {
  const lock = await acquireLock(`${path}.lock`, {
    timeoutMs: OTHER_RESOLVER_TIMEOUT_MS,
    onWait: (holder) => onProgress(`Waiting for process ${holder.pid}, which gets ${basename(path)} at this moment`),
  });
  try {
    if (await isThere()) return;
    await makeAndMove(path, make);
  } finally {
    lock.release();
  }
}

async function makeAndMove(path: string, make: (scratch: string) => Promise<string>): Promise<void> {
  mkdirSync(dirname(path), { recursive: true });
  // Next to its destination, because a rename across file systems is not atomic.
  const scratch = mkdtempSync(join(dirname(path), 'scratch-'));
  try {
    const made = await make(scratch);
    chmodSync(made, 0o755);
    renameSync(made, path);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
