import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { acquireLock } from '../file-lock.js';
import { cacheFolder, type Environment } from '../home.js';

/** The version that jobctl gets when it has to get one: the last that `go install` can build (facts: temporal.md 7). */
export const PINNED_CLI_VERSION = '1.5.1';
/** A build takes about three minutes on two cores. */
const OTHER_RESOLVER_TIMEOUT_MS = 15 * 60_000;

const executable = process.platform === 'win32' ? 'temporal.exe' : 'temporal';

/** Where the pinned Temporal CLI is kept between runs, over all state folders of this user. */
export function cachedCliPath(env: Environment): string {
  return join(cacheFolder(env), 'temporal', PINNED_CLI_VERSION, executable);
}

/**
 * Puts what `make` leaves at `scratch/<the path it returns>` into the cache by one rename, so a broken-off download or build
 * leaves no half executable. One process at a time; `isThere` is asked again after a wait for another one.
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
  // Beside its goal: a rename across file systems is not atomic.
  const scratch = mkdtempSync(join(dirname(path), 'scratch-'));
  try {
    const made = await make(scratch);
    chmodSync(made, 0o755);
    renameSync(made, path);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
