import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

// Overlay's work folders are closed even to their owner, if that is not root.
const isRoot = process.geteuid?.() === 0;
const opening = (folder: string): string[] => ['-R', 'u+rwX', folder];

/** Call when the VM of a disk is down, so that the disk's owner can remove it with any tool. */
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

/** Removes a folder with the disks of VMs that are down. No effect if it does not exist. */
export async function removeDisks(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  if (!isRoot) await once(spawn('chmod', opening(folder), { stdio: 'ignore' }), 'close');
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Like `removeDisks`, but synchronous. */
export function removeDisksSync(folder: string): void {
  if (!isRoot) spawnSync('chmod', opening(folder), { stdio: 'ignore' });
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
