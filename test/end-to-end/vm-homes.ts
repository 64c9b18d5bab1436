import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Folders below `folder`, a rehearsal's state, that hold `file`: home directories on the disks of its TPU VMs. */
export function homesWith(file: string, folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) return [];
    return existsSync(join(path, file)) ? [path] : homesWith(file, path);
  });
}
