import { readFileSync } from 'node:fs';
import type { Machine } from './machine.js';
import { outcomeOf } from './outcome.js';

const SCRIPT = readFileSync(new URL('./full-disk.sh', import.meta.url), 'utf8');

/**
 * Makes the VM's disk full, or gives it room again (what that means: full-disk.sh). Repeating is harmless. Rejects where
 * there is no overlay file system to do it with.
 */
export async function setDiskFull(machine: Machine, isFull: boolean): Promise<void> {
  if (machine.root !== 'overlay') {
    const what = machine.root ?? 'none';
    throw new Error(`full disk: the VMs' confinement here is '${what}'; only with 'overlay' can a disk be made full`);
  }
  const { code, stderr } = await outcomeOf(
    machine.start(['bash', '-c', SCRIPT, 'full-disk', isFull ? 'fill' : 'empty'], {
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    }),
  );
  if (code !== 0) throw new Error(`full disk: the VM's root could not do it (${code}): ${stderr.trim()}`);
}
