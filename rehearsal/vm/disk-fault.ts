import { readFileSync } from 'node:fs';
import type { Machine } from './machine.js';
import type { Outcome } from './outcome.js';
import { outcomeOf } from './outcome.js';

const SCRIPT = readFileSync(new URL('./full-disk.sh', import.meta.url), 'utf8');

/**
 * Makes the VM's disk full, or gives it room again (what that means: full-disk.sh). Repeating is harmless. Rejects if the VM has
 * no overlay file system.
 */
export async function setDiskFull(machine: Machine, isFull: boolean): Promise<void> {
  if (machine.root !== 'overlay') {
    const what = machine.root ?? 'none';
    throw new Error(`full disk: the VMs' confinement here is '${what}'; only with 'overlay' can a disk be made full`);
  }
  const { code, stderr } = await run(machine, isFull ? 'fill' : 'empty');
  if (code === 0) return;
  // A partial fill is undone: the disk must be full or not.
  if (isFull) await run(machine, 'empty');
  throw new Error(`full disk: the VM's root could not do it (${code}): ${stderr.trim()}`);
}

function run(machine: Machine, verb: 'fill' | 'empty'): Promise<Outcome> {
  const path = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' };
  return outcomeOf(machine.start(['bash', '--norc', '-c', SCRIPT, 'full-disk', verb], path));
}
