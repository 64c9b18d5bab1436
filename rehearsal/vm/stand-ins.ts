import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderSync } from '../folders.js';
import type { LazyMachine } from './lazy-machine.js';
import { standInsUsed, TOOLS_STATE } from './tools/install.js';

/**
 * Reports, once per VM and tool, that a stand-in ran in place of a TPU VM's own command.
 * @param dir the VM's folder
 * @returns a function to call after anything has run in the VM
 */
export function standInReporter(
  dir: string,
  lazy: LazyMachine,
  record: (kind: string, details: Readonly<Record<string, unknown>>) => void,
): () => void {
  const known = new Set<string>();
  return () => {
    const root = lazy.current?.root === undefined ? 'disk' : 'disk/rootfs';
    for (const { tool, sentence } of standInsUsed(join(dir, root, TOOLS_STATE))) {
      if (known.has(tool)) continue;
      known.add(tool);
      record('vm-stand-in', { tool, sentence });
    }
  };
}

/** Sets the answer of `systemctl is-system-running` from now on, whichever root the VM has or gets. @param dir the VM's folder */
export function markStopping(dir: string, isStopping: boolean): void {
  for (const root of ['disk', 'disk/rootfs']) {
    const folder = join(dir, root, TOOLS_STATE);
    if (!isStopping) rmSync(join(folder, 'stopping'), { force: true });
    else if (existsSync(join(dir, root))) {
      makeFolderSync(folder);
      // Every user of the VM writes there.
      chmodSync(folder, 0o777);
      writeFileSync(join(folder, 'stopping'), '');
    }
  }
}
