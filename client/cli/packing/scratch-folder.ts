import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

let folder: string | undefined;

/**
 * A path in a folder of this process that only its user can enter (mode 0700), in TMPDIR. It is removed at every end of the
 * process but SIGKILL's.
 */
export function scratchPath(extension: string): string {
  folder ??= makeFolder();
  return join(folder, `${randomBytes(8).toString('hex')}${extension}`);
}

function makeFolder(): string {
  const made = mkdtempSync(join(tmpdir(), 'jobctl-packed-'));
  const remove = (): void => rmSync(made, { recursive: true, force: true });
  process.once('exit', remove);
  for (const name of SIGNALS) {
    const onSignal = (): void => {
      // Whoever else listens decides on the end, and may still need the files: 'exit' removes them then.
      if (process.listenerCount(name) > 1) return;
      remove();
      process.removeListener(name, onSignal);
      process.kill(process.pid, name);
    };
    process.on(name, onSignal);
  }
  return made;
}
