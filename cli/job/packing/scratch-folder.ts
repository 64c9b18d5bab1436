import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

let folder: string | undefined;
let isWatched = false;

/**
 * A path in a folder of this process that only its user can enter (mode 0700), in TMPDIR. It is removed at every exit of the
 * process except by SIGKILL.
 */
export function scratchPath(extension: string): string {
  folder ??= makeFolder();
  return join(folder, `${randomBytes(8).toString('hex')}${extension}`);
}

/** Removes archives that are no longer needed: a command that waits for a job for hours must not keep them. */
export function removeScratchFolder(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
}

function makeFolder(): string {
  if (!isWatched) removeAtTheEnd();
  return mkdtempSync(join(tmpdir(), 'jobctl-packed-'));
}

function removeAtTheEnd(): void {
  isWatched = true;
  process.once('exit', removeScratchFolder);
  for (const name of SIGNALS) {
    const onSignal = (): void => {
      // Other listeners decide on the exit and may still need the files: 'exit' removes them then.
      if (process.listenerCount(name) > 1) return;
      removeScratchFolder();
      process.removeListener(name, onSignal);
      process.kill(process.pid, name);
    };
    process.on(name, onSignal);
  }
}
