import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';

// Overlay's work folders are closed to their owner too, where that is not root.
const isRoot = process.geteuid?.() === 0;
const opening = (folder: string): string[] => ['-R', 'u+rwX', folder];

/** Takes a folder away with the disks of VMs in it, which are down. Nothing if there is none. */
export async function removeDisks(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  if (!isRoot) await once(spawn('chmod', opening(folder), { stdio: 'ignore' }), 'close');
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** The same at once. */
export function removeDisksSync(folder: string): void {
  if (!isRoot) spawnSync('chmod', opening(folder), { stdio: 'ignore' });
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
