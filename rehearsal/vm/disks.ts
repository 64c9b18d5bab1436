import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

// Overlay's work folders are closed to their owner too, where that is not root.
const isRoot = process.geteuid?.() === 0;
const opening = (folder: string): string[] => ['-R', 'u+rwX', folder];

/** To be called when the VM of a disk is down, so that its owner can remove it with any tool. */
export function openWorkFolders(disk: string): void {
  const work = join(disk, 'work');
  if (isRoot || !existsSync(work)) return;
  for (const layer of readdirSync(work)) openFolder(join(work, layer));
}

function openFolder(folder: string): void {
  chmodSync(folder, 0o700);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) openFolder(join(folder, entry.name));
  }
}

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
